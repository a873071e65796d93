package diagnose

import (
	"time"

	"mend/agent/opencode/record"
)

// youth is the maximum age of a record that shows that the agent is working.
const youth = 2 * time.Minute

// Busy reports whether the agent is working in the session: its newest answer is
// unfinished, and either a record is younger than two minutes, or a process that has
// the store open was started before the newest record was written. The second condition
// is for tool calls, which may run for hours without a write. It ignores younger
// processes, because no agent continues an answer that was unfinished when the agent
// started.
//
// A time more than two minutes in the future was written by a wrong clock. It makes no
// record young, and any process may have been running when it was written.
//
// held is the start of the oldest process that has the store open, the zero time if
// there is none.
func Busy(s *record.Session, now, held time.Time) bool {
	m := s.LatestAssistant()
	if m == nil || m.Finished() {
		return false
	}
	newest, wrong := newestTime(s, now.Add(youth))
	return now.Sub(newest) < youth || !held.IsZero() && (wrong || !held.After(newest))
}

// newestTime returns the latest time before end in any record of the session, and
// whether a record has a later one.
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
