package undo_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/undo"
)

func partRef(id string) change.Ref {
	return change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: id}
}

var (
	message = change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}
	folder  = change.Ref{Kind: change.KindFolder, Session: "ses_1", Message: "msg_1"}
)

func image(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: 0o644} }

// storedRefs returns a session of one message with the given parts.
func storedRefs(ids ...string) []change.Ref {
	refs := []change.Ref{{Kind: change.KindSession, Session: "ses_1"}, message}
	for _, id := range ids {
		refs = append(refs, partRef(id))
	}
	return refs
}

// TestRevert: two changes in a row are reverted by one list of ops. Changes with a gap are a conflict.
func TestRevert(t *testing.T) {
	ops, err := undo.Revert(
		[]change.Op{{Ref: folder, Post: image("")}, {Ref: partRef("prt_1"), Post: image("a")}},
		[]change.Op{{Ref: partRef("prt_1"), Pre: image("a"), Post: image("b")}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []change.Op{{Ref: partRef("prt_1"), Pre: image("b")}, {Ref: folder, Pre: image("")}}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("Revert (-want +got):\n%s", diff)
	}
	_, err = undo.Revert(
		[]change.Op{{Ref: partRef("prt_1"), Post: image("a")}},
		[]change.Op{{Ref: partRef("prt_1"), Pre: image("x"), Post: image("b")}},
	)
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("Revert over another change: %v, want a conflict", err)
	}
}

// TestConflicts: a record that holds neither the image after the change nor the image before it is a conflict.
func TestConflicts(t *testing.T) {
	changed := change.Op{Ref: partRef("prt_1"), Pre: image("new"), Post: image("old")}
	restored := change.Op{Ref: partRef("prt_1"), Post: image("old")}
	removed := change.Op{Ref: partRef("prt_1"), Pre: image("new")}
	for _, c := range []struct {
		name    string
		op      change.Op
		now     *change.Image
		current []change.Ref
		want    string
	}{
		{"as the repair left it", changed, image("new"), storedRefs("prt_1"), ""},
		{"restored by hand already", changed, image("old"), storedRefs("prt_1"), ""},
		{"other bytes", changed, image("x"), storedRefs("prt_1"), "changed since"},
		{"other mode", changed, &change.Image{Data: []byte("new"), Mode: 0o600}, storedRefs("prt_1"), "changed since"},
		{"deleted", changed, nil, storedRefs(), "deleted since"},
		{"deleted part is still deleted", restored, nil, storedRefs(), ""},
		{"deleted part came back", restored, image("x"), storedRefs("prt_1"), "created again after the repair"},
		{"its message was deleted", restored, nil, []change.Ref{{Kind: change.KindSession, Session: "ses_1"}}, "its message was deleted"},
		{"its session was deleted", restored, nil, nil, "its session was deleted"},
		{"created part exists", removed, image("new"), storedRefs("prt_1"), ""},
		{"created part is deleted already", removed, nil, storedRefs(), ""},
		{"folder", change.Op{Ref: folder, Pre: image("")}, nil, nil, ""},
		{"created message", change.Op{Ref: message, Pre: image("m")}, image("m"), storedRefs(), ""},
		{"created message has parts", change.Op{Ref: message, Pre: image("m")}, image("m"), storedRefs("prt_9"), "it got parts after the repair"},
	} {
		ops := []change.Op{c.op}
		got := undo.Conflicts(ops, []*change.Image{c.now}, c.current)
		if fromNil := undo.Conflicts(ops, []*change.Image{c.now}, nil); !undo.NeedsSession(ops) && !cmp.Equal(got, fromNil) {
			t.Errorf("%s: conflicts %v, and without the session %v", c.name, got, fromNil)
		}
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: conflict %q, want none", c.name, got[0].Why)
		case c.want != "" && (len(got) != 1 || got[0].Why != c.want):
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		case c.want != "" && (!got[0].Pre.Equal(c.op.Post) || !got[0].Post.Equal(c.op.Pre) || !got[0].Now.Equal(c.now)):
			t.Errorf("%s: %+v, want the images before the repair, after it, and now", c.name, got[0])
		}
	}
}

// TestConflictsOfMove: a record that is at neither end of the move would exist twice after the undo.
func TestConflictsOfMove(t *testing.T) {
	for _, kind := range []change.Kind{change.KindSession, change.KindFile} {
		from := change.Ref{Kind: kind, Project: "old", Session: "ses_1", Part: "a"}
		if kind == change.KindSession {
			from.Part = ""
		}
		to := from
		to.Project = "new"
		ops := []change.Op{{Ref: from, Post: image("a")}, {Ref: to, Pre: image("b")}}
		for _, c := range []struct {
			name     string
			from, to *change.Image
			want     int
		}{
			{"as the move left it", nil, image("b"), 0},
			{"at neither end", nil, nil, 1},
			{"moved back by hand", image("a"), nil, 0},
			{"copied back by hand", image("a"), image("b"), 0},
			{"changed since", nil, image("c"), 1},
		} {
			got := undo.Conflicts(ops, []*change.Image{c.from, c.to}, storedRefs())
			if len(got) != c.want || len(got) > 0 && got[0].Ref != to {
				t.Errorf("%v, %s: conflicts %v, want %d", kind, c.name, got, c.want)
			}
		}
	}
}

// TestSelect: an op is selected by its id, with the folders that it needs, and once.
func TestSelect(t *testing.T) {
	ops := []change.Op{
		{Ref: folder, Post: image("")}, {Ref: partRef("prt_1"), Post: image("a")}, {Ref: partRef("prt_2"), Post: image("b")},
	}
	for _, name := range []string{"prt_2", "msg_1/prt_2"} {
		got, err := undo.Select(ops, []string{name, name})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]change.Op{ops[0], ops[2]}, got); diff != "" {
			t.Errorf("Select(%s) (-want +got):\n%s", name, diff)
		}
	}
	if _, err := undo.Select(ops, []string{"prt_9"}); err == nil {
		t.Error("Select of a record that the change does not have: no error")
	}
}

// TestAddColumns: a row keeps the columns that its table got since, and a restored row gets their defaults.
func TestAddColumns(t *testing.T) {
	row := func(cols ...string) *change.Image {
		r := change.Record{Ref: partRef("prt_1"), Data: []byte(cols[0])}
		all := []change.Col{}
		for i := 1; i < len(cols); i += 2 {
			all = append(all, change.Col{Name: cols[i], Class: change.ClassText, Bytes: []byte(cols[i+1])})
		}
		r.Cols = change.NewCols(all...)
		return change.ImageOf(&r)
	}
	for _, c := range []struct {
		name                     string
		pre, now, want, wantPost *change.Image
	}{
		{"no new column", row("new", "id", "1"), row("x", "id", "1"), row("new", "id", "1"), row("old", "id", "1")},
		{"a new column", row("new", "id", "1"), row("new", "id", "1", "a", "2"), row("new", "id", "1", "a", "2"), row("old", "id", "1", "a", "2")},
		{"a new column and other changes", row("new", "id", "1"), row("x", "a", "2", "id", "3"), row("new", "a", "2", "id", "1"), row("old", "a", "2", "id", "1")},
		{"a missing column", row("new", "id", "1"), row("new", "a", "2"), row("new", "id", "1"), row("old", "id", "1")},
		{"created again since", nil, row("new", "id", "1", "a", "2"), nil, row("old", "id", "1", "a", "2")},
		{"deleted since", row("new", "id", "1"), nil, row("new", "id", "1"), row("old", "id", "1", "b", "5")},
		{"deleted by the change", nil, nil, nil, row("old", "id", "1", "b", "5")},
		{"a file", image("new"), image("x"), image("new"), row("old", "id", "1")},
	} {
		op := change.Op{Ref: partRef("prt_1"), Pre: c.pre, Post: row("old", "id", "1")}
		defaults := map[change.Kind]change.Record{change.KindPart: {Cols: change.NewCols(
			change.Col{Name: "id"}, change.Col{Name: "b", Class: change.ClassText, Bytes: []byte("5")}, change.Col{Name: "must be given"})}}
		got := undo.AddColumns([]change.Op{op}, []*change.Image{c.now}, defaults)[0]
		if !got.Pre.Equal(c.want) || !got.Post.Equal(c.wantPost) {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got.Pre, got.Post, c.want, c.wantPost)
		}
	}
}

// TestRebase: an op applies to what the record holds now, and an op that is already done goes.
func TestRebase(t *testing.T) {
	ops := []change.Op{
		{Ref: partRef("prt_1"), Pre: image("new"), Post: image("old")},
		{Ref: partRef("prt_2"), Pre: image("new"), Post: image("old")},
	}
	got := undo.Rebase(ops, []*change.Image{image("x"), image("old")})
	want := []change.Op{{Ref: partRef("prt_1"), Pre: image("x"), Post: image("old")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Rebase (-want +got):\n%s", diff)
	}
}

// TestRebaseLines: lines that the agent appended to a session stay. A session that changed in another way is a conflict.
func TestRebaseLines(t *testing.T) {
	ref := change.Ref{Kind: change.KindSession, Session: "ses_1"}
	for _, c := range []struct{ pre, post, now, want string }{
		{"a\n", "a\nb\n", "a\nc\n", "a\nb\nc\n"},
		{"a\nb\n", "a\n", "a\nb\nc\n", "a\nc\n"},
		{"a\n", "x\nt", "a\nc\n", "x\nt\nc\n"},
		{"a\n", "x\nt", "a\n", "x\nt"},
		{"a\n", "", "a\nc\n", "c\n"},
		{"a\n", "a\nb\n", "a\nb\nc\n", ""},           // already done
		{"a\nb\n", "a\n", "a\nc\n", "changed since"}, // the line was replaced
		{"a", "b", "a\nc", "changed since"},          // a file without lines
		{"a\n", "b\n", "c\na\n", "changed since"},
	} {
		ops, now := []change.Op{{Ref: ref, Pre: image(c.pre), Post: image(c.post)}}, []*change.Image{image(c.now)}
		if cs := undo.Conflicts(ops, now, nil); len(cs) > 0 {
			if cs[0].Why != c.want {
				t.Errorf("%q -> %q of %q: conflict %q, want %q", c.pre, c.post, c.now, cs[0].Why, c.want)
			}
			continue
		}
		want := []change.Op{{Ref: ref, Pre: image(c.now), Post: image(c.want)}}
		if c.want == "" {
			want = []change.Op{}
		}
		if diff := cmp.Diff(want, undo.Rebase(ops, now)); diff != "" {
			t.Errorf("%q -> %q of %q (-want +got):\n%s", c.pre, c.post, c.now, diff)
		}
	}
	gone := []change.Op{{Ref: ref, Pre: image("a\n")}}
	if cs := undo.Conflicts(gone, []*change.Image{image("a\nb\n")}, nil); len(cs) != 1 {
		t.Errorf("deleting a session that has continued: conflicts %v, want one", cs)
	}
}

// TestMoves: ops move a session if they create it in one project and delete it in another.
func TestMoves(t *testing.T) {
	old := change.Ref{Kind: change.KindSession, Project: "old", Session: "ses_1"}
	moved := old
	moved.Project = "new"
	for _, c := range []struct {
		ops  []change.Op
		want bool
	}{
		{[]change.Op{{Ref: old, Post: image("a")}, {Ref: moved, Pre: image("a")}}, true},
		{[]change.Op{{Ref: old, Post: image("a")}}, false},
		{[]change.Op{{Ref: old, Pre: image("a")}, {Ref: partRef("prt_1"), Post: image("a")}}, false},
		{[]change.Op{{Ref: old, Pre: image("a"), Post: image("b")}}, false},
	} {
		if got := undo.Moves(c.ops); got != c.want {
			t.Errorf("Moves(%v) = %t, want %t", c.ops, got, c.want)
		}
	}
}

// TestConflictsOfManyOps: 100,000 deleted records are compared in linear time. Comparing each of them with all ops would
// take minutes.
func TestConflictsOfManyOps(t *testing.T) {
	var ops []change.Op
	for i := range 100_000 {
		ref := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: fmt.Sprintf("msg_%d", i/10), Part: fmt.Sprintf("prt_%d", i)}
		if i%10 == 0 {
			ops = append(ops, change.Op{Ref: change.Ref{Kind: change.KindMessage, Session: ref.Session, Message: ref.Message}, Pre: image("m")})
		}
		ops = append(ops, change.Op{Ref: ref, Pre: image("p"), Post: image("q")})
	}
	begin := time.Now()
	if cs := undo.Conflicts(ops, make([]*change.Image, len(ops)), storedRefs()); len(cs) != 100_000 {
		t.Errorf("%d conflicts, want one for each part", len(cs))
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("Conflicts took %v, want at most 10 s", took)
	}
}

// TestConflictsWithinOps: records that the ops themselves create and delete are taken into account.
func TestConflictsWithinOps(t *testing.T) {
	session := change.Ref{Kind: change.KindSession, Session: "ses_1"}
	project := change.Ref{Kind: change.KindProject, Project: "p"}
	tree := change.Ref{Kind: change.KindTree, Project: "snapshot", Part: "p"}
	part := partRef("prt_1")
	other := part
	other.Message = "msg_2"
	empty := []change.Ref{session}
	for _, c := range []struct {
		name    string
		ops     []change.Op
		now     []*change.Image
		current []change.Ref
		want    string // why the last op is a conflict; "" for no conflict
	}{
		{"a message with its part", []change.Op{{Ref: message, Post: image("m")}, {Ref: part, Post: image("p")}}, make([]*change.Image, 2), empty, ""},
		{"another message than the part's", []change.Op{{Ref: message, Post: image("m")}, {Ref: other, Post: image("p")}}, make([]*change.Image, 2), empty, "its message was deleted"},
		{"a part of a message that is deleted", []change.Op{{Ref: message, Pre: image("m")}, {Ref: part, Post: image("p")}}, []*change.Image{image("m"), nil}, empty, "its message was deleted"},
		{"a message and all its parts", []change.Op{{Ref: part, Pre: image("p")}, {Ref: message, Pre: image("m")}}, []*change.Image{image("p"), image("m")}, storedRefs("prt_1"), ""},
		{"a message and some of its parts", []change.Op{{Ref: part, Pre: image("p")}, {Ref: message, Pre: image("m")}}, []*change.Image{image("p"), image("m")}, storedRefs("prt_1", "prt_2"), "it got parts after the repair"},
		{"a message that is changed keeps its parts", []change.Op{{Ref: message, Pre: image("m"), Post: image("n")}}, []*change.Image{image("m")}, storedRefs("prt_1"), ""},
		{"a session with a message", []change.Op{{Ref: session, Post: image("s")}, {Ref: message, Post: image("m")}}, make([]*change.Image, 2), nil, ""},
		{"a message of a session that is deleted", []change.Op{{Ref: session, Pre: image("s")}, {Ref: message, Post: image("m")}}, []*change.Image{image("s"), nil}, nil, "its session was deleted"},
		{"a project has no session", []change.Op{{Ref: project, Post: image("p")}}, make([]*change.Image, 1), nil, ""},
		{"a folder beside the database has no session", []change.Op{{Ref: tree, Post: image("p")}}, make([]*change.Image, 1), nil, ""},
		{"a part that exists already", []change.Op{{Ref: part, Post: image("p")}}, []*change.Image{image("p")}, empty, ""},
		{"a message that is deleted already", []change.Op{{Ref: message, Pre: image("m")}}, make([]*change.Image, 1), storedRefs("prt_2"), ""},
	} {
		got := undo.Conflicts(c.ops, c.now, c.current)
		switch {
		case c.want == "" && len(got) > 0, c.want != "" && (len(got) != 1 || got[0].Why != c.want || got[0].Ref != c.ops[len(c.ops)-1].Ref):
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}

// TestNeedsSession: Conflicts needs the refs of the session if an op creates or deletes a message or a part, or creates a
// file while no op writes the session.
func TestNeedsSession(t *testing.T) {
	session := change.Ref{Kind: change.KindSession, Session: "ses_1"}
	file := change.Ref{Kind: change.KindFile, Session: "ses_1", Part: "a"}
	create := func(r change.Ref) change.Op { return change.Op{Ref: r, Post: image("x")} }
	remove := func(r change.Ref) change.Op { return change.Op{Ref: r, Pre: image("x")} }
	replace := func(r change.Ref) change.Op { return change.Op{Ref: r, Pre: image("x"), Post: image("y")} }
	for _, c := range []struct {
		op    change.Op
		alone bool // NeedsSession of the op alone
		with  bool // NeedsSession after an op that creates or changes the session
	}{
		{create(partRef("p")), true, true},
		{remove(partRef("p")), true, true},
		{replace(partRef("p")), false, false},
		{create(message), true, true},
		{create(file), true, false},
		{remove(file), false, false},
		{replace(file), false, false},
		{create(session), false, false},
		{remove(session), false, false},
		{create(folder), false, false},
		{create(change.Ref{Kind: change.KindProject, Project: "p"}), false, false},
		{create(change.Ref{Kind: change.KindTree, Project: "s", Part: "p"}), false, false},
		{create(change.Ref{Kind: change.KindIndex, Session: "ses_1"}), true, true},
	} {
		if got := undo.NeedsSession([]change.Op{c.op}); got != c.alone {
			t.Errorf("%v %s %s: %t, want %t", c.op.Ref.Kind, c.op.Verb(), c.op.Ref, got, c.alone)
		}
		for _, s := range []change.Op{create(session), replace(session)} {
			if got := undo.NeedsSession([]change.Op{s, c.op}); got != c.with {
				t.Errorf("with the session, %v %s %s: %t, want %t", c.op.Ref.Kind, c.op.Verb(), c.op.Ref, got, c.with)
			}
		}
		if got := undo.NeedsSession([]change.Op{remove(session), c.op}); got != c.alone {
			t.Errorf("without the session, %v %s %s: %t, want %t", c.op.Ref.Kind, c.op.Verb(), c.op.Ref, got, c.alone)
		}
	}
}

// TestSelectFolders: a part is selected with the folders of its message, and without those of other messages.
func TestSelectFolders(t *testing.T) {
	other, otherFolder := partRef("prt_9"), folder
	other.Message, otherFolder.Message = "msg_2", "msg_2"
	ops := []change.Op{{Ref: folder, Post: image("")}, {Ref: otherFolder, Post: image("")}, {Ref: partRef("prt_1"), Post: image("a")}, {Ref: other, Post: image("b")}}
	got, err := undo.Select(ops, []string{"prt_9"})
	if diff := cmp.Diff([]change.Op{ops[1], ops[3]}, got); err != nil || diff != "" {
		t.Errorf("Select, %v (-want +got):\n%s", err, diff)
	}
	if got, err := undo.Select(ops, []string{"msg_2"}); err == nil {
		t.Errorf("the id of a folder selects %v", got)
	}
	if got, err := undo.Select(ops[2:], []string{"prt_1"}); err != nil || len(got) != 1 { // the first op
		t.Errorf("Select = %v, %v", got, err)
	}
}

// TestRebaseFolders: an op that creates an existing folder or deletes a missing one goes, whatever the mode.
func TestRebaseFolders(t *testing.T) {
	create, remove := change.Op{Ref: folder, Post: image("")}, change.Op{Ref: folder, Pre: image("")}
	exists := &change.Image{Mode: 0o700}
	for _, c := range []struct {
		op   change.Op
		now  *change.Image
		want int
	}{{create, nil, 1}, {create, exists, 0}, {remove, nil, 0}, {remove, exists, 1}} {
		got := undo.Rebase([]change.Op{c.op}, []*change.Image{c.now})
		if len(got) != c.want || c.want == 1 && !got[0].Pre.Equal(c.op.Pre) {
			t.Errorf("%s with %v: %v, want %d", c.op.Verb(), c.now, got, c.want)
		}
	}
}
