// Package bigstore writes large stores for measurements. The sessions of a plain store are
// alike: 50 to 500 messages, assistant messages of 3 to 8 parts (step-start, signed
// reasoning, text, calls with 0.2 to 20 KB of input and output, step-finish), the
// logarithms of all sizes uniformly distributed, every tenth session damaged. The sessions
// of a varied store are like those of real users (varied.go). Equal seeds make equal
// stores.
package bigstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// A record is a stored record, with the columns that a row has besides its data.
type record struct {
	kind                 kind
	id, session, message string
	parent, version      string // of a session; "" for none, and for [version]
	created              int64  // milliseconds since 1970
	data                 object
	edit                 func([]byte) []byte // changes its text; nil for no change
}

// text returns the text of the record, as one line or indented.
func (r *record) text(indent bool) ([]byte, error) {
	data, err := r.data.text(indent)
	if err == nil && r.edit != nil {
		data = r.edit(data)
	}
	return data, err
}

// A Mix says which sessions a store has.
type Mix struct {
	write func(parts int, seed uint64, put func(record) error) error
}

// The mixes.
var (
	Plain  = Mix{write}
	Varied = Mix{writeVaried}
)

// PlainWith is [Plain], beginning with healthy sessions of these numbers of messages.
func PlainWith(messages ...int) Mix {
	return Mix{func(parts int, seed uint64, put func(record) error) error {
		w := newWriter(seed, put)
		for _, n := range messages {
			if err := w.messages(n, math.MaxInt); err != nil {
				return err
			}
		}
		return w.fill(parts)
	}}
}

type kind uint8

const (
	sessionRecord kind = iota + 1
	messageRecord
	partRecord
)

// start is the time of the first message of every store, in milliseconds since
// 1970: in September 2026, after the last wrap of the id clock.
const start = 1_790_000_000_000

// A writer makes the records of a store in order.
type writer struct {
	rnd   *rand.Rand
	put   func(record) error
	clock int64
	ids   int
	since int // value of ids when the clock last advanced
	parts int // number of parts made

	session string
	damaged bool
}

func newWriter(seed uint64, put func(record) error) *writer {
	return &writer{rnd: rand.New(rand.NewPCG(seed, seed)), put: put, clock: start}
}

// write makes sessions with about that many parts in all.
func write(parts int, seed uint64, put func(record) error) error {
	return newWriter(seed, put).fill(parts)
}

// fill makes sessions until the store has about that many parts.
func (w *writer) fill(parts int) error {
	for n := 0; w.parts < parts; n++ {
		w.damaged = n%10 == 3
		if err := w.conversation(parts); err != nil {
			return err
		}
	}
	return nil
}

// id returns a new id in the agent's format: the time, a counter within the millisecond,
// and a tail. Ids ascend.
func (w *writer) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s_%012x%014x", prefix, w.clock<<12&(1<<48-1)|int64(w.ids-w.since), w.ids)
}

// wait advances the clock by ms milliseconds.
func (w *writer) wait(ms int64) { w.clock, w.since = w.clock+ms, w.ids }

// conversation makes a session. It stops soon after the store has that many parts.
func (w *writer) conversation(parts int) error {
	return w.messages(50+w.rnd.IntN(451), parts)
}

// messages makes a session of that many messages, less if the store has that many parts before.
func (w *writer) messages(messages, parts int) error {
	w.session = w.id("ses")
	began := w.clock
	var prompt string
	for i := 0; i < messages && w.parts < parts; i++ {
		var err error
		if i%6 == 0 || i == messages-1 {
			prompt, err = w.prompt()
		} else {
			err = w.answer(prompt, i%6 == 5 || i == messages-2)
		}
		if err != nil {
			return err
		}
	}
	return w.put(record{kind: sessionRecord, id: w.session, session: w.session, created: began, data: sessionData(w.session, began, w.clock)})
}

func (w *writer) prompt() (id string, err error) {
	w.wait(60_000)
	id = w.id("msg")
	if err := w.put(record{kind: messageRecord, id: id, session: w.session, message: id, created: w.clock, data: promptData(id, w.session, w.clock)}); err != nil {
		return "", err
	}
	return id, w.part(id, object{{"type", "text"}, {"text", w.text(40, 4000)}})
}

// answer makes an assistant message, with tool calls unless it is the last of its turn.
func (w *writer) answer(prompt string, last bool) error {
	w.wait(5_000)
	id, began := w.id("msg"), w.clock
	cut := answerDamage(0)
	if w.damaged && w.rnd.IntN(8) == 0 {
		cut = answerDamage(1 + w.rnd.IntN(answerDamages))
	}
	calls := 1 + w.rnd.IntN(4)
	reason := "tool-calls"
	if last {
		calls, reason = 0, "stop"
	}
	for _, p := range cut.apply(w.step(calls, reason)) {
		if err := w.part(id, p); err != nil {
			return err
		}
	}
	w.wait(3_000)
	return w.put(record{kind: messageRecord, id: id, session: w.session, message: id, created: began, data: answerData(id, w.session, prompt, reason, began, w.clock)})
}

// step returns the parts of an assistant message with one step.
func (w *writer) step(calls int, reason string) []object {
	now := w.clock
	parts := []object{
		{{"type", "step-start"}, {"snapshot", snapshot}},
		reasoningData(w.text(100, 3000), w.signature(), now),
		{{"type", "text"}, {"text", w.text(20, 2000)}, {"time", span(now, now)}},
	}
	for range calls {
		parts = append(parts, callData(fmt.Sprintf("toolu_%024x", w.rnd.Uint64()), w.text(20, 2000), w.text(200, 20_000), now))
	}
	return append(parts, finishData(reason))
}

func (w *writer) part(message string, data object) error {
	id := w.id("prt")
	w.parts++
	data = append(object{{"id", id}, {"sessionID", w.session}, {"messageID", message}}, data...)
	return w.put(record{kind: partRecord, id: id, session: w.session, message: message, created: w.clock, data: data})
}

// text returns random words of low to high bytes; the logarithm of the size is uniformly
// distributed.
func (w *writer) text(low, high int) string {
	n := int(w.logarithmic(float64(low), float64(high)))
	var b strings.Builder
	b.Grow(n + 16)
	for b.Len() < n {
		b.WriteString(words[w.rnd.IntN(len(words))])
	}
	return b.String()
}

// logarithmic returns a number from low to high whose logarithm is uniformly distributed.
func (w *writer) logarithmic(low, high float64) float64 {
	return low * math.Pow(high/low, w.rnd.Float64())
}

var words = strings.SplitAfter(`func |return |the |session |error: |"quoted" |1234 |path/to/file.go:17 |
|	if err != nil {
|größer |of |is |and |not |left := right |// why |`, "|")

func (w *writer) signature() string {
	var b strings.Builder
	for range 10 {
		fmt.Fprintf(&b, "%016x", w.rnd.Uint64())
	}
	return b.String()
}
