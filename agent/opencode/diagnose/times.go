package diagnose

import (
	"fmt"

	"mend/agent/opencode/record"
	"mend/repair"
	"mend/session"
)

// findTimes finds rows of messages whose time is not a number. SQLite sorts text and
// blobs after all numbers, so the agent reads such a message after every new prompt,
// and NULL before all messages.
func findTimes(c *simulation) (fs []fault) {
	if c.settings[own].profile.Tree() {
		return nil
	}
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if at, isRow := m.Col("time_created"); isRow && !isNumeric(at) {
			fs = append(fs, fault{Ref: m.Ref, Text: at.Class.String(), Severity: repair.Latent})
		}
	}
	if len(fs) > 0 && len(c.violations(c.settings[own])) > 0 { // they may be the reason
		for i := range fs {
			fs[i].Severity = repair.Broken
		}
	}
	return fs
}

func isNumeric(c session.Col) bool {
	return c.Class == session.ClassInteger || c.Class == session.ClassReal
}

func whyTime(_ *simulation, f fault) string {
	return fmt.Sprintf("The time in the message's row is %s, not a number, so OpenCode reads the message after every new prompt.", f.Text)
}

// fixTimes returns the fix that sets the time of all such rows to that in the message,
// or else to that in its id.
func fixTimes(c *simulation, _ fault) []fix {
	return []fix{{
		text: "Rows whose time is not a number get the time stored in the message itself.", loses: "The former value.", whole: true,
		edit: func(d *draft) error {
			for i := range d.s.Messages {
				m := &d.s.Messages[i]
				at, isRow := m.Col("time_created")
				if !isRow || isNumeric(at) {
					continue
				}
				ms := m.Created
				if ms <= 0 {
					var ok bool
					if ms, ok = record.IDTime(m.ID, record.ClockWraps(c.s.LatestTime())); !ok {
						return fmt.Errorf("%s: its time is unknown", m.Ref)
					}
				}
				parts := m.Parts
				*m = record.NewMessage(m.WithCol(session.IntCol("time_created", ms)))
				m.Parts = parts
			}
			d.s.Sort()
			return nil
		},
	}}
}
