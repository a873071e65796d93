//go:build e2e

package render_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mend/internal/wound"
)

// Records, Put, Drop and Replace make a lab a [wound.Store].
func (l *lab) Records() (messages, parts []wound.Record) {
	for _, m := range l.messages() {
		messages = append(messages, l.record(m))
		for _, p := range l.where(func(r *row) bool { return r.owner == m.id }) {
			parts = append(parts, l.record(p))
		}
	}
	return messages, parts
}

func (l *lab) record(r *row) wound.Record {
	return wound.Record{Table: r.table, ID: r.id, Owner: r.owner, Data: r.data(l.session, l.db == nil)}
}

func (l *lab) Put(r wound.Record) {
	at := slices.IndexFunc(l.rows, func(have *row) bool { return have.table == r.Table && have.id == r.ID })
	if at < 0 {
		owner := l.where(func(have *row) bool { return have.id == r.Owner })[0]
		l.rows = append(l.rows, &row{table: r.Table, id: r.ID, owner: r.Owner, created: owner.created})
		at = len(l.rows) - 1
	}
	to := l.rows[at]
	if r.Created != 0 {
		to.created = r.Created
	}
	to.raw, to.fields = nil, nil
	if json.Unmarshal([]byte(r.Data), &to.fields) != nil || to.fields == nil { // null is no object
		to.raw = &r.Data
		return
	}
	for _, id := range []string{"id", "sessionID", "messageID"} {
		delete(to.fields, id)
	}
}

// Lay makes it one that files can be laid into.
func (l *lab) Lay(name, data string) { l.stray[name] = data }

func (l *lab) Drop(r wound.Record) {
	l.drop(l.where(func(have *row) bool { return have.id == r.ID })...)
}

func (l *lab) Replace(old, to string) {
	for _, r := range l.rows {
		r.id, r.owner = strings.ReplaceAll(r.id, old, to), strings.ReplaceAll(r.owner, old, to)
		data := strings.ReplaceAll(r.data(l.session, false), old, to)
		if err := json.Unmarshal([]byte(data), &r.fields); err != nil {
			l.t.Fatal(err)
		}
	}
}

// messages are the rows of messages, in order.
func (l *lab) messages() []*row {
	return l.where(func(r *row) bool { return r.table == "message" })
}

func (l *lab) where(ok func(*row) bool) []*row {
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

// message is message number n.
func (l *lab) message(n int) *row { return l.messages()[n] }

// parts are the parts of one type in message number n, in order; of all with
// type "".
func (l *lab) parts(n int, kind string) []*row {
	id := l.message(n).id
	return l.where(func(r *row) bool {
		return r.table == "part" && r.owner == id && (kind == "" || r.fields["type"] == kind)
	})
}

// part is the first part of a type in message number n.
func (l *lab) part(n int, kind string) *row { return l.parts(n, kind)[0] }

// drop takes rows out.
func (l *lab) drop(rows ...*row) {
	l.rows = slices.DeleteFunc(l.rows, func(r *row) bool { return slices.Contains(rows, r) })
}

// add puts a part behind another one.
func (l *lab) add(behind *row, suffix, fields string) {
	l.rows = append(l.rows, l.made("part", behind.id+suffix, behind.owner, behind.created, fields))
}

func (l *lab) made(table, id, owner string, created int64, fields string) *row {
	r := row{table: table, id: id, owner: owner, created: created}
	if err := json.Unmarshal([]byte(fields), &r.fields); err != nil {
		l.t.Fatalf("%s: %v", fields, err)
	}
	return &r
}

// insert puts a message behind message number n, with parts.
func (l *lab) insert(n int, fields string, parts ...string) *row {
	was := l.message(n)
	m := l.made("message", was.id+"m", l.session, was.created+1, fields)
	m.fields["time"] = map[string]any{"created": m.created, "completed": m.created}
	l.rows = append(l.rows, m)
	for i, p := range parts {
		l.rows = append(l.rows, l.made("part", fmt.Sprintf("prt_%s%d", was.id[4:], i), m.id, m.created, p))
	}
	return m
}
