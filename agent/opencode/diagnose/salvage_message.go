package diagnose

import (
	"fmt"
	"strconv"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// salvageMessageFixes returns the fixes of a message whose record cannot be parsed:
// rebuild it from its readable bytes, its parts and its neighbours, or remove it with
// its parts. There is none if the bytes are unknown.
func (k *facts) salvageMessageFixes(f finding) []repair.Fix {
	g, ok := k.contextOf(f.Ref)
	if !ok || g.p != nil {
		return nil
	}
	return append(g.rebuildMessage(), g.removeMessage())
}

// rebuildMessage returns the fix that rebuilds the message.
func (g recordContext) rebuildMessage() []repair.Fix {
	r, v := g.s.Salvage(g.m.Record)
	if v.Complete {
		return []repair.Fix{g.replaceMessage(r, "Extra bytes around it are removed.", "")}
	}
	data, _, err := g.completedMessage(withoutCutValue(r.Data, v))
	if err == nil {
		data, err = g.markFinished(data)
	}
	if err != nil {
		return nil
	}
	return []repair.Fix{g.replaceMessage(with(r, data),
		fmt.Sprintf("The %s is rebuilt from what can be read and from the other messages.", called[textAt(data, "role")]),
		"Other fields, such as cost, tokens and errors.")}
}

// called has the names of messages in sentences, by role.
var called = map[string]string{change.RoleUser: "prompt", change.RoleAssistant: "answer"}

// markFinished returns the data of an answer with the members of a finished one. If it
// was not finished, the agent cannot continue it after its record was damaged.
func (g recordContext) markFinished(data []byte) ([]byte, error) {
	m := record.NewMessage(with(g.m.Record, data))
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
	if _, ok := jsonedit.Get(data, "summary"); !ok && err == nil && g.answersCompaction(textAt(data, "parentID")) {
		data, err = jsonedit.Set(data, []byte("true"), "summary")
	}
	return data, err
}

// answersCompaction reports whether the prompt with that id asks for a summary.
func (g recordContext) answersCompaction(prompt string) bool {
	m := g.known.shown(prompt).m
	return m != nil && anyOf(m.Parts, func(p *record.Part) bool { return p.Type == "compaction" })
}

// removeMessage returns the fix that removes the message with its parts.
func (g recordContext) removeMessage() repair.Fix {
	ref := g.m.Ref
	return repair.Fix{
		Text:  "The message is removed, with all that is in it.",
		Loses: "The message, with all that is in it.",
		Whole: true,
		Alike: true,
		Edit: draftEdit(func(d *draft) error {
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
		}),
	}
}
