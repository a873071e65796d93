package render

import (
	"fmt"
	"strconv"
	"time"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
)

// earliestPrompt is the earliest default time of a new prompt, in milliseconds since 1970:
// 2026-11-21, after the last wrap of the id clock.
const earliestPrompt = 1795219200000

// NextPrompt returns the time of a prompt typed now, in milliseconds since 1970, and the beginning
// of its id. For the zero time see [Settings].Now.
func NextPrompt(s *record.Session, now time.Time) (created int64, id string) {
	created = now.UnixMilli()
	if now.IsZero() {
		created = max(s.LatestTime()+1, earliestPrompt)
	}
	return created, record.ClockID(change.KindMessage, created)
}

// IsInFuture reports whether the message is dated later than a prompt typed now; false if that time is zero.
func IsInFuture(m *record.Message, now time.Time) bool {
	return !now.IsZero() && max(m.Created, CreatedInJSON(m)) >= now.UnixMilli()
}

// CreatedInJSON returns the creation time in the message's JSON. Newer versions use it to find the
// newest message, although they sort rows by the column. Without a valid time in the JSON it
// returns the column's.
func CreatedInJSON(m *record.Message) int64 {
	f, err := strconv.ParseFloat(string(m.JSON.Get("time").Get("created").Raw()), 64)
	if err != nil || !m.IsRow() {
		return m.Created
	}
	return int64(min(max(f, -maxTime), maxTime))
}

// maxTime is the latest time that JavaScript supports, in milliseconds since 1970.
const maxTime = 8.64e15

// newPrompt returns the prompt that the user types next.
func newPrompt(s *record.Session, now time.Time) *message {
	ms, id := NextPrompt(s, now)
	data := js.Parse(fmt.Appendf(nil, `{"time":{"created":%d}}`, ms))
	return &message{Message: &record.Message{Created: ms, ID: id, JSON: data}, isPrompt: true, created: float64(ms)}
}
