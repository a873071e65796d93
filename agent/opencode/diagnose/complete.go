package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/session"
)

// A recordContext is a record that lacks something, and where it stands: its neighbours
// tell what fills it.
type recordContext struct {
	s *record.Session
	m *record.Message // the record, or the message that it is a part of
	p *record.Part    // nil where the record is the message's

	at int // the place of the part in the message

	known *facts
}

// complete returns data, which is a record of the type, with every member that it needs.
func (g recordContext) complete(data []byte, t *schema.Type) ([]byte, schema.Changes, error) {
	data, c, err := schema.Complete(data, t, g.infer)
	if err != nil {
		return nil, c, fmt.Errorf("completing %s: %w", g.ref(), err)
	}
	return data, c, nil
}

// infer returns what the neighbors of a record infer about a missing value.
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
		return jsonedit.Quote(callIDOf(g.p.Ref.Part))
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

// completeFixes fix a record that lacks a field which the agent needs, or has
// it in a form which the agent does not take (render.FailureField, render.FailureScreen).
// Nothing is done for a part of a kind that is not known, nor for a message whose
// id is none.
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

// describeChanges returns the sentences of a fix for what was completed.
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

// listed returns the paths as a part of a sentence; of many the first ones.
func listed(paths []string) string {
	const most = 12
	if more := len(paths) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), more)
	}
	return strings.Join(paths, ", ")
}

// rewrite returns the edit that puts another record in the place of a part's.
func rewrite(r session.Record) func(*draft) error {
	return func(d *draft) error {
		_, p, err := d.part(r.Ref)
		if err == nil {
			*p = record.NewPart(r)
		}
		return err
	}
}

// with returns the record with other data, that can be read.
func with(r session.Record, data []byte) session.Record {
	r.Data, r.Class, r.Defect = data, 0, nil
	return r
}
