package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

// cutShort follows the readable part of an output or of an error.
const cutShort = "\n[The rest is lost: the stored record was damaged]"

// salvagePartFixes returns the fixes of a part whose record cannot be parsed: keep what
// can be read, else remove the part or replace it by one without content. There is none
// if the bytes are unknown.
func (k *facts) salvagePartFixes(f finding) []repair.Fix {
	g, ok := k.contextOf(f.Ref)
	if !ok || g.p == nil {
		return nil
	}
	return append(g.salvagePart(), g.giveUpPart()...)
}

// salvagePart returns the fixes that keep what can be read. They depend on no other
// part.
func (g recordContext) salvagePart() []repair.Fix {
	fixes := g.salvageByType()
	for i := range fixes {
		fixes[i].Alike = true
	}
	return fixes
}

func (g recordContext) salvageByType() []repair.Fix {
	r, v := g.s.Salvage(g.p.Record)
	if v.Complete {
		return []repair.Fix{{Text: "Extra bytes around it are removed.", Edit: rewrite(r)}}
	}
	kind := ""
	if v.Intact("type") {
		kind = textAt(v.Data, "type")
	}
	switch {
	case kind == record.TypeText:
		return g.salvageText(r, v)
	case kind == record.TypeTool:
		return g.salvageTool(r, v)
	case kind == record.TypeFile && v.Intact("url"):
		return g.salvageRest(r, v, "Other fields of the file.")
	case kind == record.TypeFile:
		return g.replaceFileByText(withoutCutValue(r.Data, v))
	case kind == record.TypeStepStart, kind == "compaction":
		return g.salvageRest(r, v, "Its other fields.")
	case kind == "" && g.beginsStep():
		start := g.s.Rewrite(g.p.Record, stepStartType)
		return []repair.Fix{{Text: "The step-start marker is rewritten.", Loses: "Its snapshot.", Edit: rewrite(start)}}
	}
	return nil
}

var stepStartType = jsonedit.Member{Name: "type", Raw: jsonedit.Quote(record.TypeStepStart)}

// withoutCutValue removes the value that was not read to its end, unless that is the
// kept one, and objects that are empty without it.
func withoutCutValue(data []byte, v jsonedit.Partial, kept ...string) []byte {
	if len(kept) > 0 && slices.Equal(v.Cut, kept) {
		return data
	}
	for path := v.Cut; len(path) > 0; path = path[:len(path)-1] {
		if raw, _ := jsonedit.Get(data, path...); len(raw) > len("{}") && raw[0] == '{' {
			break
		}
		var err error
		if data, err = jsonedit.Remove(data, path...); err != nil {
			break
		}
	}
	return data
}

// salvageText keeps the readable part of a text.
func (g recordContext) salvageText(r change.Record, v jsonedit.Partial) []repair.Fix {
	text := textAt(r.Data, "text")
	data, err := g.completed(withoutCutValue(r.Data, v, "text"))
	if err != nil || request.IsBlank(text) {
		return nil
	}
	loses := "Everything except the text."
	if !v.Intact("text") {
		loses = fmt.Sprintf("The text after its first %d characters.", len([]rune(text)))
	}
	return []repair.Fix{{Text: "The readable part of the text is kept.", Loses: loses, Edit: rewrite(with(r, data))}}
}

// salvageRest keeps the readable members.
func (g recordContext) salvageRest(r change.Record, v jsonedit.Partial, loses string) []repair.Fix {
	data, err := g.completed(withoutCutValue(r.Data, v))
	if err != nil {
		return nil
	}
	return []repair.Fix{{Text: "It is rebuilt from what can be read.", Loses: loses, Edit: rewrite(with(r, data))}}
}

// salvageTool keeps a call with its input and the readable part of its result.
func (g recordContext) salvageTool(r change.Record, v jsonedit.Partial) []repair.Fix {
	if !v.Intact("callID") && !v.Intact("tool") {
		return nil
	}
	data, loses, err := g.salvageState(r.Data, v)
	if err == nil {
		data, err = g.completed(data)
	}
	if err != nil {
		return nil
	}
	if !v.Intact("state", "input") {
		loses = "The call's input and result."
	}
	return []repair.Fix{{Text: "The readable part of the tool call is kept.", Loses: loses, Edit: rewrite(with(r, data))}}
}

// salvageState returns the data of a call that has ended, with what can be read of its
// state.
func (g recordContext) salvageState(data []byte, v jsonedit.Partial) (left []byte, loses string, err error) {
	status, result := record.StatusError, "error"
	if v.Intact("state", "status") && textAt(data, "state", "status") == record.StatusCompleted {
		status, result = record.StatusCompleted, "output"
	}
	text, loses := textAt(data, "state", result), "Everything except the call's result."
	if !v.Intact("state", result) {
		text, loses = text+cutShort, "The end of the call's result."
		if text == cutShort {
			status, result, text, loses = record.StatusError, "error", schema.LostResult, "The call's result."
		}
	}
	data = withoutCutValue(data, v)
	input, _ := jsonedit.Get(data, "state", "input")
	if !v.Intact("state", "input") {
		input = []byte("{}")
	}
	if _, ok := jsonedit.Get(data, "state"); !ok {
		if data, err = jsonedit.Set(data, []byte("{}"), "state"); err != nil {
			return nil, "", err
		}
	}
	for _, m := range []jsonedit.Member{{Name: "status", Raw: jsonedit.Quote(status)}, {Name: "input", Raw: input}, {Name: result, Raw: jsonedit.Quote(text)}} {
		if was, ok := jsonedit.Get(data, "state", m.Name); ok && slices.Equal(was, m.Raw) {
			continue
		}
		if data, err = jsonedit.Set(data, m.Raw, "state", m.Name); err != nil {
			return nil, "", err
		}
	}
	return data, loses, nil
}

// completed returns what can be read of the part with every member that its type needs.
func (g recordContext) completed(data []byte) ([]byte, error) {
	p := record.NewPart(with(g.p.Record, data))
	data, _, err := completedPart(g.m, &p)
	return data, err
}

// sendsFile reports whether data has what the agent needs to send the file.
func sendsFile(data []byte) bool {
	url, ok := jsonedit.Get(data, "url")
	return ok && url[0] == '"' && (textAt(data, "mime") != "" || schema.MIMEOf(data) != "")
}

// replaceFileByText returns the fix that replaces a file by a text with its name and
// type.
func (g recordContext) replaceFileByText(data []byte) []repair.Fix {
	names := slices.DeleteFunc([]string{textAt(data, "filename"), textAt(data, "mime")}, request.IsBlank)
	if len(names) == 0 {
		return nil
	}
	text := g.newText("[A file was attached here (" + strings.Join(names, ", ") + "); its stored record was damaged]")
	return []repair.Fix{{Text: "A text says which file was attached.", Loses: "The file's content.", Edit: rewrite(text)}}
}

// newText returns a synthetic text with the ids of the part.
func (g recordContext) newText(text string) change.Record {
	return g.s.Rewrite(g.p.Record,
		jsonedit.Member{Name: "type", Raw: jsonedit.Quote(record.TypeText)},
		jsonedit.Member{Name: "text", Raw: jsonedit.Quote(text)},
		jsonedit.Member{Name: "synthetic", Raw: []byte("true")})
}

// beginsStep reports whether the part is where a step of an answer begins.
func (g recordContext) beginsStep() bool {
	i := g.at
	opens := i == 0 || g.m.Parts[i-1].Type == record.TypeStepFinish
	return g.m.Role == change.RoleAssistant && opens && i+1 < len(g.m.Parts) && g.m.Parts[i+1].Type != record.TypeStepStart
}

// giveUpPart returns the fixes that keep nothing of the part. The first removes it, or
// replaces it by a text if the message would have no content.
func (g recordContext) giveUpPart() []repair.Fix {
	const what = "What cannot be read."
	fixes := []repair.Fix{
		removal(g.p.Ref, "What cannot be read is removed.", what),
		{Text: "What cannot be read becomes a placeholder text.", Loses: what, Edit: draftEdit(func(d *draft) error {
			return rewrite(g.newText(d.texts.Placeholder))(d)
		})},
	}
	if g.isOnlyContent() {
		fixes[0], fixes[1] = fixes[1], fixes[0]
	} else {
		fixes[0].Alike = true
	}
	return fixes
}

// isOnlyContent reports whether the part is all the content of a prompt, or of a step
// with thinking.
func (g recordContext) isOnlyContent() bool {
	parts := g.m.Parts
	if g.m.Role == change.RoleAssistant {
		parts = stepOf(g.m, g.p.Ref)
		if !anyOf(parts, (*record.Part).IsThinking) {
			return false
		}
	}
	return !anyOf(parts, func(p *record.Part) bool { return p.Ref != g.p.Ref && hasContent(g.m, p) })
}
