package render

import (
	"fmt"
	"strconv"
	"time"

	"mend/agent/opencode/js"
	"mend/session"
)

// written is when this was written, and the last turn of the clock before it:
// nobody types a prompt at an earlier time.
const earliestPrompt = 1795219200000 // 2026-11-21

// NextPrompt is the time, in milliseconds since 1970, and the beginning of the id of
// the prompt that the user types now, or else right after everything that the session
// tells of; see [Settings].
func NextPrompt(s *session.Session, now time.Time) (created int64, id string) {
	ms := promptTime(s, now)
	return ms, session.ClockID(session.KindMessage, ms)
}

// Span is the time around now for which every version makes the same request of the
// session: the next prompt comes among its messages where it comes now. It is empty
// of now only where now is the zero time.
func StableSpan(s *session.Session, now time.Time) (from, until time.Time) {
	ms := now.UnixMilli()
	low, high := session.ClockStart(session.ClockTurn(ms)), session.ClockStart(session.ClockTurn(ms)+1)
	note := func(t int64) {
		if t < ms {
			low = max(low, t+1)
		} else {
			high = min(high, t+1)
		}
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		note(m.Created)
		note(CreatedInJSON(m))
		for _, id := range [...]string{m.ID, m.Ref.Message} {
			if t, ok := session.IDTime(id, session.ClockTurn(ms)); ok {
				note(t)
			}
		}
	}
	return time.UnixMilli(low), time.UnixMilli(high)
}

// SaidCreated is the time that the message's JSON tells, by which newer versions see which
// message is the newest, while a row is sorted by its column; that one where it tells none.
func CreatedInJSON(m *session.Message) int64 {
	f, err := strconv.ParseFloat(string(m.Root().Get("time").Get("created").Raw()), 64)
	if err != nil || m.Cols == nil {
		return m.Created
	}
	return int64(min(max(f, -MaxTime), MaxTime))
}

// MaxTime is the last time that JavaScript knows.
const MaxTime = 8.64e15

// newPrompt is the prompt that the user types at now, or else right after
// everything that the session tells of.
func newPrompt(s *session.Session, now time.Time) *message {
	ms := promptTime(s, now)
	id := session.ClockID(session.KindMessage, ms)
	return &message{
		isPrompt: true, timeKey: session.TimeKey(ms), idKey: session.TextCol("id", id).SortKey(), recordState: recordState{id: id},
		body: js.Parse(fmt.Appendf(nil, `{"time":{"created":%d}}`, ms)),
	}
}

// promptTime is when it is typed, in milliseconds since 1970.
func promptTime(s *session.Session, now time.Time) int64 {
	if now.IsZero() {
		return max(s.LatestTime()+1, earliestPrompt)
	}
	return now.UnixMilli()
}
