//go:build e2e

package render_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mend/internal/test/damage"
)

// Records, Put, Drop and Replace implement [damage.Store].
func (l *harness) Records() (messages, parts []damage.Record) {
	for _, m := range l.messages() {
		messages = append(messages, l.record(m))
		for _, p := range l.selectRows(func(r *row) bool { return r.owner == m.id }) {
			parts = append(parts, l.record(p))
		}
	}
	return messages, parts
}

func (l *harness) record(r *row) damage.Record {
	return damage.Record{Table: r.table, ID: r.id, Owner: r.owner, Data: r.data(l.session, l.db == nil)}
}

func (l *harness) Put(r damage.Record) {
	at := slices.IndexFunc(l.rows, func(have *row) bool { return have.table == r.Table && have.id == r.ID })
	if at < 0 {
		owner := l.selectRows(func(have *row) bool { return have.id == r.Owner })[0]
		l.rows = append(l.rows, &row{table: r.Table, id: r.ID, owner: r.Owner, created: owner.created})
		at = len(l.rows) - 1
	}
	to := l.rows[at]
	if r.Created != 0 {
		to.created = r.Created
	}
	to.raw, to.fields = nil, nil
	if json.Unmarshal([]byte(r.Data), &to.fields) != nil || to.fields == nil { // null is not an object
		to.raw = &r.Data
		return
	}
	for _, id := range []string{"id", "sessionID", "messageID"} {
		delete(to.fields, id)
	}
}

// Lay adds a file that is not a record.
func (l *harness) Lay(name, data string) { l.stray[name] = data }

func (l *harness) Drop(r damage.Record) {
	l.drop(l.selectRows(func(have *row) bool { return have.id == r.ID })...)
}

func (l *harness) Replace(old, to string) {
	for _, r := range l.rows {
		r.id, r.owner = strings.ReplaceAll(r.id, old, to), strings.ReplaceAll(r.owner, old, to)
		data := strings.ReplaceAll(r.data(l.session, false), old, to)
		if err := json.Unmarshal([]byte(data), &r.fields); err != nil {
			l.t.Fatal(err)
		}
	}
}

// messages returns the rows of messages, in order.
func (l *harness) messages() []*row {
	return l.selectRows(func(r *row) bool { return r.table == "message" })
}

func (l *harness) selectRows(ok func(*row) bool) []*row {
	var out []*row
	for _, r := range l.rows {
		if ok(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	})
	return out
}

func (l *harness) message(n int) *row { return l.messages()[n] }

// parts returns the parts of a type in message n, in order; all parts for type "".
func (l *harness) parts(n int, kind string) []*row {
	id := l.message(n).id
	return l.selectRows(func(r *row) bool {
		return r.table == "part" && r.owner == id && (kind == "" || r.fields["type"] == kind)
	})
}

// part returns the first part of a type in message n.
func (l *harness) part(n int, kind string) *row { return l.parts(n, kind)[0] }

func (l *harness) drop(rows ...*row) {
	l.rows = slices.DeleteFunc(l.rows, func(r *row) bool { return slices.Contains(rows, r) })
}

func (l *harness) add(after *row, suffix, fields string) {
	l.rows = append(l.rows, l.newRow("part", after.id+suffix, after.owner, after.created, fields))
}

func (l *harness) newRow(table, id, owner string, created int64, fields string) *row {
	r := row{table: table, id: id, owner: owner, created: created}
	if err := json.Unmarshal([]byte(fields), &r.fields); err != nil {
		l.t.Fatalf("%s: %v", fields, err)
	}
	return &r
}

// insert adds a message with parts after message n.
func (l *harness) insert(n int, fields string, parts ...string) *row {
	previous := l.message(n)
	m := l.newRow("message", previous.id+"m", l.session, previous.created+1, fields)
	m.fields["time"] = map[string]any{"created": m.created, "completed": m.created}
	l.rows = append(l.rows, m)
	for i, p := range parts {
		l.rows = append(l.rows, l.newRow("part", fmt.Sprintf("prt_%s%d", previous.id[4:], i), m.id, m.created, p))
	}
	return m
}
