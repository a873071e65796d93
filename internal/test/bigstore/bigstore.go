// Package bigstore writes large stores for measurements: of sessions as people have them
// (varied.go), of one session that grows in one dimension (growth.go), and of transcripts of
// Claude Code. Equal seeds make equal stores.
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
	folder               string // of a session; "" for [directory]
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

// A Mix makes the records of a store, and passes each to put.
type Mix func(put func(record) error) error

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
}

func newWriter(seed uint64, put func(record) error) *writer {
	return &writer{rnd: rand.New(rand.NewPCG(seed, seed)), put: put, clock: start}
}

// id returns a new id in the agent's format: the time, a counter within the millisecond,
// and a tail. Ids ascend.
func (w *writer) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s_%012x%014x", prefix, w.clock<<12&(1<<48-1)|int64(w.ids-w.since), w.ids)
}

// wait advances the clock by ms milliseconds.
func (w *writer) wait(ms int64) { w.clock, w.since = w.clock+ms, w.ids }

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
