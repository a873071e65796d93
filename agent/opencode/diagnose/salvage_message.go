package diagnose

import (
	"fmt"
	"slices"
	"strconv"

	"mend/agent/opencode/record"
	"mend/jsonedit"
	"mend/session"
)

// salvageMessageFixes returns the fixes of a message whose record cannot be parsed:
// rebuild it from its readable bytes, its parts and its neighbours, or remove it with
// its parts. There is none if the bytes are unknown.
func salvageMessageFixes(k *facts, f fault) []fix {
	g, ok := k.contextOf(f.Ref)
	if !ok || g.p != nil {
		return nil
	}
	return append(g.rebuildMessage(), g.removeMessage())
}

// rebuildMessage returns the fix that rebuilds the message.
func (g recordContext) rebuildMessage() []fix {
	r, v := g.s.Salvage(g.m.Record)
	if v.Complete {
		return []fix{g.replaceMessage(r, "Extra bytes around the record are removed.", "")}
	}
	g = g.withData(withoutCutValue(r.Data, v))
	data, _, err := g.completedMessage(g.m.Data)
	if err == nil {
		g = g.withData(data)
		data, err = g.markFinished(data)
	}
	if err != nil {
		return nil
	}
	return []fix{g.replaceMessage(with(r, data),
		fmt.Sprintf("The record of the %s is rebuilt from what can be read, from its parts and its neighbours.", called[g.m.Role]),
		"Other fields, such as cost, tokens and errors.")}
}

// called has the names of messages in sentences, by role.
var called = map[string]string{session.RoleUser: "prompt", session.RoleAssistant: "answer"}

// markFinished returns the data of an answer with the members of a finished one. If it
// was not finished, the agent cannot continue it after its record was damaged.
func (g recordContext) markFinished(data []byte) ([]byte, error) {
	if g.m.Role != session.RoleAssistant {
		return data, nil
	}
	type member struct {
		path []string
		raw  []byte
	}
	var missing []member
	if g.m.Completed == 0 {
		missing = append(missing, member{[]string{"time", "completed"}, strconv.AppendInt(nil, g.m.LatestTime(), 10)})
	}
	if g.m.Finish == "" && !g.m.Failed {
		missing = append(missing, member{[]string{"finish"}, jsonedit.Quote(g.finish())})
	}
	if _, ok := jsonedit.Get(data, "summary"); !ok && g.answersCompaction() {
		agent := jsonedit.Quote("compaction")
		missing = append(missing, member{[]string{"summary"}, []byte("true")}, member{[]string{"mode"}, agent}, member{[]string{"agent"}, agent})
	}
	for _, m := range missing {
		var err error
		if data, err = jsonedit.Set(data, m.raw, m.path...); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// finish returns why the model stopped: the reason in the end of its last step, or else
// what follows from the parts of that step.
func (g recordContext) finish() string {
	if ends := g.stepEnds(); len(ends) > 0 {
		if reason := textAt(ends[len(ends)-1].Data, "reason"); reason != "" && ends[len(ends)-1].Ref == g.m.Parts[len(g.m.Parts)-1].Ref {
			return reason
		}
	}
	var last []record.Part
	for last = range g.m.Steps() {
	}
	if slices.ContainsFunc(last, func(p record.Part) bool { return p.Type == record.TypeTool }) {
		return "tool-calls"
	}
	return "stop"
}

// answersCompaction reports whether the answer is a summary for a compaction.
func (g recordContext) answersCompaction() bool {
	parent := g.known.timeline().byID[textAt(g.m.Data, "parentID")]
	return parent != nil && slices.ContainsFunc(parent.Parts, func(p record.Part) bool { return p.Type == "compaction" })
}

// removeMessage returns the fix that removes the message with its parts.
func (g recordContext) removeMessage() fix {
	ref := g.m.Ref
	return fix{
		text:  "The message and its parts are removed.",
		loses: fmt.Sprintf("The message and its %d parts.", len(g.m.Parts)),
		whole: true,
		alike: true,
		edit: func(d *draft) error {
			i := d.index(ref)
			if i < 0 {
				return fmt.Errorf("%s: no such message", ref)
			}
			for _, p := range d.s.Messages[i].Parts {
				if p.Unreadable() {
					return fmt.Errorf("%s: it cannot be read", p.Ref)
				}
			}
			d.removeMessage(i)
			return nil
		},
	}
}
