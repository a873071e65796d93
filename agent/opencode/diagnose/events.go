package diagnose

import (
	"fmt"

	"mend/agent/opencode/js"
	"mend/change"
	"mend/repair"
)

const (
	// promptEvents is how many events a prompt has at least that is answered with a text
	// (seen with 1.18.33).
	promptEvents = 14
	// maxLastEvent leaves room for events with numbers that JavaScript has.
	maxLastEvent = 1<<53 - 1<<20
)

// findEvents finds a session whose events get numbers that are taken. It is latent if the
// next prompt can still be answered.
func findEvents(c *simulation) []finding {
	if c.s.Events.Clash == 0 || !c.settings[own].profile.Strict() {
		return nil
	}
	severity := repair.Latent
	if c.s.Events.Clash <= promptEvents {
		severity = repair.Broken
	}
	return []finding{{Ref: c.s.Info.Ref, Severity: severity}}
}

func whyEvents(c *simulation, _ finding) string {
	e := &c.s.Events
	counter := "is not stored"
	if seq, _ := e.Counter.Col("seq"); e.Counter.Ref.Kind != 0 {
		counter = "is not a number"
		if _, ok := seq.Float(); ok {
			counter = "is at " + js.ColumnString(seq)
		}
	}
	return fmt.Sprintf("The counter of the session's events %s, and the last event has number %d. OpenCode counts on from there, and each prompt ends with HTTP 500 once it comes to a number that is taken or too large.", counter, e.Last)
}

// eventFixes returns the fix that sets the counter to the number of the last event.
func eventFixes(c *simulation, _ finding) []repair.Fix {
	s := c.s
	if s.Events.Last >= maxLastEvent {
		return nil
	}
	return []repair.Fix{{
		Text:  fmt.Sprintf("The counter is set to %d.", s.Events.Last),
		Loses: "The former value of the counter.",
		Whole: true,
		Edit: draftEdit(func(d *draft) error {
			e := &d.s.Events
			e.Counter = e.Counter.WithCol(change.IntCol("seq", e.Last))
			e.Counter.Ref = change.Ref{Kind: change.KindEvents, Session: d.s.ID}
			e.Clash = 0
			return nil
		}),
	}}
}
