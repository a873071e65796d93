package wire

import (
	"time"

	"mend/session"
)

// written is when this was written, and the last turn of the clock before it:
// nobody types a prompt at an earlier time.
const written = 1795219200000 // 2026-11-21

// NextPrompt is how the id of the prompt begins that the user types next, if that
// is right after everything that the session tells of; see [Settings].
func NextPrompt(s *session.Session) string { return newPrompt(s, time.Time{}).id }

// newPrompt is the prompt that the user types at now, or else right after
// everything that the session tells of.
func newPrompt(s *session.Session, now time.Time) *message {
	m := &message{prompt: true, created: now.UnixMilli()}
	if now.IsZero() {
		m.created = max(s.LatestTime()+1, written)
	}
	m.id = session.ClockID(session.KindMessage, m.created)
	return m
}
