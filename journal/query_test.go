package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mend/change"
	"mend/internal/boltfile"
)

func ids(es []change.Entry) (all []string) {
	for _, e := range es {
		all = append(all, e.ID)
	}
	return all
}

// TestListDamaged: with a damaged event List returns all entries and an error, and marks the entries that the event may
// be about.
func TestListDamaged(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir, Options{})
	a := mustFinish(t, j, mustBegin(t, j, scanCause(), change.Op{Ref: partRef(1), Post: image("a")}), change.Committed)
	undo := mustFinish(t, j, mustBegin(t, j, change.Cause{Kind: change.CauseUndo, Entries: []uint64{1}}, change.Op{Ref: partRef(1), Pre: image("a")}), change.Committed)
	c := mustFinish(t, j, mustBegin(t, j, scanCause(), change.Op{Ref: partRef(2), Post: image("c")}), change.Conflicted)
	if _, err := j.Resolve(c, "keep", ""); err != nil {
		t.Fatal(err)
	}
	about := [][]string{1: {a.ID}, 2: {a.ID}, 3: {a.ID, undo.ID}, 4: {a.ID, undo.ID}, 5: {c.ID}, 6: {c.ID}, 7: {c.ID}}
	values := make([][]byte, len(about))
	for seq := 1; seq < len(about); seq++ {
		v, ok, err := j.snap().Get(bucketEvents, boltfile.U64(uint64(seq)))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		values[seq] = bytes.Clone(v)
	}
	mustClose(t, j)
	file, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	for seq := 1; seq < len(about); seq++ {
		bad := bytes.Clone(values[seq])
		bad[50] ^= 1 // in its JSON
		copied := t.TempDir()
		if err := os.WriteFile(filepath.Join(copied, fileName), bytes.ReplaceAll(file, values[seq], bad), 0o600); err != nil {
			t.Fatal(err)
		}
		r := mustOpen(t, copied, Options{ReadOnly: true})
		es, err := r.List(Query{})
		if !errors.Is(err, ErrDamaged) || !slices.Equal(ids(es), []string{c.ID, undo.ID, a.ID}) {
			t.Errorf("event %d: List returns %v, %v", seq, ids(es), err)
			continue
		}
		for _, e := range es {
			if marked := e.Damage != "" && e.State == change.Unknown; marked != slices.Contains(about[seq], e.ID) {
				t.Errorf("event %d: %s is %s, damage %q", seq, e.ID, e.State, e.Damage)
			}
		}
		for _, q := range []Query{{State: change.Aborted}, {State: change.Conflicted}, {Cause: change.CauseSalvage}} {
			if es, err := r.List(q); !errors.Is(err, ErrDamaged) || len(es) != len(about[seq]) {
				t.Errorf("event %d: List(%+v) = %v, %v, want every marked entry", seq, q, ids(es), err)
			}
		}
		if _, err := r.Verify(""); !errors.Is(err, ErrDamaged) {
			t.Errorf("event %d: Verify returns %v", seq, err)
		}
		if _, err := Open(copied, Options{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("event %d: Open for writing = %v", seq, err)
		}
		for _, id := range []string{a.ID, undo.ID, c.ID} {
			if _, err := r.Get(id); errors.Is(err, ErrDamaged) != slices.Contains(about[seq], id) {
				t.Errorf("event %d: Get(%s) returns %v", seq, id, err)
			}
		}
	}
}

// TestSelectiveQueries: a query by state or cause finds the entries that have it, and not one whose text contains it.
func TestSelectiveQueries(t *testing.T) {
	j := mustOpen(t, t.TempDir(), Options{})
	finish := func(cause change.Cause, s change.State) string {
		return mustFinish(t, j, mustBegin(t, j, cause, change.Op{Ref: partRef(1), Post: image("x")}), s).ID
	}
	finish(change.Cause{Kind: change.CauseScan, Text: `"state":"conflicted","cause":"salvage"`}, change.Committed)
	conflicted := finish(scanCause(), change.Conflicted)
	salvage := finish(change.Cause{Kind: change.CauseSalvage}, change.Committed)
	both := finish(change.Cause{Kind: change.CauseSalvage}, change.Conflicted)
	for _, c := range []struct {
		q    Query
		want []string
	}{{Query{State: change.Conflicted}, []string{both, conflicted}}, {Query{Cause: change.CauseSalvage}, []string{both, salvage}}} {
		if es, err := j.List(c.q); err != nil || !slices.Equal(ids(es), c.want) {
			t.Errorf("List(%+v) = %v, %v, want %v", c.q, ids(es), err, c.want)
		}
	}
}

// TestFilters: each condition of a query selects by its own field.
func TestFilters(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	add := func(hour int, by *change.Actor, kind string, cause change.Cause, session string) string {
		t.Helper()
		j, err := Open(dir, Options{Actor: by, Now: func() time.Time { return start.Add(time.Duration(hour) * time.Hour) }})
		if err != nil {
			t.Fatal(err)
		}
		defer mustClose(t, j)
		p, s := newPlan(cause, change.Op{Ref: partRef(hour), Post: image("x")})
		p.Session, s.Store.Kind = session, kind
		if hour == 3 {
			p.Operation = 1
		}
		e, err := j.Begin(p, s)
		if err != nil {
			t.Fatal(err)
		}
		return mustFinish(t, j, e, change.Committed).ID
	}
	found := func(class, rule string) []change.Finding {
		return []change.Finding{{Rule: rule, Class: class, Count: 1}}
	}
	ann := &change.Actor{User: "ann", UID: 1000, Host: "box", Channel: change.ChannelPlugin, Agent: "opencode"}
	bob := &change.Actor{User: "bob", UID: 0, Host: "box", Channel: change.ChannelCommand, Agent: "claude"}
	a := add(1, ann, "sqlite", change.Cause{Kind: change.CauseScan, Findings: found("x", "R1"), Live: true, Folder: "/p"}, "s1")
	b := add(2, bob, "lines", change.Cause{Kind: change.CauseScan, Findings: found("y", "R2"), Folder: "/p/q"}, "s2")
	old := add(3, nil, "lines", change.Cause{Kind: change.CauseScan}, "s1")
	undo := add(4, bob, "lines", change.Cause{Kind: change.CauseUndo, Entries: []uint64{2}}, "s2")
	j := mustOpen(t, dir, Options{ReadOnly: true})
	for name, c := range map[string]struct {
		q    Query
		want []string
	}{
		"all":                {Query{}, []string{undo, old, b, a}},
		"state":              {Query{State: change.Aborted}, nil},
		"in force":           {Query{InForce: true}, []string{old, a}},
		"undone":             {Query{Undone: new(true)}, []string{b}},
		"not undone":         {Query{Undone: new(false)}, []string{undo, old, a}},
		"forgotten":          {Query{Forgotten: true}, nil},
		"since":              {Query{Since: start.Add(2 * time.Hour)}, []string{undo, old, b}},
		"until":              {Query{Until: start.Add(2 * time.Hour)}, []string{a}},
		"rule":               {Query{Rules: []string{"R1"}}, []string{a}},
		"session":            {Query{Session: "s1"}, []string{old, a}},
		"sessions":           {Query{Sessions: map[string]bool{"s2": true}}, []string{undo, b}},
		"several":            {Query{Sessions: map[string]bool{"s1": true, "s2": true, "s3": true}, Before: 4, After: 1}, []string{old, b}},
		"the first":          {Query{Sessions: map[string]bool{"s1": true, "s2": true}, Limit: 1}, []string{undo}},
		"no session":         {Query{Sessions: map[string]bool{}}, nil},
		"agent":              {Query{Agent: "claude"}, []string{undo, old, b}},
		"channel":            {Query{Channel: change.ChannelPlugin}, []string{a}},
		"user":               {Query{Actor: "ann"}, []string{a}},
		"user@host":          {Query{Actor: "bob@box"}, []string{undo, b}},
		"uid":                {Query{Actor: "0"}, []string{undo, b}},
		"nobody":             {Query{Actor: "-1"}, nil},
		"user 1":             {Query{Actor: "1"}, nil},
		"operation":          {Query{Operation: 1}, []string{old, a}},
		"its own":            {Query{Operation: 2}, []string{b}},
		"joined":             {Query{Operation: 3}, nil},
		"cause":              {Query{Cause: change.CauseUndo}, []string{undo}},
		"several conditions": {Query{Agent: "claude", Limit: 1, Until: start.Add(4 * time.Hour)}, []string{old}},
	} {
		if es, err := j.List(c.q); err != nil || !slices.Equal(ids(es), c.want) {
			t.Errorf("%s: %v, %v, want %v", name, ids(es), err, c.want)
		}
	}
}

// TestEach: Each yields the entries that List returns, for a query with ids and for a damaged journal, too.
func TestEach(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir, Options{})
	a := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(1), Post: image("a")})
	b := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(2), Post: image("b")})
	c := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(3), Post: image("c")})
	each := func(j *Journal, q Query) (all []string, err error) {
		for e, errOne := range j.Each(q) {
			if err = errOne; err == nil {
				all = append(all, e.ID)
			}
		}
		return all, err
	}
	for _, test := range []struct {
		q    Query
		want []string
	}{
		{Query{}, []string{c.ID, b.ID, a.ID}},
		{Query{IDs: []string{a.ID, c.ID}}, []string{a.ID, c.ID}},
		{Query{IDs: []string{}}, nil},
		{Query{IDs: []string{a.ID, c.ID}, After: a.Seq}, []string{c.ID}},
		{Query{After: a.Seq, Before: c.Seq}, []string{b.ID}},
		{Query{Limit: 2}, []string{c.ID, b.ID}},
	} {
		es, err := j.List(test.q)
		got, errEach := each(j, test.q)
		if err != nil || errEach != nil || !slices.Equal(ids(es), test.want) || !slices.Equal(got, test.want) {
			t.Errorf("%+v: List returns %v, %v, and Each %v, %v, want %v", test.q, ids(es), err, got, errEach, test.want)
		}
	}
	for _, id := range []string{"", "op", IDOf(4)} {
		if got, err := each(j, Query{IDs: []string{a.ID, id}}); !errors.Is(err, ErrNotFound) || len(got) != 1 {
			t.Errorf("Each with the id %q: %v, %v", id, got, err)
		}
	}
	v, ok, err := j.snap().Get(bucketEvents, boltfile.U64(3)) // the beginning of b
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	before, bad := bytes.Clone(v), bytes.Clone(v)
	bad[50] ^= 1
	mustClose(t, j)
	path := filepath.Join(dir, fileName)
	file, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.ReplaceAll(file, before, bad), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, dir, Options{ReadOnly: true})
	if got, err := each(r, Query{}); !errors.Is(err, ErrDamaged) || !slices.Equal(got, []string{c.ID, b.ID, a.ID}) {
		t.Errorf("Each of a damaged journal: %v, %v", got, err)
	}
}
