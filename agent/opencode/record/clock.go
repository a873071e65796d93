package record

import (
	"fmt"
	"strings"

	"mend/change"
)

// The agent makes the id of a message or a part from a prefix, 12 hexadecimal digits and a random tail. The digits are
// a clock with 4096 steps per millisecond, cut to 48 bits: it wraps every 795 days, last on 2026-08-14. Ids from before
// a wrap sort after the ids that the agent makes after it (docs/opencode.md F3).
const (
	clockDigits = 12
	clockStep   = 4096
)

// ClockID returns the beginning of an id made by the agent at a time, in milliseconds since 1970:
// the prefix and the digits of the clock.
func ClockID(kind change.Kind, ms int64) string {
	return prefixOf(kind) + digits(uint64(ms)*clockStep)
}

func prefixOf(kind change.Kind) string {
	if kind == change.KindMessage {
		return messagePrefix
	}
	return partPrefix
}

func digits(n uint64) string {
	return fmt.Sprintf("%0*x", clockDigits, n&(1<<(4*clockDigits)-1))
}

// Renumber returns the id of a message or a part with another time in it: n milliseconds after a wrap of the clock. The
// tail stays. An id that the agent did not make consists only of a tail.
func Renumber(kind change.Kind, id string, n int) string {
	prefix := prefixOf(kind)
	tail, made := strings.CutPrefix(id, prefix)
	if made && isClock(tail) {
		tail = tail[clockDigits:]
	}
	return ClockID(kind, int64(n)) + tail
}

// Tail returns the part of an id that [Renumber] keeps.
func Tail(id string) string {
	tail := idTail(id)
	if isClock(tail) {
		return tail[clockDigits:]
	}
	return tail
}

// isClock reports whether an id's tail begins with the digits of the clock.
func isClock(tail string) bool {
	return len(tail) >= clockDigits && strings.Trim(tail[:clockDigits], "0123456789abcdef") == ""
}

// LatestTime returns the latest time in the message and its parts, in milliseconds since 1970; 0 for none.
func (m *Message) LatestTime() int64 {
	t := max(m.Created, m.Completed)
	for i := range m.Parts {
		t = max(t, m.Parts[i].Start, m.Parts[i].End)
	}
	return t
}

// LatestTime is [Message.LatestTime] for a session with its messages.
func (s *Session) LatestTime() int64 {
	t := max(s.Created, s.Updated)
	for i := range s.Messages {
		t = max(t, s.Messages[i].LatestTime())
	}
	return t
}
