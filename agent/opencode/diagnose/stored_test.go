package diagnose

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/database"
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/provider/anthropic"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// A stored session is a fixture in its store.
type stored struct {
	t    *testing.T
	path string // of the store
	id   string
}

// unpack returns the fixture of a version, given by its number, after damage.
func unpack(t *testing.T, version int, apply func(damage.Store)) stored {
	t.Helper()
	dir := storetest.FastDir(t)
	archive := [][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833}[version]
	id, err := testdata.Unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	st := stored{t, filepath.Join(dir, "opencode", "opencode.db"), id}
	if _, err := os.Stat(st.path); err != nil {
		st.path = filepath.Join(dir, "opencode", "storage")
	}
	damage.Edit(t, st.path, id, apply)
	return st
}

// A store is a tree or a database.
type store interface {
	storetest.Store
	List(ctx context.Context) ([]change.Head, error)
	Load(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error)
}

func (st stored) open() store {
	st.t.Helper()
	var s store
	var err error
	if strings.HasSuffix(st.path, ".db") {
		s, err = database.Open(st.path, database.Options{})
	} else {
		s, err = tree.Open(st.path, false, tree.Options{Owner: "test"})
	}
	if err != nil {
		st.t.Fatal(err)
	}
	return s
}

// load loads the session as a scan does.
func (st stored) load() *record.Session {
	st.t.Helper()
	store := st.open()
	heads, err := store.List(st.t.Context())
	if err != nil {
		st.t.Fatal(err)
	}
	i := slices.IndexFunc(heads, func(h change.Head) bool { return h.ID == st.id })
	s, _, err := store.Load(st.t.Context(), heads[i])
	if err != nil {
		st.t.Fatal(err)
	}
	return s
}

// apply applies ops. It returns them together with the ops that the store added.
func (st stored) apply(ops []change.Op) []change.Op {
	st.t.Helper()
	store := st.open()
	staged, err := store.Prepare(st.t.Context(), change.Plan{Ops: ops})
	if err != nil {
		st.t.Fatal(err)
	}
	out, err := store.Commit(st.t.Context(), staged)
	if err != nil || out.State != change.Committed {
		st.t.Fatalf("Commit = %+v, %v", out, err)
	}
	if err := store.Discard(st.t.Context(), staged); err != nil {
		st.t.Fatal(err)
	}
	return staged.Ops
}

// wantUndone stores the changed session, undoes the change, and checks that every stored byte is as before.
func (st stored) wantUndone(before, after *record.Session) {
	st.t.Helper()
	damaged := st.snapshot()
	ops := st.apply(change.Diff(before.AllRecords, after.AllRecords))
	if diff := cmp.Diff(records(after), records(st.load())); diff != "" {
		st.t.Errorf("the stored session differs from the plan (-want +got):\n%s", diff)
	}
	st.apply(change.Inverse(ops))
	if diff := cmp.Diff(damaged, st.snapshot()); diff != "" {
		st.t.Errorf("after undo (-want +got):\n%s", diff)
	}
}

func (st stored) snapshot() map[string]string {
	st.t.Helper()
	all, err := damage.Snapshot(st.path)
	if err != nil {
		st.t.Fatal(err)
	}
	return all
}

// faults counts the findings of each code in a session, by profile and thinking. It also returns the first finding of a
// code.
func faults(s *record.Session, code string) (counts map[string]int, first finding) {
	counts = map[string]int{}
	for _, p := range render.Profiles() {
		for _, thinking := range []bool{true, false} {
			for _, v := range render.Check(anthropic.Provider{}, render.Render(s, render.Settings{Profile: p}), thinking) {
				counts[fmt.Sprint(p.Version, " ", thinking, " ", v.Rule)]++
				if v.Rule == code && first.Code == "" && len(v.Refs) > 0 {
					first = finding{Code: v.Rule, Ref: v.Refs[0], Text: v.Message}
				}
			}
		}
		for _, f := range render.Read(s).Screen(p) {
			counts[fmt.Sprint(p.Version, " ", f.Code)]++
		}
	}
	return counts, first
}

// applyFixes returns the session after the first fix that removes the findings of a code and adds no finding, nil if
// there is no such fix.
func applyFixes(s *record.Session, code string, fixes func(*record.Session, finding) []repair.Fix) *record.Session {
	before, f := faults(s, code)
	for _, x := range fixes(s, f) {
		d := draftOf(s)
		if err := x.Edit(d); err != nil {
			continue
		}
		d.arrange()
		after, left := faults(d.s, code)
		worse := func(k string) bool { return after[k] > before[k] }
		if left.Code == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(after)), worse) {
			return d.s
		}
	}
	return nil
}

// allFixes returns the agent's own fixes and the engine's fixes of a finding.
func allFixes(s *record.Session, f finding) (all []repair.Fix) {
	found, _ := New(s, repair.Request{}, Environment{}).Fixes(f)
	for _, x := range found {
		all = append(all, repair.Fix{Text: x.Text, Edit: draftEdit(func(d *draft) error { return x.Edit(d) })})
	}
	return all
}
