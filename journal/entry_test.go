package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/change"
	"mend/internal/test/storetest"
)

func undoCause(entries ...uint64) change.Cause {
	return change.Cause{Kind: change.CauseUndo, Entries: entries}
}

func redoCause(entries ...uint64) change.Cause {
	return change.Cause{Kind: change.CauseRedo, Entries: entries}
}

// TestUndoneBy: an entry is undone by the newest committed entry that reverts all of it and is not undone itself.
func TestUndoneBy(t *testing.T) {
	type step struct {
		cause change.Cause
		state change.State
	}
	done := func(c change.Cause) step { return step{c, change.Committed} }
	for name, c := range map[string]struct {
		steps []step
		want  map[uint64]uint64
	}{
		"repair":           {[]step{done(scanCause())}, nil},
		"undone":           {[]step{done(scanCause()), done(undoCause(1))}, map[uint64]uint64{1: 2}},
		"undo aborted":     {[]step{done(scanCause()), {undoCause(1), change.Aborted}}, nil},
		"undo pending":     {[]step{done(scanCause()), {undoCause(1), change.Pending}}, nil},
		"undo conflicted":  {[]step{done(scanCause()), {undoCause(1), change.Conflicted}}, nil},
		"redone":           {[]step{done(scanCause()), done(undoCause(1)), done(redoCause(2))}, map[uint64]uint64{2: 3}},
		"undone again":     {[]step{done(scanCause()), done(undoCause(1)), done(redoCause(2)), done(undoCause(1))}, map[uint64]uint64{1: 4, 2: 3}},
		"redo undone":      {[]step{done(scanCause()), done(undoCause(1)), done(redoCause(2)), done(undoCause(3))}, map[uint64]uint64{1: 2, 3: 4}},
		"undo of an undo":  {[]step{done(scanCause()), done(undoCause(1)), done(undoCause(2))}, map[uint64]uint64{2: 3}},
		"deep":             {[]step{done(scanCause()), done(undoCause(1)), done(undoCause(2)), done(undoCause(3)), done(undoCause(4))}, map[uint64]uint64{2: 3, 4: 5}},
		"several at once":  {[]step{done(scanCause()), done(scanCause()), done(undoCause(1, 2, 1))}, map[uint64]uint64{1: 3, 2: 3}},
		"two in force":     {[]step{done(scanCause()), done(undoCause(1)), done(undoCause(1))}, map[uint64]uint64{1: 3}},
		"newest is undone": {[]step{done(scanCause()), done(undoCause(1)), done(undoCause(1)), done(redoCause(3))}, map[uint64]uint64{1: 2, 3: 4}},
		"partial undo":     {[]step{done(scanCause()), done(change.Cause{Kind: change.CauseUndo, Entries: []uint64{1}, Partial: true}), done(redoCause(2))}, map[uint64]uint64{2: 3}},
		"resolve":          {[]step{done(scanCause()), done(change.Cause{Kind: change.CauseResolve, Entries: []uint64{1}})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			j := mustOpen(t, storetest.FastDir(t), Options{})
			for i, s := range c.steps {
				e := mustBegin(t, j, s.cause, change.Op{Ref: partRef(1), Post: image(fmt.Sprint(i))})
				if s.state != change.Pending {
					mustFinish(t, j, e, s.state)
				}
			}
			all, err := j.List(Query{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				want := ""
				if by := c.want[e.Seq]; by != 0 {
					want = IDOf(by)
				}
				if e.UndoneBy != want || e.State != c.steps[e.Seq-1].state {
					t.Errorf("entry %d is %s, undone by %q, want %q", e.Seq, e.State, e.UndoneBy, want)
				}
				if one, err := j.Get(e.ID); err != nil || one.UndoneBy != e.UndoneBy {
					t.Errorf("Get(%s) is undone by %q, %v, want %q", e.ID, one.UndoneBy, err, want)
				}
			}
			inForce, err := j.List(Query{InForce: true})
			want := slices.DeleteFunc(all, func(e change.Entry) bool {
				return e.UndoneBy != "" || e.Cause.Kind == change.CauseUndo || e.Cause.Kind == change.CauseRedo
			})
			if diff := cmp.Diff(want, inForce, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("in force: %v (-want +got):\n%s", err, diff)
			}
			mustVerify(t, j)
		})
	}
}

// TestAgentOf: an entry without an agent has the first agent with that kind of store.
func TestAgentOf(t *testing.T) {
	for _, c := range []struct {
		by         *change.Actor
		kind, want string
	}{
		{&change.Actor{Agent: "codex"}, "lines", "codex"},
		{&change.Actor{}, "lines", "claude"},
		{nil, "lines", "claude"},
		{nil, "sqlite", "opencode"},
	} {
		if got := agentOf(c.by, c.kind); got != c.want {
			t.Errorf("agentOf(%+v, %s) = %s, want %s", c.by, c.kind, got, c.want)
		}
	}
}

func TestCauseOf(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	mustBegin(t, j, scanCause(), change.Op{Ref: partRef(1), Post: image("x")})
	undo := change.Cause{Kind: change.CauseUndo, Entries: []uint64{1}, Partial: true}
	mustBegin(t, j, undo, change.Op{Ref: partRef(1), Pre: image("x")})
	got, err := j.CauseOf(2)
	if diff := cmp.Diff(undo, got); err != nil || diff != "" {
		t.Errorf("CauseOf: %v, -want +got\n%s", err, diff)
	}
	if _, err := j.CauseOf(3); !errors.Is(err, ErrNotFound) {
		t.Errorf("CauseOf of a missing entry: %v", err)
	}
}

// TestStates: only a pending entry can be finished, and only a conflicted one resolved, by an entry that exists.
func TestStates(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	op := change.Op{Ref: partRef(1), Post: image("x")}
	a, b := mustBegin(t, j, scanCause(), op), mustBegin(t, j, scanCause(), op)
	var state *StateError
	if _, err := j.Resolve(a, "keep", ""); !errors.As(err, &state) || state.State != change.Pending {
		t.Errorf("Resolve of a pending entry: %v", err)
	}
	if _, err := j.Finish(a, change.Outcome{State: change.Pending}); err == nil {
		t.Error("Finish as pending: no error")
	}
	a = mustFinish(t, j, a, change.Conflicted)
	if _, err := j.Finish(a, change.Outcome{State: change.Committed}); !errors.As(err, &state) || state.ID != a.ID {
		t.Errorf("Finish twice: %v", err)
	}
	c := mustCommit(t, j, change.Cause{Kind: change.CauseResolve, Entries: []uint64{a.Seq}}, op)
	for _, bad := range [][2]string{{"", ""}, {"back", b.ID + "x"}, {"back", a.ID}, {"forward", IDOf(77)}} {
		if _, err := j.Resolve(a, bad[0], bad[1]); err == nil {
			t.Errorf("Resolve(%q): no error", bad)
		}
	}
	got, err := j.Resolve(a, "back", c.ID)
	if err != nil || got.State != change.Resolved || got.Resolved != "back by "+c.ID {
		t.Errorf("Resolve = %+v, %v", got, err)
	}
	b = mustFinish(t, j, b, change.Conflicted)
	if got, err := j.Resolve(b, "keep", ""); err != nil || got.Resolved != "keep" {
		t.Errorf("Resolve = %+v, %v", got, err)
	}
	for _, e := range []change.Entry{{}, {Seq: 1, ID: "x"}, {Seq: 99, ID: IDOf(99)}} {
		if _, err := j.Finish(e, change.Outcome{State: change.Committed}); !errors.Is(err, ErrNotFound) {
			t.Errorf("Finish(%v): %v", e, err)
		}
	}
	mustVerify(t, j)
}

// TestBeginRefuses: a refused plan leaves no event.
func TestBeginRefuses(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	op := change.Op{Ref: partRef(1), Post: image("x")}
	for name, c := range map[string]struct {
		cause change.Cause
		ops   []change.Op
		want  error
	}{
		"no ops":         {scanCause(), nil, change.ErrInvalid},
		"two on one ref": {scanCause(), []change.Op{op, op}, change.ErrInvalid},
		"no such entry":  {undoCause(1), []change.Op{op}, ErrNotFound},
		"entry 0":        {undoCause(0), []change.Op{op}, ErrNotFound},
	} {
		if _, err := j.Begin(newPlan(c.cause, c.ops...)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if r := mustVerify(t, j); r.Events != 0 {
		t.Errorf("Verify = %+v", r)
	}
}

// TestBeginFails: if Begin fails, it removes the blobs that it has written.
func TestBeginFails(t *testing.T) {
	o := crashOptions(func(what string) error {
		if what == "commit begin" {
			return errFault
		}
		return nil
	})
	j := mustOpen(t, storetest.FastDir(t), o)
	op := change.Op{Ref: partRef(1), Post: &change.Image{Data: randomBytes(1, 9000)}}
	if _, err := j.Begin(newPlan(scanCause(), op)); !errors.Is(err, errFault) {
		t.Errorf("Begin = %v", err)
	}
	if _, ok, err := j.snap().Get(bucketImages, sha256Sum(op.Post.Data)); ok || err != nil {
		t.Errorf("the image is still there: %t, %v", ok, err)
	}
	if r := mustVerify(t, j); r.Unfinished || r.Entries != 0 {
		t.Errorf("Verify = %+v", r)
	}
}

// TestQueries: a list has the entries that meet all conditions, newest first.
func TestQueries(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	other := change.StoreID{Kind: "sqlite", Root: "/b"}
	for i := range 60 {
		p, s := newPlan(scanCause(), change.Op{Ref: partRef(i % 5), Post: image(fmt.Sprint(i))})
		p.Session = fmt.Sprintf("ses_%d", i%3)
		if i%4 == 0 {
			s.Store = other
		}
		e, err := j.Begin(p, s)
		if err != nil {
			t.Fatal(err)
		}
		if i%10 != 9 {
			mustFinish(t, j, e, change.Committed)
		}
	}
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"all":             {Query{Limit: 3}, "60 59 58"},
		"before":          {Query{Limit: 2, Before: 10}, "9 8"},
		"before all":      {Query{Before: 1}, ""},
		"session":         {Query{Session: "ses_2", Limit: 3}, "60 57 54"},
		"session, before": {Query{Session: "ses_2", Before: 9}, "6 3"},
		"no session":      {Query{Session: "ses_9"}, ""},
		"pending":         {Query{State: change.Pending}, "60 50 40 30 20 10"},
		"pending, before": {Query{State: change.Pending, Before: 40, Limit: 2}, "30 20"},
		"store":           {Query{Store: &other, Limit: 3, State: change.Committed}, "57 53 49"},
		"after":           {Query{After: 55, Store: &other}, "57"},
		"all conditions":  {Query{Store: &other, State: change.Committed, Session: "ses_1", Before: 30}, "29 17 5"},
	} {
		all, err := j.List(c.q)
		if got := seqs(all); err != nil || got != c.want {
			t.Errorf("%s: List = %q, %v, want %q", name, got, err, c.want)
		}
	}
	mustVerify(t, j)
}

func seqs(all []change.Entry) string {
	var s []string
	for _, e := range all {
		s = append(s, fmt.Sprint(e.Seq))
	}
	return strings.Join(s, " ")
}

// TestTimes: the journal keeps the time of each file that is replaced or deleted.
func TestTimes(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	timed := image("b")
	timed.Time = 42
	for _, ops := range [][]change.Op{
		{{Ref: partRef(1), Post: image("a")}, {Ref: partRef(2), Pre: timed}, {Ref: partRef(3), Pre: image("c")}},
		{{Ref: partRef(1), Post: image("a")}, {Ref: partRef(3), Pre: image("c")}},
		{{Ref: partRef(2), Pre: timed}},
	} {
		got, err := j.Ops(mustCommit(t, j, scanCause(), ops...))
		if err != nil || len(got) != len(ops) {
			t.Fatalf("Ops = %v, %v", got, err)
		}
		for i, o := range ops {
			if !got[i].Pre.Equal(o.Pre) || o.Pre != nil && got[i].Pre.Time != o.Pre.Time {
				t.Errorf("op %d of %d: %+v, want %+v", i, len(ops), got[i].Pre, o.Pre)
			}
		}
	}
}

// TestIDPrefixes: Get finds the one entry whose id begins with the text, and names all ids if there are several.
func TestIDPrefixes(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	for i := range 40 {
		mustBegin(t, j, scanCause(), change.Op{Ref: partRef(i), Post: image("x")})
	}
	for seq := uint64(1); seq <= 40; seq++ {
		id := IDOf(seq)
		for n := 1; n <= len(id); n++ {
			fit := 0
			for other := uint64(1); other <= 40; other++ {
				if strings.HasPrefix(IDOf(other), id[:n]) {
					fit++
				}
			}
			e, err := j.Get(id[:n])
			var many *AmbiguousError
			if fit == 1 && (err != nil || e.Seq != seq) || fit > 1 && (!errors.As(err, &many) || len(many.IDs) != fit) {
				t.Errorf("Get(%q) = %d, %v, and %d ids begin so", id[:n], e.Seq, err, fit)
			}
		}
	}
	for _, bad := range []string{"", "x?", IDOf(41), IDOf(0), IDOf(1) + "ba"} {
		if _, err := j.Get(bad); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%q): %v", bad, err)
		}
	}
}

// TestAppendPoint: an entry has the point at which its change appends. Earlier versions recorded the point in the name of
// the folder.
func TestAppendPoint(t *testing.T) {
	begin := func(j *Journal, kind, dir string, p *change.AppendPoint) change.Entry {
		t.Helper()
		plan, st := newPlan(scanCause(), change.Op{Ref: partRef(1), Post: image("x")})
		st.Store.Kind, st.Dir, st.Append = kind, dir, p
		e, err := j.Begin(plan, st)
		if err != nil {
			t.Fatal(err)
		}
		e, err = j.Get(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	j := mustOpen(t, storetest.FastDir(t), Options{})
	for _, c := range []struct {
		kind, dir string
		set, want *change.AppendPoint
	}{
		{"lines", ".mend/own/append-12-34", nil, &change.AppendPoint{Size: 12, Mtime: 34}},
		{"lines", ".mend/own/append-12-34", &change.AppendPoint{Size: 5, Mtime: 6}, &change.AppendPoint{Size: 5, Mtime: 6}},
		{"lines", ".mend/own/append-12--34", nil, &change.AppendPoint{Size: 12, Mtime: -34}},
		{"lines", ".mend/own/12", nil, nil},
		{"lines", "", nil, nil},
		{"json", ".mend/own/append-12-34", nil, nil},
	} {
		e := begin(j, c.kind, c.dir, c.set)
		if diff := cmp.Diff(c.want, e.Append); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.kind, c.dir, diff)
		}
		if st := e.Staged(e.Store, nil); st.Append != e.Append || st.Dir != c.dir {
			t.Errorf("%s %q: Staged = %+v", c.kind, c.dir, st)
		}
	}
}
