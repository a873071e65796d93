package diagnose

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

// cutShort follows the readable part of an output or of an error.
const cutShort = "\n[The rest is lost: the stored record was damaged]"

const partPrefix = "prt_"

// A recordContext is a record with its message.
type recordContext struct {
	m *record.Message // the record, or the message of the part
	p *record.Part    // nil if the record is the message

	session *simulation
}

// recordFixes returns the fixes of a record that the agent cannot read (render.FailureUnreadable) or that lacks a field
// (render.FailureField, render.FailureScreen). A value of a wrong type, a part of an unknown type, a record with an
// invalid id and a record of unknown bytes have none.
func recordFixes(c *simulation, f finding) []repair.Fix {
	g, ok := c.contextOf(f.Ref)
	switch {
	case !ok:
		return nil
	case g.p == nil:
		return g.messageFixes()
	}
	return g.partFixes()
}

// messageFixes returns the fix that completes the record of the message.
func (g recordContext) messageFixes() []repair.Fix {
	if !strings.HasPrefix(g.m.ID, "msg") {
		return nil // all its parts have the invalid id, too
	}
	r, text, loses, err := g.complete(g.m.Record, schema.Message, g.session.messageContext(g.m))
	if err != nil || text == "" {
		return nil
	}
	return []repair.Fix{g.replaceMessage(r, text, loses)}
}

// partFixes returns the fix that completes the part and, if its record is damaged, the fixes that discard it.
func (g recordContext) partFixes() (fixes []repair.Fix) {
	damaged := g.p.IsMalformed()
	if !strings.HasPrefix(g.p.ID, partPrefix) && !damaged {
		return g.renamePart()
	}
	r, text, loses, err := g.complete(g.p.Record, schema.Part, g.partContext())
	if err == nil && textAt(r.Data, "type") == record.TypeText && request.IsBlank(textAt(r.Data, "text")) {
		return g.giveUpPart()
	}
	if err == nil && text != "" {
		fixes = append(fixes, repair.Fix{Text: text, Loses: loses, Edit: rewrite(r), Alike: true})
	}
	if damaged {
		fixes = append(fixes, g.giveUpPart()...)
	}
	return fixes
}

func (g recordContext) partContext() schema.Context {
	return schema.Context{Ref: g.p.Ref, CallID: repair.CallID(g.p.Ref.Part), Time: max(g.p.Start, g.m.Created)}
}

// renamePart returns the fix of a part whose id lacks the prefix of parts: plugins made such ids, and
// since 1.2.25 the agent omits the part or cannot show the session (docs/opencode.md F12). The part gets
// the valid id that its own id ends with, or else one that sorts last, and is completed.
func (g recordContext) renamePart() []repair.Fix {
	to := g.p.Ref
	to.Part = partPrefix + g.p.ID
	for _, p := range g.m.Parts { // in the order of their ids
		if strings.HasPrefix(p.ID, partPrefix) {
			to.Part = p.ID + "_" + g.p.ID
		}
	}
	if i := strings.Index(g.p.ID, partPrefix); i >= 0 {
		to.Part = g.p.ID[i:]
	}
	if change.ValidateID(to.Part) != nil || !g.m.Free(to.Part) {
		return nil
	}
	r, err := record.Move(&g.p.Record, to)
	if err != nil {
		return nil
	}
	if data, _, err := schema.Complete(r.Data, schema.Part, g.partContext()); err == nil {
		r = withData(r, data)
	}
	return []repair.Fix{{Text: fmt.Sprintf("It gets the id %s.", to.Part), Edit: draftEdit(func(d *draft) error {
		m, err := d.message(g.p.Ref)
		if err == nil {
			m.Remove(g.p.Ref)
			m.Insert(record.NewPart(r))
		}
		return err
	})}}
}

// complete returns the record with its readable data and every member that shape, a name in package schema, requires.
// text and loses are sentences about the change and the loss; text is empty if nothing changes.
func (g recordContext) complete(
	r change.Record, shape string, x schema.Context,
) (_ change.Record, text, loses string, err error) {
	if !r.IsMalformed() {
		data, filled, err := schema.Complete(r.Data, shape, x)
		return withData(r, data), describeFilled(filled), "", err
	}
	r, v := record.Salvage(r)
	if v.Complete {
		return r, "Extra bytes around it are removed.", "", nil
	}
	loses = "What cannot be read."
	if len(v.Cut) > 0 {
		loses = "The end of its record, from within its " + strings.Join(v.Cut, ".") + " on."
	}
	data, err := withoutCutValue(r.Data, v)
	kind := textAt(data, "type")
	if x.Cut = true; err == nil {
		data, _, err = schema.Complete(data, shape, x)
	}
	switch {
	case err != nil:
	case shape == schema.Message:
		data, err = g.markFinished(data)
	case kind == record.TypeReasoning, // it lacks its signature
		kind == record.TypeTool && !v.Intact("callID") && !v.Intact("tool"), schema.CheckPart(g.p.ID, js.Parse(data)) != "":
		err = errors.New("too little of it can be read")
	}
	return withData(r, data), "It is rebuilt from what can be read.", loses, err
}

// withoutCutValue returns data without the value that was cut off, and without objects that become empty. The start
// of a text, an output or an error stays. A call without a result becomes a failed call.
func withoutCutValue(data []byte, v jsonedit.Partial) (_ []byte, err error) {
	cut := textAt(data, v.Cut...)
	switch path := strings.Join(v.Cut, "."); {
	case path == "text":
		return data, nil
	case (path == "state.output" || path == "state.error") && cut != "":
		return jsonedit.Set(data, jsonedit.Quote(cut+cutShort), v.Cut...)
	}
	if len(v.Cut) > 2 && v.Cut[1] == "input" { // half an input would be another input
		data, err = jsonedit.Remove(data, v.Cut[:2]...)
	}
	for path := v.Cut; len(path) > 0 && err == nil; path = path[:len(path)-1] {
		if raw, _ := jsonedit.Get(data, path...); len(raw) > len("{}") && raw[0] == '{' {
			break
		} else if len(raw) > 0 {
			data, err = jsonedit.Remove(data, path...)
		}
	}
	status := textAt(data, "state", "status")
	if status != "" && status != record.StatusError && textAt(data, "state", "output") == "" {
		return jsonedit.Remove(data, "state", "status")
	}
	return data, err
}

// markFinished returns the data of an answer with the members of a finished answer. An unfinished answer
// cannot be continued after its record was damaged.
func (g recordContext) markFinished(data []byte) ([]byte, error) {
	m := record.NewMessage(withData(g.m.Record, data))
	if m.Role != change.RoleAssistant {
		return data, nil
	}
	var err error
	if m.Completed == 0 {
		data, err = jsonedit.Set(data, strconv.AppendInt(nil, max(m.Created, g.m.LatestTime()), 10), "time", "completed")
	}
	if m.Finish == "" && !m.Failed && err == nil {
		data, err = jsonedit.Set(data, []byte(`"stop"`), "finish")
	}
	return data, err
}

// replaceMessage returns the fix that replaces the message's record. A new time may move the message among
// the others.
func (g recordContext) replaceMessage(r change.Record, text, loses string) repair.Fix {
	return repair.Fix{Text: text, Loses: loses, Whole: true, Alike: true, Edit: draftEdit(func(d *draft) error {
		i := d.index.indexOf(r.Ref)
		if i < 0 {
			return fmt.Errorf("%s: no such message", r.Ref)
		}
		d.replaceMessage(i, record.NewMessage(r))
		return nil
	})}
}

// giveUpPart returns the fixes that discard the part. The first removes it, or replaces it with a text if the message
// would become empty.
func (g recordContext) giveUpPart() []repair.Fix {
	const what = "What cannot be read."
	fixes := []repair.Fix{
		{Text: "What cannot be read is removed.", Loses: what, Edit: draftEdit(func(d *draft) error {
			return d.remove(g.p.Ref)
		})},
		{Text: "What cannot be read becomes a placeholder text.", Loses: what, Edit: draftEdit(func(d *draft) error {
			_, p, err := d.part(g.p.Ref)
			if err == nil {
				p.BecomeText(d.texts.Placeholder)
			}
			return err
		})},
	}
	if g.isOnlyContent() {
		fixes[0], fixes[1] = fixes[1], fixes[0]
	} else {
		fixes[0].Alike = true
	}
	return fixes
}

// isOnlyContent reports whether the part is the only content of a prompt, or of a step with thinking.
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

// describeFilled returns a sentence that names the fields that a fix completes; "" for none.
func describeFilled(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return "Its fields are completed; filled in: " + joinPaths(paths) + "."
}

// joinPaths joins paths for a sentence. It names only the first twelve.
func joinPaths(paths []string) string {
	const most = 12
	if more := len(paths) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), more)
	}
	return strings.Join(paths, ", ")
}

// rewrite returns the edit that replaces a part.
func rewrite(r change.Record) func(repair.Editor) error {
	return draftEdit(func(d *draft) error {
		_, p, err := d.part(r.Ref)
		if err == nil {
			*p = record.NewPart(r)
		}
		return err
	})
}

// withData returns the record with other, readable data.
func withData(r change.Record, data []byte) change.Record {
	r.Data, r.Class, r.Defect = data, 0, nil
	return r
}

// textAt returns the string at a path, or "".
func textAt(data []byte, path ...string) string {
	raw, _ := jsonedit.Get(data, path...)
	s, _ := jsonedit.Text(raw)
	return s
}
