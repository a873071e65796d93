package diagnose

import (
	"fmt"
	"time"

	"mend/agent/opencode/record"
)

// youth is the greatest age of a record that shows that the agent is working.
const youth = 2 * time.Minute

// WhyBusy returns why the agent may be working in the session, "" if it is not. The agent may be working if its newest
// answer is unfinished, and either a record is younger than two minutes, or a process that has the store open was
// started before the newest record was written. The second condition is for tool calls, which may run for hours without
// a write. It ignores later processes, because no agent continues an answer that was unfinished when the agent started.
// If no process has the store open, the agent is not working.
//
// A time more than two minutes in the future was written by a wrong clock. It does not make a record young, and any
// process may have written it.
//
// held is the start of the oldest process that has the store open, zero if none is found. free means that certainly no
// process has it open.
func WhyBusy(s *record.Session, now, held time.Time, free bool) string {
	m := s.LatestAssistant()
	if m == nil || m.IsFinished() || free {
		return ""
	}
	newest, wrong := newestTime(s, now.Add(youth))
	switch age := now.Sub(newest); {
	case !held.IsZero() && (wrong || !held.After(newest)):
		return "the last answer is not finished, and a process of OpenCode that was running then has the store open; wait " +
			"until it is done, or end it"
	case age < youth:
		return fmt.Sprintf("the last answer is not finished, and was written %d seconds ago; mend waits until %s, as "+
			"OpenCode may still be working", max(0, int(age.Seconds())), newest.Add(youth).Format(time.TimeOnly))
	}
	return ""
}

// newestTime returns the latest time before end in any record of the session, and whether a record has
// a later one.
func newestTime(s *record.Session, end time.Time) (newest time.Time, wrong bool) {
	add := func(ms int64) {
		switch t := time.UnixMilli(ms); {
		case !t.Before(end):
			wrong = true
		case t.After(newest):
			newest = t
		}
	}
	add(s.Updated)
	for i := range s.Messages {
		m := &s.Messages[i]
		add(m.Created)
		add(m.Completed)
		for k := range m.Parts {
			add(m.Parts[k].Start)
			add(m.Parts[k].End)
		}
	}
	for r := range s.Records {
		c, _ := r.Col("time_updated")
		v, _ := c.Int()
		add(v)
	}
	return newest, wrong
}
