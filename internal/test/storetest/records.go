package storetest

import (
	"iter"
	"testing"

	"mend/change"
	"mend/internal/jsonedit"
)

// edit returns the ops of a change of records. keep may change the copy of a record that it gets; if it returns false,
// the record is deleted. The records in created are added.
func edit(t *testing.T, records iter.Seq[*change.Record], keep func(*change.Record) bool, created ...*change.Record) []change.Op {
	t.Helper()
	return change.Diff(records, func(yield func(*change.Record) bool) {
		for r := range records {
			if c := *r; keep(&c) && !yield(&c) {
				return
			}
		}
		for _, r := range created {
			if !yield(r) {
				return
			}
		}
	})
}

func set(t *testing.T, r *change.Record, field, text string) {
	t.Helper()
	data, err := jsonedit.Set(r.Data, jsonedit.Quote(text), field)
	if err != nil {
		t.Fatal(err)
	}
	r.Data = data
}

// newPart returns a part of the message with that id and text, otherwise like another part.
func newPart(t *testing.T, like *change.Record, message change.Ref, id, text string) *change.Record {
	t.Helper()
	r := *like
	r.Ref.Message, r.Ref.Part = message.Message, id
	set(t, &r, "text", text)
	if r.IsRow() {
		r = r.WithCol(change.TextCol("id", id)).WithCol(change.TextCol("message_id", message.Message))
		return &r
	}
	set(t, &r, "id", id)
	set(t, &r, "messageID", message.Message)
	return &r
}

// isText reports whether the record is a part with a text.
func isText(r *change.Record) bool {
	raw, _ := jsonedit.Get(r.Data, "type")
	return jsonedit.Unquote(raw) == "text"
}
