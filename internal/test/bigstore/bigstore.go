// Package bigstore writes large stores for tests: with equal sessions (uniform.go), and with one session that grows in
// one dimension (growth.go).
//
// It may import testdata. Read [Database] and [GrowthTree] first.
package bigstore

import "fmt"

// A record is a stored record, with the additional columns of its row.
type record struct {
	kind                 kind
	id, session, message string
	folder               string // of a session; "" for [directory]
	created              int64  // milliseconds since 1970
	data                 object
	edit                 func([]byte) []byte // edits its text; nil for no change
}

// text returns the text of the record, as one line or indented.
func (r *record) text(indent bool) ([]byte, error) {
	data, err := r.data.text(indent)
	if err == nil && r.edit != nil {
		data = r.edit(data)
	}
	return data, err
}

// A Mix creates the records of a store, and passes each to put.
type Mix func(put func(record) error) error

type kind uint8

const (
	sessionRecord kind = iota + 1
	messageRecord
	partRecord
)

// start is the time of the first message of every store, in milliseconds since 1970: in September 2026, after the last
// overflow of the clock in ids.
const start = 1_790_000_000_000

// A writer creates the records of a store in order.
type writer struct {
	put   func(record) error
	clock int64
	ids   int
	since int // number of ids when the clock last advanced

	session string
}

func newWriter(put func(record) error) *writer { return &writer{put: put, clock: start} }

// id returns a new id in the agent's format: the time, a counter within the millisecond, and a suffix. Ids ascend.
func (w *writer) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s_%012x%014x", prefix, w.clock<<12&(1<<48-1)|int64(w.ids-w.since), w.ids)
}

// wait advances the clock by ms milliseconds.
func (w *writer) wait(ms int64) { w.clock, w.since = w.clock+ms, w.ids }

// part writes a part. edit changes its text.
func (w *writer) part(message string, edit func([]byte) []byte, data object) error {
	id := w.id("prt")
	data["id"], data["sessionID"], data["messageID"] = id, w.session, message
	return w.put(record{kind: partRecord, id: id, session: w.session, message: message, created: w.clock, data: data, edit: edit})
}
