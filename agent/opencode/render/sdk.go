package render

import (
	"bytes"
	"fmt"
	"strings"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/media"
	"mend/internal/request"
)

// The packages for providers other than Anthropic. Each converts the same messages in its own way.
// Common code is here, the rest in openai.go, chat.go, gemini.go and bedrock.go.

// setTarget sets where the request goes.
func (r *builder) setTarget() {
	if r.Target != nil {
		r.target = r.Target(r.Model)
	}
	r.api = r.target.API(r.Model)
	r.claude = strings.Contains(r.target.modelID(r.Model), "claude")
}

// mark copies the provider's metadata of a text or a call.
func (a *assistantDraft) mark(p *record.Part, b *request.Block) {
	switch a.api {
	case OpenAI:
		a.markItem(p, b)
	case OpenRouter:
		b.Details = a.reasoningDetails(p)
	case Copilot:
		b.Signature = a.ownMetadata(p).TextAt("reasoningOpaque")
	case Gemini:
		b.Signature = a.thoughtSignature(p)
	default:
	}
	if b.Type == request.ToolUse && a.api == Bedrock {
		a.setBedrockCall(b)
	}
}

// addOtherReasoning adds reasoning for an API other than Anthropic's.
func (a *assistantDraft) addOtherReasoning(p *record.Part, b request.Block) {
	sent := true
	switch a.api {
	case OpenAI:
		sent = a.markReasoning(p, &b)
	case OpenRouter:
		b.Details, b.Unsigned = a.reasoningDetails(p), true
	case Copilot:
		opaque := a.ownMetadata(p).Get("reasoningOpaque")
		if b.Unsigned = !opaque.Truthy(); !b.Unsigned {
			b.Signature = opaque.String()
		}
	case Gemini:
		b.Signature = a.thoughtSignature(p)
		b.Unsigned = b.Signature == ""
	case Bedrock:
		sent = a.markBedrockReasoning(p, &b)
	default:
		b.Unsigned = true
	}
	if a.target.Field != "" && a.api != Chat && a.api != OpenRouter {
		sent = false // the text moves to a member that only chat completions have
	}
	a.addBlock(p, b, !sent)
}

// splitResult returns the result of a completed call with files. Images and PDFs that the provider
// does not accept in a result follow in a prompt.
func (a *assistantDraft) splitResult(p *record.Part, output, attached js.Value) (request.Block, bool) {
	list, isList := attached.List()
	if !isList {
		a.fail(fieldFailure(p.Ref, "state.attachments is not a list"))
		return request.Block{}, false
	}
	var in, after []js.Value
	for _, file := range list {
		if mime := file.TextAt("mime"); isMedia(mime) && !a.readsFilesInResults(mime) {
			after = append(after, file)
		} else {
			in = append(in, file)
		}
	}
	if len(after) > 0 && !a.stripFiles && !a.attachAfter(p, after) {
		return request.Block{}, false
	}
	if len(in) == 0 || a.stripFiles {
		if output.Nullish() {
			a.fail(fieldFailure(p.Ref, "state.output is missing"))
			return request.Block{}, false
		}
		return a.valueResult(output), true
	}
	files, ok := a.filesInList(p, in)
	if !ok {
		return request.Block{}, false
	}
	b, ok := a.fileResult(p, output, files)
	if a.api == Chat || a.api == Copilot {
		b = flatResult(b)
	}
	return b, ok
}

// attachAfter adds the files of a result to the prompt after the message. It reports false if the
// agent fails.
func (a *assistantDraft) attachAfter(p *record.Part, files []js.Value) bool {
	if len(a.prompts) == 0 {
		caption := request.Block{Type: request.Text, Text: "Attached image(s) from tool result:", Source: &p.Ref}
		if a.isSince(v115) {
			caption.Text = "Attached media from tool result:"
		}
		a.prompts = []draftMessage{{change.RoleUser, a.source, []draftBlock{{Block: &caption}}}}
	}
	out := &a.prompts[0]
	for _, file := range files {
		b, ok := a.promptFile(p.Ref, file)
		if !ok {
			return false
		}
		b.Source = &p.Ref
		out.blocks = append(out.blocks, draftBlock{Block: &b})
	}
	return true
}

// flatResult returns a result with files as one text, as chat completions require.
func flatResult(b request.Block) request.Block {
	if b.Content == nil {
		return b
	}
	var out bytes.Buffer
	out.WriteByte('[')
	for i, c := range b.Content {
		if i > 0 {
			out.WriteByte(',')
		}
		if c.Type == request.Text {
			fmt.Fprintf(&out, `{"type":"text","text":%s}`, jsonedit.Quote(c.Text))
			continue
		}
		kind := "file-data"
		if c.Type == request.Image {
			kind = "image-data"
		}
		fmt.Fprintf(&out, `{"type":"%s","data":%s,"mediaType":%s}`, kind, jsonedit.Quote(string(c.Data)),
			jsonedit.Quote(c.Mime))
	}
	out.WriteByte(']')
	b.Content, b.Output = nil, jsonedit.Quote(out.String())
	return b
}

// takesMedia reports whether the model is known to support this kind of file, audio or video, and the package sends it.
func (r *builder) takesMedia(kind string) bool {
	if r.api == Anthropic || r.api == Bedrock || r.CanRead == nil {
		return false
	}
	can, known := r.CanRead(r.Model, kind)
	return can && known
}

// otherFile sets the type of a file's block. It returns why the agent fails, or "".
func (r *builder) otherFile(b *request.Block, name string) string {
	switch {
	case isImage(b.Mime):
		b.Type, b.Media = request.Image, media.NewFile(b.Data)
		if r.api == Bedrock && !isBedrockImage(b.Mime) {
			return fmt.Sprintf("an image of type %q cannot be sent to the model", b.Mime)
		}
		return ""
	case r.takesFile(b.Mime):
		b.Type, b.Name = request.Document, name
		return ""
	}
	return fmt.Sprintf("a file of type %q cannot be sent to the model", b.Mime)
}

// resultFile sets the type of the block of a file in a result. It returns why the agent fails, or "": only Bedrock's
// package fails, on a type that it does not accept.
func (r *builder) resultFile(b *request.Block) string {
	if r.api == Bedrock || isImage(b.Mime) {
		return r.otherFile(b, "")
	}
	b.Type = request.Document
	return ""
}

// takesFile reports whether the package accepts a file of that type, other than an image.
func (r *builder) takesFile(mime string) bool {
	switch r.api {
	case Gemini, OpenRouter:
		return true
	case OpenAI:
		return isPDF(mime)
	case Chat:
		return isPDF(mime) || strings.HasPrefix(mime, "audio/") || strings.HasPrefix(mime, "text/")
	case Bedrock:
		return isBedrockDocument(mime)
	default:
		return false
	}
}

// otherMessages returns the turns of messages for a provider other than Anthropic. They have no unsent content.
func (r *builder) otherMessages(all []draftMessage) (out []request.Turn) {
	for _, m := range all {
		blocks, kept := m.blocks[:0:0], m.blocks[:0:0]
		for _, b := range m.blocks {
			// An empty text is sent only in an answer, only to OpenAI, and only with the provider's metadata.
			if b.Type == request.Text && b.Text == "" && (m.role == change.RoleUser || r.api != OpenAI || !b.marked) {
				continue
			}
			if b.ToolID != "" || b.Type == request.ToolUse {
				b.ToolID = r.callID(b.ToolID)
			}
			kept = append(kept, b)
			if !b.unsent {
				blocks = append(blocks, b)
			}
		}
		m.blocks = blocks
		switch r.api {
		case OpenAI:
			out = append(out, r.itemMessages(m)...)
		case Gemini:
			out = append(out, r.geminiMessages(m)...)
		case Bedrock:
			m.blocks = kept
			out = append(out, r.bedrockMessages(m)...)
		default:
			out = append(out, r.chatMessages(m)...)
		}
	}
	return out
}

// callID returns the sent form of a call's id.
func (r *builder) callID(id string) string {
	model := strings.ToLower(r.target.modelID(r.Model))
	for _, name := range [...]string{"mistral", "devstral", "codestral", "pixtral", "mixtral"} {
		if r.Model.ProviderID == "mistral" || strings.Contains(model, name) {
			return mistralID(id)
		}
	}
	if r.claude {
		return sanitizeID(id)
	}
	return id
}

// mistralID returns an id of nine letters and digits, as Mistral's models require.
func mistralID(id string) string {
	id = strings.Map(func(c rune) rune {
		if invalidInID(c) || c == '_' || c == '-' {
			return -1
		}
		return c
	}, id)
	return (id + "000000000")[:9]
}

// sentBlocks returns the blocks without the fields of drafts.
func (m draftMessage) sentBlocks() []*request.Block {
	out := make([]*request.Block, len(m.blocks))
	for i, b := range m.blocks {
		out[i] = b.Block
	}
	return out
}
