package diagnose

import (
	"errors"
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

const partPrefix = "prt_"

// A recordContext is a record with its message and session.
type recordContext struct {
	s *record.Session
	m *record.Message // the record, or the message of the part
	p *record.Part    // nil if the record is the message

	at int // index of the part in the message

	known *facts
}

// completeFixes returns the fixes of a record that lacks a field, or has a field in a
// form that the agent does not accept (render.FailureField, render.FailureScreen).
// A part of an unknown type and a message with an invalid id have none.
func (k *facts) completeFixes(f finding) []repair.Fix {
	g, ok := k.contextOf(f.Ref)
	switch {
	case !ok:
		return nil
	case f.Ref.Kind == change.KindMessage && g.m.Malformed():
		return k.salvageMessageFixes(f)
	case f.Ref.Kind == change.KindMessage:
		return g.completeMessage()
	case g.p.Malformed():
		return k.salvagePartFixes(f)
	case !strings.HasPrefix(g.p.ID, partPrefix):
		return k.renameFixes(f)
	}
	return g.completePart()
}

// completeMessage returns the fix that completes the record of the message.
func (g recordContext) completeMessage() []repair.Fix {
	if !strings.HasPrefix(g.m.ID, "msg") {
		return nil // the invalid id is in all its parts, too
	}
	data, c, err := g.completedMessage(g.m.Data)
	if err != nil || c.None() {
		return nil
	}
	text, loses := describeChanges(c)
	return []repair.Fix{g.replaceMessage(with(g.m.Record, data), text, loses)}
}

// completedMessage returns the data of the message with every member that its role
// needs.
func (g recordContext) completedMessage(data []byte) ([]byte, schema.Changes, error) {
	data, c, err := schema.Complete(data, &schema.Message, g.known.ofMessage(g.m.Ref))
	if err == nil && textAt(data, "role") == change.RoleUser {
		data, err = withoutHalfModel(data, &c)
	}
	return data, c, err
}

// withoutHalfModel removes the model from a prompt if it lacks one of its two names,
// because the next prompt would use it.
func withoutHalfModel(data []byte, c *schema.Changes) ([]byte, error) {
	if textAt(data, "model", "providerID") != "" && textAt(data, "model", "modelID") != "" {
		return data, nil
	}
	if !slices.Contains(c.Lost, "model") {
		c.Filled = slices.DeleteFunc(c.Filled, func(path string) bool { return strings.HasPrefix(path, "model") })
		c.Lost = append(c.Lost, "model")
	}
	return jsonedit.Remove(data, "model")
}

// replaceMessage returns the fix that replaces the message's record. A new time may
// move the message among the others.
func (g recordContext) replaceMessage(r change.Record, text, loses string) repair.Fix {
	return repair.Fix{Text: text, Loses: loses, Whole: true, Alike: true, Edit: draftEdit(func(d *draft) error {
		i := d.index(r.Ref)
		if i < 0 {
			return fmt.Errorf("%s: no such message", r.Ref)
		}
		d.replaceMessage(i, record.NewMessage(r))
		return nil
	})}
}

// completePart returns the fixes that complete the part, or replace it if that is
// impossible.
func (g recordContext) completePart() []repair.Fix {
	if g.p.Type == record.TypeFile && !sendsFile(g.p.Data) {
		return append(g.replaceFileByText(g.p.Data), g.giveUpPart()...)
	}
	data, c, err := completedPart(g.m, g.p)
	if err != nil || g.p.Type == record.TypeText && request.IsBlank(textAt(data, "text")) {
		return g.giveUpPart()
	}
	var fixes []repair.Fix
	text, loses := describeChanges(c)
	if !c.None() {
		fixes = append(fixes, repair.Fix{Text: text, Loses: loses, Edit: rewrite(with(g.p.Record, data)), Alike: true})
	}
	if _, marked := jsonedit.Get(data, "metadata", schema.ProviderExecuted); marked && g.p.Type == record.TypeTool {
		fixes = append(fixes, g.completeCall(data, c))
	}
	if c.None() {
		return fixes
	}
	return append(fixes, g.giveUpPart()...)
}

// completeCall returns the fix that completes a call and removes the mark that the
// provider ran it.
func (g recordContext) completeCall(data []byte, c schema.Changes) repair.Fix {
	text, loses := "", "The mark that the provider ran the call itself. Every version now sends the call with its stored result."
	if !c.None() {
		var also string
		if text, also = describeChanges(c); also != "" {
			loses += " " + also
		}
		text += " "
	}
	return repair.Fix{Text: text + "The mark that the provider ran the call itself is removed from its metadata.", Loses: loses, Alike: true, Edit: draftEdit(func(d *draft) error {
		data, err := jsonedit.Remove(data, "metadata", schema.ProviderExecuted)
		if err != nil {
			return err
		}
		return rewrite(with(g.p.Record, data))(d)
	})}
}

// completedPart returns the data of the part with every member that its type needs.
func completedPart(m *record.Message, p *record.Part) ([]byte, schema.Changes, error) {
	if textAt(p.Data, "type") == record.TypeReasoning && badlySigned(p.Data) {
		return nil, schema.Changes{}, errors.New("its signature is none")
	}
	x := schema.Context{Ref: p.Ref, CallID: repair.CallID(p.Ref.Part), Time: max(p.Start, m.Created)}
	return schema.Complete(p.Data, &schema.Part, x)
}

// badlySigned reports whether thinking has a signature that is not a text. Without it
// the thinking would be unsigned, and mend cannot make another.
func badlySigned(data []byte) bool {
	for _, key := range []string{"anthropic", "bedrock"} {
		for _, name := range []string{"signature", "redactedData"} {
			if raw, ok := jsonedit.Get(data, "metadata", key, name); ok && raw[0] != '"' {
				return true
			}
		}
	}
	return false
}

// describeChanges returns what a fix does and what it loses, as sentences.
func describeChanges(c schema.Changes) (text, loses string) {
	var did []string
	if len(c.Filled) > 0 {
		did = append(did, "filled in: "+listed(c.Filled))
	}
	if len(c.Altered) > 0 {
		did = append(did, "converted to the type that OpenCode needs: "+listed(c.Altered))
	}
	if len(c.Lost) > 0 {
		did = append(did, "replaced or removed: "+listed(c.Lost))
		loses = "The invalid values of " + listed(c.Lost) + "."
	}
	return "Its fields are completed; " + strings.Join(did, "; ") + ".", loses
}

// listed joins paths for a sentence. It names only the first twelve.
func listed(paths []string) string {
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

// with returns the record with other, readable data.
func with(r change.Record, data []byte) change.Record {
	r.Data, r.Class, r.Defect = data, 0, nil
	return r
}

// textAt returns the string at a path, "" if there is none.
func textAt(data []byte, path ...string) string {
	raw, _ := jsonedit.Get(data, path...)
	s, _ := jsonedit.Text(raw)
	return s
}
