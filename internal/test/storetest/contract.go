package storetest

import (
	"context"
	"iter"
	"maps"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/jsonedit"
)

// A Store is txn.Store, declared again so that no store has to import txn.
type Store interface {
	Prepare(ctx context.Context, p change.Plan) (change.Staged, error)
	Commit(ctx context.Context, s change.Staged) (change.Outcome, error)
	Settle(ctx context.Context, s change.Staged) (change.Outcome, error)
	Discard(ctx context.Context, s change.Staged) error
}

// A Harness gives the tests access to a new store, which always has the same session: a message with three or more parts, one
// of them a text that is not the last part, and a message without parts. The functions end the test if they fail.
type Harness struct {
	// Open opens the store as a new process would. The store calls step before every
	// call that changes the disk, and does not make that call if step returns an error.
	// step may be nil.
	Open func(step func(call string) error) Store
	// Records reads the session's records and the files beside them: each message,
	// followed by its parts.
	Records func() iter.Seq[*change.Record]
	// Read returns the current content of a record, nil if it does not exist.
	Read func(ref change.Ref) *change.Image
	// Snapshot returns everything that is stored, by name: the bytes and modes of files and folders, or the
	// columns of rows with their storage classes. It omits staged data.
	Snapshot func() map[string]string
	// Leftovers lists staged data.
	Leftovers func() []string
	// Write writes the image to a record, or removes it for nil, as another program would. It creates the
	// folder if necessary.
	Write func(ref change.Ref, image *change.Image)
	// Slow means that a plain run of the sweeps over two cuts has only the cuts of [Includes].
	Slow bool
}

// Run tests one store. It calls open often: a store in memory is faster.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, c *contract)
	}{
		{"Commit", testCommit},
		{"Inverse", testInverse},
		{"PrepareInvalid", testPrepareInvalid},
		{"PrepareConflict", testPrepareConflict},
		{"CommitConflict", testCommitConflict},
		{"Cancel", testCancel},
		{"CrashAtEveryStep", testCrash},
		{"FailAtEveryStep", testFail},
		{"CrashInSettle", testCrashInSettle},
		{"CrashInInverse", testCrashInInverse},
		{"ForeignAfterCrash", testForeignAfterCrash},
		{"SettleAfterDiscard", testSettleAfterDiscard},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, newContract(t, open)) })
	}
}

// A contract has a function that opens new stores, the ops of a plan, and the content of a store before and after them.
type contract struct {
	open          func(t *testing.T) Harness
	slow          bool // see [Harness]
	ops           []change.Op
	before, after map[string]string
}

// includes reports whether a sweep over two cuts includes call k.
func (c *contract) includes(k int) bool { return !c.slow || Includes(k) }

func newContract(t *testing.T, open func(t *testing.T) Harness) *contract {
	h := open(t)
	c := &contract{open: open, slow: h.Slow, ops: planOps(t, h.Records()), before: h.Snapshot()}
	st := h.Open(nil)
	Apply(t, st, c.ops)
	c.after = h.Snapshot()
	for _, o := range c.ops {
		if got := h.Read(o.Ref); !got.Equal(o.Post) {
			t.Fatalf("after Commit %v %s holds %s, want %s", o.Ref.Kind, o.Ref, imageString(got), imageString(o.Post))
		}
	}
	if maps.Equal(c.before, c.after) {
		t.Fatal("Commit changed nothing")
	}
	return c
}

// planOps returns ops of every kind: they replace a message and a part, create a part beside others and a part in a message
// without parts, delete a part, and move every file beside the records away.
func planOps(t *testing.T, records iter.Seq[*change.Record]) []change.Op {
	t.Helper()
	var messages []*change.Record
	parts := map[string][]*change.Record{}
	files := 0
	for r := range records {
		switch r.Ref.Kind {
		case change.KindMessage:
			messages = append(messages, r)
		case change.KindPart:
			parts[r.Ref.Message] = append(parts[r.Ref.Message], r)
		case change.KindFile:
			files++
		case change.KindSession, change.KindFolder, change.KindProject, change.KindEvents, change.KindDatabase, change.KindIndex, change.KindRows, change.KindTree, change.KindTranscript, change.KindHistory:
		}
	}
	full := slices.IndexFunc(messages, func(m *change.Record) bool { return len(parts[m.Ref.Message]) >= 3 })
	empty := slices.IndexFunc(messages, func(m *change.Record) bool { return len(parts[m.Ref.Message]) == 0 })
	if full < 0 || empty < 0 {
		t.Fatal("the session of the harness has no message with three parts, or no message without parts")
	}
	own := parts[messages[full].Ref.Message]
	first, last := own[0].Ref.Part, own[len(own)-1].Ref
	text := slices.IndexFunc(own, isText)
	if text < 0 || text == len(own)-1 {
		t.Fatal("the message of the harness has no text before its last part")
	}
	ops := edit(t, records, func(r *change.Record) bool {
		switch r.Ref {
		case messages[full].Ref:
			set(t, r, "note", "by the contract")
		case own[text].Ref:
			set(t, r, "text", "replaced")
		}
		return r.Ref != last && r.Ref.Kind != change.KindFile
	}, newPart(t, own[text], messages[full].Ref, first+"0", "created beside others"), newPart(t, own[text], messages[empty].Ref, first+"1", "created alone"))
	if want := 5 + files; len(ops) != want {
		t.Fatalf("the plan has %d ops, want %d", len(ops), want)
	}
	return ops
}

// foreignImage returns an image that another program could write to the record of o.
func foreignImage(t *testing.T, o change.Op) *change.Image {
	t.Helper()
	base := o.Pre
	if base == nil {
		base = o.Post
	}
	r := change.Record{Ref: o.Ref, Data: base.Data, Mode: base.Mode}
	var err error
	if base.Mode == 0 {
		if r, err = change.RowOf(o.Ref, base); err != nil {
			t.Fatal(err)
		}
	}
	if r.Data, err = jsonedit.Set(r.Data, jsonedit.Quote("another program"), "writer"); err != nil {
		t.Fatal(err)
	}
	return change.ImageOf(&r)
}

// foreignWrites returns the images that another program could write to the record of o, by verb, nil for a deletion.
func foreignWrites(t *testing.T, o change.Op) map[string]*change.Image {
	writes := map[string]*change.Image{"writes": foreignImage(t, o)}
	if o.Pre != nil {
		writes["deletes"] = nil
	}
	return writes
}

// settle calls Settle twice, checks that both outcomes are the same, and returns the outcome.
func settle(t *testing.T, h Harness, st Store, staged change.Staged) change.Outcome {
	t.Helper()
	first, err := st.Settle(t.Context(), staged)
	if err != nil {
		t.Fatalf("Settle = %v", err)
	}
	snapshot := h.Snapshot()
	second, err := st.Settle(context.Background(), staged)
	if err != nil {
		t.Fatalf("second Settle = %v", err)
	}
	if first.State != second.State || !sameRefs(first.Conflicts, second.Conflicts) || !reflect.DeepEqual(first.Kept, second.Kept) {
		t.Fatalf("second Settle = %+v, the first was %+v", second, first)
	}
	wantSnapshot(t, "after the second Settle", h.Snapshot(), snapshot)
	return first
}

func sameRefs(a, b []change.Conflict) bool {
	return slices.EqualFunc(a, b, func(a, b change.Conflict) bool { return a.Ref == b.Ref })
}

// want checks that the store has the content of the state.
func (c *contract) want(t *testing.T, h Harness, state change.State) {
	t.Helper()
	switch state {
	case change.Committed:
		wantSnapshot(t, "committed", h.Snapshot(), c.after)
	case change.Aborted:
		wantSnapshot(t, "aborted", h.Snapshot(), c.before)
	default:
		t.Fatalf("the outcome is %q, want %s or %s", state, change.Committed, change.Aborted)
	}
}

func wantSnapshot(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("%s: the store (-want +got):\n%s", when, gocmp.Diff(want, got))
	}
}

func wantNoLeftovers(t *testing.T, h Harness) {
	t.Helper()
	if l := h.Leftovers(); len(l) > 0 {
		t.Fatalf("left over: %q", l)
	}
}

func imageString(i *change.Image) string {
	if i == nil {
		return "nothing"
	}
	return i.Mode.String() + " " + string(i.Data)
}

// conflictOn returns the conflict on ref, or nil.
func conflictOn(conflicts []change.Conflict, ref change.Ref) *change.Conflict {
	for i := range conflicts {
		if conflicts[i].Ref == ref {
			return &conflicts[i]
		}
	}
	return nil
}
