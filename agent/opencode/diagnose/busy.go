package diagnose

import (
	"time"

	"mend/agent/opencode/record"
)

// youth is how long a record counts as fresh from the agent.
const youth = 2 * time.Minute

// Busy reports whether the agent is at work in the session: its newest answer is
// unfinished, and a record is younger than two minutes, or a process that works with
// the store was started before the newest record was written. A tool call may take
// hours and writes nothing meanwhile. But no agent goes on by itself with an answer
// that was unfinished when it was started: a server that is younger than the newest
// record is not at work in the session, and what works with another store is not
// either. A time more than two minutes ahead is that of a wrong clock: nothing is
// young by it, and it may have been written after any process was started.
//
// held is the start of the oldest process that works with the store, the zero time
// if there is none.
func Busy(s *record.Session, now, held time.Time) bool {
	m := s.LatestAssistant()
	if m == nil || m.Finished() {
		return false
	}
	newest, wrong := newestTime(s, now.Add(youth))
	return now.Sub(newest) < youth || !held.IsZero() && (wrong || !held.After(newest))
}

// newestTime returns the latest time of any record of the session that is before end,
// and whether one is not.
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
