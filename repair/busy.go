package repair

import (
	"time"

	"mend/session"
)

// youth is how long a record counts as fresh from the agent.
const youth = 2 * time.Minute

// Busy reports whether the agent is at work in the session: its newest answer is
// unfinished, and a record is younger than two minutes or another process holds
// the store. A time that is yet to come is young.
func Busy(s *session.Session, now time.Time, held bool) bool {
	m := s.LatestAssistant()
	if m == nil || m.Finished() {
		return false
	}
	return held || now.Sub(time.UnixMilli(newestTime(s))) < youth
}

// newestTime is the latest time that any record of the session tells.
func newestTime(s *session.Session) int64 {
	t := s.Updated
	for i := range s.Messages {
		t = max(t, s.Messages[i].LatestTime())
	}
	for r := range s.Records {
		c, _ := r.Col("time_updated")
		v, _ := c.Int()
		t = max(t, v)
	}
	return t
}
