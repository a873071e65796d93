package render

import (
	"bytes"
	"fmt"

	"mend/jsonedit"
	"mend/request"
	"mend/session"
)

const (
	clearedText     = "[Old tool result content cleared]"
	interruptedText = "[Tool execution was interrupted]"
	unknownError    = "unknown error"
)

// tool adds a call and its result. A call in a state that is not known is left
// out, result and all.
func (a *answer) tool(p part) {
	if p.body.get("state").null() {
		a.die(field(p.ref, "state is missing"))
		return
	}
	state := p.body.get("state")
	status, _ := state.get("status").str()
	result, ok := request.Block{}, true
	switch status {
	case session.StatusCompleted:
		result, ok = a.completed(p, state)
	case session.StatusError:
		result = a.failure(state)
	case session.StatusPending, session.StatusRunning:
		if !a.has(interrupted) {
			return
		}
		result = bare(jsonedit.Quote(interruptedText), true)
	default:
		return
	}
	if p.body.get("metadata").get("providerExecuted").truthy() && a.has(providerTools) {
		return // the provider has what it did itself
	}
	id, isID := p.body.get("callID").str()
	if !isID {
		a.die(field(p.ref, "callID is missing or no string"))
	}
	if !a.metadata(p) || !ok || !isID {
		return
	}
	call := request.Block{Type: request.ToolUse, ToolID: id, ToolName: p.body.get("tool").joined(), Input: input(state.get("input"), status)}
	a.say(p, call, false)
	result.Type, result.ToolID, result.Source = request.ToolResult, id, p.ref
	s := &a.steps[len(a.steps)-1]
	s.results = append(s.results, outgoingBlock{Block: &result})
}

// input is what a call was made with; of a call that was not completed null
// counts as nothing.
func input(v value, status string) []byte {
	if !v.there() || v.Kind() == 'n' && status != session.StatusCompleted {
		return nil
	}
	return v.Raw()
}

// bare is a result that is one text, which stays as it is stored: results are
// large, and no rule asks what they say.
func bare(text []byte, failed bool) request.Block { return request.Block{Output: text, Error: failed} }

// failure is the result of a call that failed.
func (a *answer) failure(state value) request.Block {
	meta := state.get("metadata")
	if output := meta.get("output"); output.Kind() == '"' && meta.get("interrupted").Kind() == 't' && a.has(partial) {
		return bare(output.Raw(), false)
	}
	v := state.get("error")
	switch {
	case v.null():
		return bare(jsonedit.Quote(unknownError), true)
	case v.Kind() == '"':
		return bare(v.Raw(), true)
	}
	return bare(jsonedit.Quote(string(v.stringified())), true)
}

// completed is the result of a call that was completed, and whether the agent
// survives making it.
func (a *answer) completed(p part, state value) (request.Block, bool) {
	if state.get("time").null() {
		a.die(field(p.ref, "state.time is missing"))
		return request.Block{}, false
	}
	attached, output := state.get("attachments"), state.get("output")
	isText := output.Kind() == '"'
	switch {
	case attached.any() && !a.has(attachedToResult) && !a.filesApart(p, attached):
		return request.Block{}, false
	case state.get("time").get("compacted").truthy():
		return bare(jsonedit.Quote(clearedText), false), true
	case isText && !attached.any():
		return bare(output.Raw(), false), true
	case !a.has(attachedToResult):
		return a.plain(output), true
	}
	files, ok := a.attachments(p, attached)
	switch {
	case !ok:
		return request.Block{}, false
	case files != nil:
		return a.withFiles(p, output, files)
	case isText:
		return bare(output.Raw(), false), true
	case output.null():
		a.die(field(p.ref, "state.output is missing"))
		return request.Block{}, false
	case output.Kind() == '{' || output.Kind() == '[':
		files, ok := a.attachments(p, output.get("attachments"))
		if !ok {
			return request.Block{}, false
		}
		return a.withFiles(p, output.get("text"), files)
	case aFinite(output) != "" && output.Kind() == '0':
		a.die(field(p.ref, "state.output is no finite number"))
		return request.Block{}, false
	}
	return a.plain(output), true
}

// plain is a result of any value: a string as it is, another as JSON.
func (a *answer) plain(output value) request.Block {
	switch {
	case output.Kind() == '"':
		return bare(output.Raw(), false)
	case output.null():
		return bare(jsonedit.Quote("null"), false)
	}
	return bare(jsonedit.Quote(string(output.stringified())), false)
}

// filesApart makes a prompt of the attachments of a result, and reports
// whether the agent survives that.
func (a *answer) filesApart(p part, v value) bool {
	list, _ := v.list()
	if len(list) == 0 {
		return true
	}
	say := request.Block{Type: request.Text, Text: "Tool " + p.body.get("tool").joined() + " returned an attachment:", Source: p.ref}
	out := outgoing{session.RoleUser, a.from, []outgoingBlock{{Block: &say}}}
	for i := range list {
		b, ok := a.promptFile(part{source: p.source, body: list[i]})
		if !ok {
			return false
		}
		b.Source = p.ref
		out.blocks = append(out.blocks, outgoingBlock{Block: &b})
	}
	a.files = append(a.files, out)
	return true
}

// withFiles is a result of a text and files.
func (a *answer) withFiles(p part, text value, files []*request.Block) (request.Block, bool) {
	s, ok := text.str()
	switch {
	case !text.truthy() && a.has(skipFiles):
		return request.Block{Content: files}, true
	case !ok:
		a.die(field(p.ref, "state.output is missing or no string"))
		return request.Block{}, false
	}
	return request.Block{Content: append([]*request.Block{{Type: request.Text, Text: s}}, files...)}, true
}

// attachments are the files of a result, nil if there are none, and whether the
// agent survives making them. Those that are no data: URL are left out.
func (a *answer) attachments(p part, v value) (files []*request.Block, ok bool) {
	if v.null() || a.strip {
		return nil, true
	}
	list, ok := v.list()
	if !ok {
		a.die(field(p.ref, "state.attachments is no list"))
		return nil, false
	}
	if len(list) == 0 {
		return nil, true
	}
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

func (a *answer) attachment(p part, i int, file value) (b request.Block, sent, ok bool) {
	mime, isMime := file.get("mime").str()
	url, isURL := file.get("url").Bytes()
	if !isMime || !isURL {
		a.die(field(p.ref, "state.attachments[%d] has no mime or no url", i))
		return request.Block{}, false, false
	}
	_, data, found := bytes.Cut(url, []byte(","))
	if !bytes.HasPrefix(url, []byte("data:")) || !found {
		return request.Block{}, false, true
	}
	b = request.Block{Mime: mime, Data: data, Source: p.ref}
	switch {
	case isImage(mime):
		b.Type = request.Image
	case isPDF(mime):
		b.Type = request.Document
	case a.has(skipFiles):
		return request.Block{}, false, true
	default:
		a.die(Fatal{FatalMedia, fmt.Sprintf("an attachment of type %q cannot be sent to the model", mime), p.ref})
		return request.Block{}, false, false
	}
	return b, true, true
}
