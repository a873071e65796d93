package repair

import (
	"slices"
	"time"

	"mend/session"
)

// youth is how long a record counts as fresh from the agent.
const youth = 2 * time.Minute

// Busy reports whether the agent is at work in the session: its newest answer is
// unfinished, and a record is younger than two minutes or another process holds
// the store. A time more than two minutes ahead is that of a wrong clock and tells
// nothing.
func Busy(s *session.Session, now time.Time, held bool) bool {
	m := s.LatestAssistant()
	if m == nil || m.Finished() {
		return false
	}
	young := func(ms int64) bool { return now.Sub(time.UnixMilli(ms)).Abs() < youth }
	if held || young(s.Updated) {
		return true
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if young(m.Created) || young(m.Completed) || slices.ContainsFunc(m.Parts, func(p session.Part) bool { return young(p.Start) || young(p.End) }) {
			return true
		}
	}
	for r := range s.Records {
		c, _ := r.Col("time_updated")
		if v, _ := c.Int(); young(v) {
			return true
		}
	}
	return false
}
