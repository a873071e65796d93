package session

import (
	"fmt"
	"strconv"
	"strings"
)

// The id of a message or part that the agent makes is a prefix, 12 hexadecimal
// digits and a tail that nobody else has. The digits are those of a clock of
// 4096 steps a millisecond that is cut to 48 bits: it starts anew every 795
// days, last on 2026-08-14, and what was made before sorts behind what is made
// then (docs/opencode.md F3).
const (
	clockDigits = 12
	clockStep   = 4096
)

// ClockID is how the id of a message or a part begins that the agent makes at a
// time, in milliseconds since 1970.
func ClockID(kind Kind, ms int64) string {
	return prefixOf(kind) + digits(uint64(ms)*clockStep)
}

func prefixOf(kind Kind) string {
	if kind == KindMessage {
		return messagePrefix
	}
	return partPrefix
}

func digits(n uint64) string {
	return fmt.Sprintf("%0*x", clockDigits, n&(1<<(4*clockDigits)-1))
}

// ClockTurn is how often the clock of ids had started anew at a time, in
// milliseconds since 1970.
func ClockTurn(ms int64) int64 {
	return ms / (1 << (4 * clockDigits) / clockStep)
}

// ClockStart is when the clock of ids starts for the turn-th time, in milliseconds
// since 1970.
func ClockStart(turn int64) int64 { return turn * ((1 << (4 * clockDigits)) / clockStep) }

// IDTime is the time in an id, in milliseconds since 1970, if it was made in that turn
// of the clock; false if the agent did not make it.
func IDTime(id string, turn int64) (ms int64, made bool) {
	tail := idTail(id)
	if !isClock(tail) {
		return 0, false
	}
	n, err := strconv.ParseUint(tail[:clockDigits], 16, 64)
	return ClockStart(turn) + int64(n/clockStep), err == nil
}

// Renumber is a message's or part's id with another time in it: that of the
// first millisecond n after a start of the clock. The tail stays; an id that the
// agent did not make is tail as a whole.
func Renumber(kind Kind, id string, n int) string {
	prefix := prefixOf(kind)
	tail, made := strings.CutPrefix(id, prefix)
	if made && isClock(tail) {
		tail = tail[clockDigits:]
	}
	return ClockID(kind, int64(n)) + tail
}

// Tail is what of an id [Renumber] leaves as it is.
func Tail(id string) string {
	tail := idTail(id)
	if isClock(tail) {
		return tail[clockDigits:]
	}
	return tail
}

// MadeSince reports whether the clock in an id shows a time between ms, in
// milliseconds since 1970, and the clock's last start before that.
func MadeSince(id string, ms int64) bool {
	tail := idTail(id)
	return isClock(tail) && tail[:clockDigits] < digits(uint64(ms+1)*clockStep)
}

// isClock reports whether an id's tail begins with digits of the clock.
func isClock(tail string) bool {
	return len(tail) >= clockDigits && strings.Trim(tail[:clockDigits], "0123456789abcdef") == ""
}

// LatestTime is the latest time that the message and its parts tell of, in
// milliseconds since 1970; 0 if they tell of none.
func (m *Message) LatestTime() int64 {
	t := max(m.Created, m.Completed)
	for i := range m.Parts {
		t = max(t, m.Parts[i].Start, m.Parts[i].End)
	}
	return t
}

// LatestTime is the latest time that the session, its messages and their parts
// tell of, in milliseconds since 1970; 0 if they tell of none.
func (s *Session) LatestTime() int64 {
	t := max(s.Created, s.Updated)
	for i := range s.Messages {
		t = max(t, s.Messages[i].LatestTime())
	}
	return t
}
