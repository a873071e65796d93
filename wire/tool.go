package wire

import (
	"fmt"
	"strings"

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
	if p.obj["state"].null() {
		a.die(field(p.ref, "state is missing"))
		return
	}
	state := p.obj["state"].object()
	status, _ := state["status"].str()
	result, ok := Block{}, true
	switch status {
	case session.StatusCompleted:
		result, ok = a.completed(p, state)
	case session.StatusError:
		result = a.failure(state)
	case session.StatusPending, session.StatusRunning:
		if !a.Profile.Interrupted {
			return
		}
		result = bare(interruptedText, true)
	default:
		return
	}
	if a.Profile.ProviderTools && p.obj["metadata"].object()["providerExecuted"].truthy() {
		return // the provider has what it did itself
	}
	id, isID := p.obj["callID"].str()
	if !isID {
		a.die(field(p.ref, "callID is missing or no string"))
	}
	if !a.metadata(p) || !ok || !isID {
		return
	}
	call := Block{Type: ToolUse, ToolID: id, ToolName: p.obj["tool"].text(), Input: input(state["input"], status)}
	a.say(p, call, false)
	result.Type, result.ToolID, result.Source = ToolResult, id, p.ref
	s := &a.steps[len(a.steps)-1]
	s.results = append(s.results, outgoingBlock{Block: result})
}

// input is what a call was made with; of a call that was not completed null
// counts as nothing.
func input(v value, status string) []byte {
	if v.kind() == 'n' && status != session.StatusCompleted {
		return nil
	}
	return v
}

// bare is a result that is one text.
func bare(text string, failed bool) Block {
	return Block{Content: []Block{{Type: Text, Text: text}}, Bare: true, Error: failed}
}

// failure is the result of a call that failed.
func (a *answer) failure(state object) Block {
	meta := state["metadata"].object()
	if output, ok := meta["output"].str(); ok && a.Profile.Partial && meta["interrupted"].kind() == 't' {
		return bare(output, false)
	}
	v := state["error"]
	switch {
	case v.null():
		return bare(unknownError, true)
	case v.kind() == '"':
		text, _ := v.str()
		return bare(text, true)
	}
	return bare(string(v), true)
}

// completed is the result of a call that was completed, and whether the agent
// survives making it.
func (a *answer) completed(p part, state object) (Block, bool) {
	if state["time"].null() {
		a.die(field(p.ref, "state.time is missing"))
		return Block{}, false
	}
	if a.Profile.Attached != AttachedToResult && !a.filesApart(p, state["attachments"]) {
		return Block{}, false
	}
	if state["time"].object()["compacted"].truthy() {
		return bare(clearedText, false), true
	}
	if a.Profile.Attached != AttachedToResult {
		return a.plain(state["output"]), true
	}
	files, ok := a.attachments(p, state["attachments"])
	if !ok {
		return Block{}, false
	}
	output := state["output"]
	text, isText := output.str()
	switch {
	case files != nil:
		return a.withFiles(p, output, files)
	case isText:
		return bare(text, false), true
	case output.null():
		a.die(field(p.ref, "state.output is missing"))
		return Block{}, false
	case output.kind() == '{' || output.kind() == '[':
		files, ok := a.attachments(p, output.object()["attachments"])
		if !ok {
			return Block{}, false
		}
		return a.withFiles(p, output.object()["text"], files)
	}
	return a.plain(output), true
}

// plain is a result of any value: a string as it is, another as JSON.
func (a *answer) plain(output value) Block {
	text, ok := output.str()
	switch {
	case ok:
		return bare(text, false)
	case output.null():
		return bare("null", false)
	}
	return bare(output.compact(), false)
}

// filesApart makes a prompt of the attachments of a result, and reports
// whether the agent survives that.
func (a *answer) filesApart(p part, v value) bool {
	list, _ := v.list()
	if len(list) == 0 {
		return true
	}
	say := Block{Type: Text, Text: "Tool " + p.obj["tool"].text() + " returned an attachment:", Source: p.ref}
	out := outgoing{session.RoleUser, a.from, []outgoingBlock{{Block: say}}}
	for _, item := range list {
		b, ok := a.promptFile(part{ref: p.ref, obj: item.object()})
		if !ok {
			return false
		}
		b.Source = p.ref
		out.blocks = append(out.blocks, outgoingBlock{Block: b})
	}
	a.files = append(a.files, out)
	return true
}

// withFiles is a result of a text and files.
func (a *answer) withFiles(p part, text value, files []Block) (Block, bool) {
	s, ok := text.str()
	switch {
	case a.Profile.SkipFiles && !text.truthy():
		return Block{Content: files}, true
	case !ok:
		a.die(field(p.ref, "state.output is missing or no string"))
		return Block{}, false
	}
	return Block{Content: append([]Block{{Type: Text, Text: s}}, files...)}, true
}

// attachments are the files of a result, nil if there are none, and whether the
// agent survives making them. Those that are no data: URL are left out.
func (a *answer) attachments(p part, v value) (files []Block, ok bool) {
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
	files = []Block{}
	for i, item := range list {
		b, sent, ok := a.attachment(p, i, item.object())
		if !ok {
			return nil, false
		}
		if sent {
			files = append(files, b)
		}
	}
	return files, true
}

func (a *answer) attachment(p part, i int, file object) (b Block, sent, ok bool) {
	mime, isMime := file["mime"].str()
	url, isURL := file["url"].str()
	if !isMime || !isURL {
		a.die(field(p.ref, "state.attachments[%d] has no mime or no url", i))
		return Block{}, false, false
	}
	_, data, found := strings.Cut(url, ",")
	if !strings.HasPrefix(url, "data:") || !found {
		return Block{}, false, true
	}
	b = Block{Mime: mime, Data: data, Source: p.ref}
	switch {
	case isImage(mime):
		b.Type = Image
	case isPDF(mime):
		b.Type = Document
	case a.Profile.SkipFiles:
		return Block{}, false, true
	default:
		a.die(Fatal{FatalMedia, fmt.Sprintf("an attachment of type %q cannot be sent to the model", mime), p.ref})
		return Block{}, false, false
	}
	return b, true, true
}
