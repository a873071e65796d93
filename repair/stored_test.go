package repair

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

	"mend/agent/opencode/render"
	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/storetest"
	"mend/internal/wound"
	"mend/journal"
	"mend/provider/anthropic"
	"mend/session"
	"mend/sqlstore"
	"mend/testdata"
	"mend/txn"
)

// A stored session is a fixture in its store, with a journal beside it.
type stored struct {
	t       *testing.T
	path    string // of the store
	id      string
	journal string
}

// unpack is the fixture of a version, by number, after a wound.
func unpack(t *testing.T, version int, cut func(wound.Store)) stored {
	t.Helper()
	dir := storetest.FastDir(t)
	archive := [][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833}[version]
	id, err := testdata.Unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	st := stored{t, filepath.Join(dir, "opencode", "opencode.db"), id, filepath.Join(dir, "journal")}
	if _, err := os.Stat(st.path); err != nil {
		st.path = filepath.Join(dir, "opencode", "storage")
	}
	wound.Into(t, st.path, id, cut)
	return st
}

// open calls f with the store and its journal.
func (st stored) open(f func(journal *journal.Journal, store txn.Store, load func() (*session.Session, error)) error) {
	st.t.Helper()
	j, err := journal.Open(st.journal, journal.Options{})
	if err != nil {
		st.t.Fatal(err)
	}
	if strings.HasSuffix(st.path, ".db") {
		var s *sqlstore.Store
		if s, err = sqlstore.Open(st.path, sqlstore.Options{}); err == nil {
			err = f(j, s, func() (*session.Session, error) { return st.loadFrom(s) })
		}
	} else {
		var s *tree.Store
		if s, err = tree.Open(st.path, "", tree.Options{Owner: j.ID()}); err == nil {
			err = f(j, s, func() (*session.Session, error) { return st.loadFrom(s) })
		}
	}
	if cerr := j.Close(); err != nil || cerr != nil {
		st.t.Fatal(err, cerr)
	}
}

// loadFrom loads the session as a scan does.
func (st stored) loadFrom(s interface {
	List(ctx context.Context) ([]session.Session, error)
	Load(ctx context.Context, head session.Session) (*session.Session, error)
},
) (*session.Session, error) {
	heads, err := s.List(st.t.Context())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(heads, func(h session.Session) bool { return h.ID == st.id })
	return s.Load(st.t.Context(), heads[i])
}

func (st stored) load() (s *session.Session) {
	st.t.Helper()
	st.open(func(_ *journal.Journal, _ txn.Store, load func() (*session.Session, error)) (err error) {
		s, err = load()
		return err
	})
	return s
}

// run carries out ops as a repair does.
func (st stored) run(ops []change.Op) {
	st.t.Helper()
	st.open(func(j *journal.Journal, s txn.Store, _ func() (*session.Session, error)) error {
		_, err := txn.Run(st.t.Context(), j, s, change.Plan{Session: st.id, Cause: change.Cause{Kind: change.CauseScan}, Ops: ops})
		return err
	})
}

// last is the ops of the newest entry of the journal, with those that the store
// added.
func (st stored) last() (ops []change.Op) {
	st.t.Helper()
	st.open(func(j *journal.Journal, _ txn.Store, _ func() (*session.Session, error)) error {
		es, err := j.List(journal.Query{Limit: 1})
		if err == nil {
			ops, err = j.Ops(es[0])
		}
		return err
	})
	return ops
}

// thereAndBack stores what became of the session, and takes it back: what is
// stored then is every byte what it was.
func (st stored) thereAndBack(before, after *session.Session) {
	st.t.Helper()
	wounded := st.snapshot()
	st.change(before, after)
	if diff := cmp.Diff(records(after), records(st.load())); diff != "" {
		st.t.Errorf("what is stored is not what was planned (-want +got):\n%s", diff)
	}
	st.run(change.Inverse(st.last()))
	if diff := cmp.Diff(wounded, st.snapshot()); diff != "" {
		st.t.Errorf("after undo (-want +got):\n%s", diff)
	}
}

func (st stored) change(before, after *session.Session) { st.run(change.Diff(before, after)) }

func (st stored) snapshot() map[string]string {
	st.t.Helper()
	all, err := wound.Snapshot(st.path)
	if err != nil {
		st.t.Fatal(err)
	}
	return all
}

// faults is how often each code is found in a session, by profile and thinking,
// and the first fault of a code.
func faults(s *session.Session, code string) (counts map[string]int, first fault) {
	counts = map[string]int{}
	for _, p := range render.Profiles() {
		for _, thinking := range []bool{true, false} {
			for _, v := range render.Check(anthropic.Provider{}, render.Render(s, render.Settings{Profile: p}), thinking) {
				counts[fmt.Sprint(p.Version, " ", thinking, " ", v.Rule)]++
				if v.Rule == code && first.code == "" && len(v.Refs) > 0 {
					first = fault{code: v.Rule, ref: v.Refs[0], says: v.Message}
				}
			}
		}
		for _, f := range new(render.Renderer).Read(s).Screen(p) {
			counts[fmt.Sprint(p.Version, " ", f.Code)]++
		}
	}
	return counts, first
}

// cure applies the first fix after which the code is gone and nothing is there
// more often than before; nil if there is none.
func cure(s *session.Session, code string, fixes func(*session.Session, fault) []fix) *session.Session {
	before, f := faults(s, code)
	for _, x := range fixes(s, f) {
		d := draft{s: s.Clone(), texts: defaultTexts()}
		if err := x.edit(&d); err != nil {
			continue
		}
		d.arrange()
		after, left := faults(d.s, code)
		worse := func(k string) bool { return after[k] > before[k] }
		if left.code == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(after)), worse) {
			return d.s
		}
	}
	return nil
}
