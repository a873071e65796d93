package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/repair"
	"mend/session"
)

// A recordContext is a record with its message and session, from which missing values
// are inferred.
type recordContext struct {
	s *record.Session
	m *record.Message // the record, or the message of the part
	p *record.Part    // nil if the record is the message

	at int // index of the part in the message

	known *facts
}

// complete returns the data of a record of type t with every member that t needs.
func (g recordContext) complete(data []byte, t *schema.Type) ([]byte, schema.Changes, error) {
	data, c, err := schema.Complete(data, t, g.infer)
	if err != nil {
		return nil, c, fmt.Errorf("completing %s: %w", g.ref(), err)
	}
	return data, c, nil
}

// infer returns the value of a missing member, nil if it cannot be inferred.
func (g recordContext) infer(record []byte, from schema.Source) []byte {
	if g.p == nil {
		g = g.withData(record)
	}
	switch from {
	case schema.Role:
		return g.role()
	case schema.Created:
		return g.created()
	case schema.Agent:
		return g.agent()
	case schema.Mode:
		return g.mode()
	case schema.Provider:
		return g.model("providerID")
	case schema.Model:
		return g.model("modelID")
	case schema.Prompt:
		return g.parent()
	case schema.Cwd:
		return g.folder("cwd")
	case schema.Root:
		return g.folder("root")
	case schema.Cost:
		return g.totalCost()
	case schema.Reason:
		return g.reason()
	case schema.Start:
		return strconv.AppendInt(nil, g.startTime(), 10)
	case schema.End:
		return g.end()
	case schema.MIME:
		return g.mime()
	case schema.CallID:
		return jsonedit.Quote(repair.CallID(g.p.Ref.Part))
	case schema.Status:
		return g.status()
	case schema.FileID:
		return jsonedit.Quote(partPrefix + strings.TrimPrefix(g.p.Ref.Part, partPrefix) + "_file")
	case schema.SessionID:
		return jsonedit.Quote(g.ref().Session)
	case schema.MessageID:
		return jsonedit.Quote(g.ref().Message)
	default:
	}
	path, ok := strings.CutPrefix(string(from), string(schema.Tokens))
	switch {
	case !ok:
		return nil
	case g.p != nil:
		return g.answerTokens(path)
	}
	return g.lastTokens(path)
}

func (g recordContext) ref() session.Ref {
	if g.p != nil {
		return g.p.Ref
	}
	return g.m.Ref
}

// completeFixes returns the fixes of a record that lacks a field, or has a field in a
// form that the agent does not accept (render.FailureField, render.FailureScreen).
// A part of an unknown type and a message with an invalid id have none.
func completeFixes(k *facts, f fault) []fix {
	g, ok := k.contextOf(f.Ref)
	switch {
	case !ok:
		return nil
	case f.Ref.Kind == session.KindMessage && g.m.Malformed():
		return salvageMessageFixes(k, f)
	case f.Ref.Kind == session.KindMessage:
		return g.completeMessage()
	case g.p.Malformed():
		return salvagePartFixes(k, f)
	case !strings.HasPrefix(g.p.ID, partPrefix):
		return renameFixes(k, f)
	}
	return g.completePart()
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
	return "The record is completed; " + strings.Join(did, "; ") + ".", loses
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
func rewrite(r session.Record) func(*draft) error {
	return func(d *draft) error {
		_, p, err := d.part(r.Ref)
		if err == nil {
			*p = record.NewPart(r)
		}
		return err
	}
}

// with returns the record with other, readable data.
func with(r session.Record, data []byte) session.Record {
	r.Data, r.Class, r.Defect = data, 0, nil
	return r
}
