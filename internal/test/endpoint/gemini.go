package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// geminiAPI is Google's Gemini API.
type geminiAPI struct{}

// A geminiRequest is a request to :streamGenerateContent.
type geminiRequest struct {
	Contents []geminiContent   `json:"contents"`
	Tools    []json.RawMessage `json:"tools"`

	model  string
	server *Server
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// A geminiPart is one part: the data is in one of its fields.
type geminiPart struct {
	Text      *string         `json:"text"`
	Thought   bool            `json:"thought"`
	Signature *string         `json:"thoughtSignature"`
	Call      *geminiCall     `json:"functionCall"`
	Response  *geminiResponse `json:"functionResponse"`
	Inline    *geminiData     `json:"inlineData"`
	File      json.RawMessage `json:"fileData"`
}

type geminiData struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type geminiCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type geminiResponse struct {
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
	Parts    []geminiPart    `json:"parts"` // media of the result
}

func (geminiAPI) parse(s *Server, _, path string, body []byte) (parsedRequest, error) {
	_, path, ok := strings.Cut(path, "models/")
	model, verb, _ := strings.Cut(path, ":")
	if !ok || verb != "streamGenerateContent" {
		return nil, fmt.Errorf("no such path: %s", path)
	}
	r := &geminiRequest{model: model, server: s}
	return r, json.Unmarshal(body, r)
}

func (r *geminiRequest) IsTitle() bool { return len(r.Tools) == 0 }

func (r *geminiRequest) prompt() (text string, isResult bool) {
	if len(r.Contents) == 0 {
		return "", false
	}
	for _, p := range r.Contents[len(r.Contents)-1].Parts {
		if p.Text != nil {
			text = *p.Text
		}
		isResult = p.Response != nil
	}
	return text, isResult
}

func (r *geminiRequest) violations() []Violation { return violations(geminiRules, r) }

// geminiRules are G0 to G12.
var geminiRules = []rule[*geminiRequest]{
	{"G0", "reports of users", noContents},
	{"G1", "reports of users", badRole},
	{"G2", "anomalyco/opencode#17519, #28669, vercel/ai#3775", noParts},
	{"G3", "CLIProxyAPI#1292", noPartData},
	{"G4", "google-gemini/gemini-cli#26486, #11814, lobehub#10049", callTurnMisplaced},
	{"G5", "langchain#27799", responseTurnMisplaced},
	{"G6", "langchain#27799, anomalyco/opencode#43479", responsesMissing},
	{"G7", "Google's documentation of thought signatures; anomalyco/opencode#4832, #28732", signatureMissing},
	{"G8", "google-gemini/gemini-cli#13467, crush#1698", signatureForeign},
	{"G9", "reports of users", notStruct},
	{"G10", "google-gemini/gemini-cli#5064, #5882", badInlineImage},
	{"G12", "derived from G4", endsWithModel},
}

func noContents(r *geminiRequest) string {
	if len(r.Contents) == 0 {
		return "* GenerateContentRequest.contents: contents is not specified"
	}
	return ""
}

func badRole(r *geminiRequest) string {
	for _, c := range r.Contents {
		if c.Role != "user" && c.Role != "model" {
			return "Please use a valid role: user, model."
		}
	}
	return ""
}

func noParts(r *geminiRequest) string {
	for n, c := range r.Contents {
		if len(c.Parts) == 0 {
			return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", n)
		}
	}
	return ""
}

func noPartData(r *geminiRequest) string {
	for n, c := range r.Contents {
		for m, p := range c.Parts {
			if p.Text == nil && p.Call == nil && p.Response == nil && p.Inline == nil && p.File == nil {
				return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", n, m)
			}
		}
	}
	return ""
}

func (c geminiContent) calls() (n int) {
	for _, p := range c.Parts {
		if p.Call != nil {
			n++
		}
	}
	return n
}

func (c geminiContent) responses() (n int) {
	for _, p := range c.Parts {
		if p.Response != nil {
			n++
		}
	}
	return n
}

func callTurnMisplaced(r *geminiRequest) string {
	for n, c := range r.Contents {
		if c.Role == "model" && c.calls() > 0 && (n == 0 || r.Contents[n-1].Role != "user") {
			return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
		}
	}
	return ""
}

func responseTurnMisplaced(r *geminiRequest) string {
	for n, c := range r.Contents {
		if c.responses() > 0 && (n == 0 || r.Contents[n-1].calls() == 0) {
			return "Please ensure that function response turn comes immediately after a function call turn."
		}
	}
	return ""
}

func responsesMissing(r *geminiRequest) string {
	for n, c := range r.Contents {
		if calls := c.calls(); calls > 0 && (n+1 == len(r.Contents) || r.Contents[n+1].responses() != calls) {
			return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
		}
	}
	return ""
}

// signatureMissing is G7: the first call of each step of the current turn, which begins with the newest
// prompt, has a signature.
func signatureMissing(r *geminiRequest) string {
	if !strings.Contains(r.model, "gemini-3") {
		return ""
	}
	start := len(r.Contents)
	for start > 0 && (r.Contents[start-1].Role == "model" || r.Contents[start-1].responses() > 0) {
		start--
	}
	for n := start; n < len(r.Contents); n++ {
		for m, p := range r.Contents[n].Parts {
			if p.Call == nil {
				continue
			}
			if p.Signature == nil || *p.Signature == "" {
				return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d.", p.Call.Name, m+1)
			}
			break
		}
	}
	return ""
}

func signatureForeign(r *geminiRequest) string {
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			if p.Signature != nil && *p.Signature != "" && !r.server.owns(r.server.known.Signatures, *p.Signature) {
				return "Corrupted thought signature."
			}
		}
	}
	return ""
}

// isObject reports whether the JSON is an object, or null, which means no value.
func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return bytes.HasPrefix(raw, []byte("{")) || string(raw) == "null"
}

func notStruct(r *geminiRequest) string {
	const words = " (type.googleapis.com/google.protobuf.Struct), "
	for n, c := range r.Contents {
		for m, p := range c.Parts {
			place := fmt.Sprintf("contents[%d].parts[%d]", n, m)
			switch {
			case p.Call != nil && p.Call.Args != nil && !isObject(p.Call.Args):
				return "Invalid value at '" + place + ".function_call.args'" + words + string(p.Call.Args)
			case p.Response != nil && !isObject(p.Response.Response):
				return "Invalid value at '" + place + ".function_response.response'" + words + string(p.Response.Response)
			case p.Call != nil && p.Call.Name == "":
				return "* GenerateContentRequest." + place + ".function_call.name: Name cannot be empty."
			case p.Response != nil && p.Response.Name == "":
				return "* GenerateContentRequest." + place + ".function_response.name: Name cannot be empty."
			}
		}
	}
	return ""
}

func badInlineImage(r *geminiRequest) string {
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			if p.Inline.isBad() || p.Response != nil && slices.ContainsFunc(p.Response.Parts, func(in geminiPart) bool { return in.Inline.isBad() }) {
				return "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
			}
		}
	}
	return ""
}

// isBad reports whether the data claims to be an image, and cannot be decoded.
func (d *geminiData) isBad() bool {
	return d != nil && strings.HasPrefix(d.MimeType, "image/") && decodePicture(d.Data).Kind == ""
}

func endsWithModel(r *geminiRequest) string {
	if n := len(r.Contents); n > 0 && r.Contents[n-1].Role == "model" {
		return "Please ensure that multiturn requests end with a user role or a function response."
	}
	return ""
}

func (r *geminiRequest) refuse(w http.ResponseWriter, v Violation) {
	reply(w, http.StatusBadRequest, object{"error": object{"code": 400, "message": v.Message, "status": "INVALID_ARGUMENT"}})
}

func (r *geminiRequest) answer(w http.ResponseWriter, s *Server, n int) {
	a := plainAnswer(r, n)
	e := newEvents(w)
	chunk := func(part object, reason string) {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": []object{part}}}
		if reason != "" {
			candidate["finishReason"] = reason
		}
		e.send("", object{
			"candidates": []object{candidate}, "modelVersion": r.model, "responseId": fmt.Sprintf("r%d", n),
			"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30},
		})
	}
	chunk(object{"text": a.Thinking, "thought": true}, "")
	signature := s.issue(s.known.Signatures, "Ep", "thought", a.Thinking)
	if len(a.Calls) == 0 {
		chunk(object{"text": a.Text, "thoughtSignature": signature}, "STOP")
		return
	}
	chunk(object{"text": a.Text}, "")
	for i, c := range a.Calls {
		part := object{"functionCall": object{"name": "bash", "args": json.RawMessage(c.input())}}
		if i == 0 { // only the first of parallel calls has one
			part["thoughtSignature"] = signature
		}
		reason := ""
		if i == len(a.Calls)-1 {
			reason = "STOP"
		}
		chunk(part, reason)
	}
}
