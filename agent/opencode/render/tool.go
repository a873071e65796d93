package render

import (
	"bytes"
	"fmt"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/internal/jsonedit"
	"mend/internal/media"
	"mend/internal/request"
)

const (
	interruptedText = "[Tool execution was interrupted]"
	unknownError    = "unknown error"
)

// addTool adds a tool call and its result. It ignores a call in an unknown state.
func (a *assistantDraft) addTool(p *record.Part) {
	if p.JSON.Get("state").Nullish() {
		a.fail(fieldFailure(p.Ref, "state is missing"))
		return
	}
	state := p.JSON.Get("state")
	status := state.TextAt("status")
	result, ok := request.Block{}, true
	switch status {
	case record.StatusCompleted:
		result, ok = a.completedResult(p, state)
	case record.StatusError:
		result = a.errorResult(state)
	case record.StatusPending, record.StatusRunning:
		result = textResult(jsonedit.Quote(interruptedText), true)
	default:
		return
	}
	// A call that a provider ran itself is sent without its result, or not at all.
	provided := p.JSON.Get("metadata").Get("providerExecuted").Truthy() && a.isSince(v115)
	if provided && (a.api == Anthropic || a.api == OpenAI) {
		return
	}
	id, isID := p.JSON.Get("callID").Text()
	if !isID {
		a.fail(fieldFailure(p.Ref, "callID is missing or not a string"))
	}
	if !a.validMetadata(p) || !ok || !isID {
		return
	}
	call := request.Block{
		Type: request.ToolUse, ToolID: id, ToolName: p.JSON.Get("tool").String(),
		Input: callInput(state.Get("input"), status),
	}
	call.HalfPair = a.isSince(v12) && jsonedit.HasHalfPair(call.Input) // no version replaces a half pair in an input
	a.mark(p, &call)
	a.addBlock(p, call, false)
	if provided {
		return
	}
	result.HalfPair = a.sendsHalfPair(result.Output)
	result.Type, result.ToolID, result.ToolName, result.Source = request.ToolResult, id, call.ToolName, &p.Ref
	s := &a.steps[len(a.steps)-1]
	s.results = append(s.results, draftBlock{Block: &result})
}

// callInput returns the input of a tool call. Unless the call is completed, null counts as no
// input.
func callInput(v js.Value, status string) []byte {
	if !v.Exists() || v.Kind() == 'n' && status != record.StatusCompleted {
		return nil
	}
	return v.Raw()
}

// textResult returns a result with one text: a JSON string, or a value that is sent as JSON. It does not decode the
// text, because results are large and no rule depends on their text.
func textResult(text []byte, failed bool) request.Block {
	return request.Block{Output: text, Error: failed}
}

// errorResult returns the result of a failed call.
func (a *assistantDraft) errorResult(state js.Value) request.Block {
	meta := state.Get("metadata")
	if output := meta.Get("output"); output.Kind() == '"' && meta.Get("interrupted").Kind() == 't' && a.isSince(v115) {
		return textResult(output.Raw(), false)
	}
	if v := state.Get("error"); !v.Nullish() {
		return textResult(v.Raw(), true)
	}
	return textResult(jsonedit.Quote(unknownError), true)
}

// completedResult returns the result of a completed call. ok is false if the agent fails.
func (a *assistantDraft) completedResult(p *record.Part, state js.Value) (request.Block, bool) {
	if state.Get("time").Nullish() {
		a.fail(fieldFailure(p.Ref, "state.time is missing"))
		return request.Block{}, false
	}
	attached, output := state.Get("attachments"), state.Get("output")
	isText := output.Kind() == '"'
	if attached.NonEmpty() && a.api != Anthropic && a.api != OpenAI && !state.Get("time").Get("compacted").Truthy() {
		return a.splitResult(p, output, attached)
	}
	switch {
	case state.Get("time").Get("compacted").Truthy():
		return textResult(jsonedit.Quote(request.Cleared), false), true
	case isText && !attached.NonEmpty():
		return textResult(output.Raw(), false), true
	}
	files, ok := a.attachments(p, attached)
	switch {
	case !ok:
		return request.Block{}, false
	case files != nil:
		return a.fileResult(p, output, files)
	case isText:
		return textResult(output.Raw(), false), true
	case output.Nullish():
		a.fail(fieldFailure(p.Ref, "state.output is missing"))
		return request.Block{}, false
	case output.Kind() == '{' || output.Kind() == '[':
		files, ok := a.attachments(p, output.Get("attachments"))
		if !ok {
			return request.Block{}, false
		}
		return a.fileResult(p, output.Get("text"), files)
	}
	return a.valueResult(output), true
}

func (a *assistantDraft) valueResult(output js.Value) request.Block {
	if output.Nullish() {
		return textResult(jsonedit.Quote("null"), false)
	}
	return textResult(output.Raw(), false)
}

// fileResult returns a result with a text and files. ok is false if the agent fails.
func (a *assistantDraft) fileResult(p *record.Part, text js.Value, files []*request.Block) (request.Block, bool) {
	s, ok := text.Text()
	switch {
	case !text.Truthy() && a.isSince(v115):
		return request.Block{Content: files}, true
	case !ok:
		a.fail(fieldFailure(p.Ref, "state.output is missing or not a string"))
		return request.Block{}, false
	}
	return request.Block{Content: append([]*request.Block{{Type: request.Text, Text: s}}, files...)}, true
}

// attachments returns the files of a result, nil if it has none. It ignores files without a data:
// URL. ok is false if the agent fails.
func (a *assistantDraft) attachments(p *record.Part, v js.Value) (files []*request.Block, ok bool) {
	if v.Nullish() || a.stripFiles {
		return nil, true
	}
	list, ok := v.List()
	if !ok {
		a.fail(fieldFailure(p.Ref, "state.attachments is not a list"))
		return nil, false
	}
	if len(list) == 0 {
		return nil, true
	}
	return a.filesInList(p, list)
}

// filesInList returns the files of a list, which is not nil.
func (a *assistantDraft) filesInList(p *record.Part, list []js.Value) (files []*request.Block, ok bool) {
	files = []*request.Block{}
	for i := range list {
		b, sent, ok := a.attachment(p, i, list[i])
		if !ok {
			return nil, false
		}
		if sent {
			files = append(files, &b)
		}
	}
	return files, true
}

// attachment returns the block of one file of a result. sent is false if the agent ignores the
// file, ok is false if the agent fails.
func (a *assistantDraft) attachment(p *record.Part, i int, file js.Value) (b request.Block, sent, ok bool) {
	mime, isMime := file.Get("mime").Text()
	url, isURL := file.Get("url").Bytes()
	if !isMime || !isURL {
		a.fail(fieldFailure(p.Ref, "state.attachments[%d] has no mime or no url", i))
		return request.Block{}, false, false
	}
	_, data, found := bytes.Cut(url, []byte(","))
	if !bytes.HasPrefix(url, []byte("data:")) || !found {
		return request.Block{}, false, true
	}
	b = request.Block{File: request.File{Mime: mime, Data: data}, Source: &p.Ref}
	if a.api != Anthropic {
		why := a.resultFile(&b)
		if why != "" {
			a.fail(Failure{FailureMedia, why, p.Ref, &b})
		}
		return b, true, why == ""
	}
	switch {
	case isImage(mime):
		b.Type, b.Media = request.Image, media.NewFile(b.Data)
	case isPDF(mime):
		b.Type = request.Document
	case a.isSince(v115):
		return request.Block{}, false, true
	default:
		a.fail(Failure{FailureMedia, fmt.Sprintf("an attachment of type %q cannot be sent to the model", mime), p.Ref, &b})
		return b, false, false
	}
	return b, true, true
}
