package wire

import (
	"fmt"
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
		m.created = max(newest(s)+1, written)
	}
	m.id = promptID(m.created)
	return m
}

// promptID is how the id of a prompt begins that is typed at that millisecond.
// The clock of ids counts 4096 steps a millisecond and is cut to 48 bits, so
// that it starts anew every 795 days, last on 2026-08-14
// (spec/peers-and-failures.md F3).
func promptID(ms int64) string {
	const mask = 1<<48 - 1
	return fmt.Sprintf("msg_%012x", uint64(ms)*4096&mask)
}

// newest is the latest time that the session tells of, in milliseconds.
func newest(s *session.Session) int64 {
	t := max(s.Created, s.Updated)
	for i := range s.Messages {
		m := &s.Messages[i]
		t = max(t, m.Created, m.Completed)
		for j := range m.Parts {
			t = max(t, m.Parts[j].Start, m.Parts[j].End)
		}
	}
	return t
}
