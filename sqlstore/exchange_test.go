package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/sqlstore"
	"mend/txn"
)

// An exchangeFixture is a damaged database with a -wal and a -shm, and a journal. Each call opens both again.
type exchangeFixture struct {
	*testing.T
	dir, path string
	specs     []sqlstore.TableSpec
}

const newDatabase = "SQLite format 3\x00 of the new database"

func newExchangeFixture(t *testing.T) exchangeFixture {
	dir := storetest.FastDir(t)
	f := exchangeFixture{t, dir, filepath.Join(dir, "store", dbtest.Name), nil}
	dbtest.Must(t, os.Mkdir(filepath.Dir(f.path), 0o700))
	for suffix, text := range map[string]string{"": "a damaged database", "-wal": "its log", "-shm": "its index"} {
		dbtest.Must(t, os.WriteFile(f.path+suffix, []byte(text), 0o640))
	}
	return f
}

// reopen calls do with the journal and the store, both with the step hook.
func (f exchangeFixture) reopen(step func(string) error, do func(*journal.Journal, *sqlstore.Owned) error) error {
	j, err := journal.Open(filepath.Join(f.dir, "journal"), journal.Options{Step: step})
	if err != nil {
		return err
	}
	s, err := sqlstore.Open(f.path, f.specs, sqlstore.Options{Step: step})
	if err == nil {
		s.LookAtLocks()
		err = do(j, s.WithOwner(j.ID()))
	}
	return errors.Join(err, j.Close())
}

func (f exchangeFixture) salvage(step func(string) error) error {
	return f.reopen(step, func(j *journal.Journal, s *sqlstore.Owned) error {
		b, err := s.Build(context.Background(), func(path string) error { return os.WriteFile(path, []byte(newDatabase), 0o600) })
		if err != nil {
			return err
		}
		defer b.Discard() // a process that is killed has no lock any more
		_, err = txn.Run(context.Background(), j, s, change.Plan{Cause: change.Cause{Kind: change.CauseSalvage}, Ops: b.Ops})
		return err
	})
}

// undo reverts the newest entry.
func (f exchangeFixture) undo(step func(string) error) error {
	return f.reopen(step, func(j *journal.Journal, s *sqlstore.Owned) error {
		es, err := j.List(journal.Query{Limit: 1})
		if err != nil {
			return err
		}
		ops, err := j.Ops(es[0])
		if err != nil {
			return err
		}
		p := change.Plan{Cause: change.Cause{Kind: change.CauseUndo, Entries: []uint64{es[0].Seq}}, Ops: change.Inverse(ops)}
		_, err = txn.Run(context.Background(), j, s, p)
		return err
	})
}

func (f exchangeFixture) recover(step func(string) error) error {
	return f.reopen(step, func(j *journal.Journal, s *sqlstore.Owned) error {
		pending, err := j.List(journal.Query{State: change.Pending})
		if err == nil {
			_, err = txn.Recover(context.Background(), j, s, s.ID(), pending)
		}
		return err
	})
}

// files returns the content of the files beside the database or, if kept is set, of those in mend's own folders, by name.
func (f exchangeFixture) files(kept bool) map[string]string {
	f.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(f.path), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || kept != strings.Contains(path, ".mend") {
			return err
		}
		data, err := os.ReadFile(path)
		all[filepath.Base(path)] = string(data)
		return err
	})
	dbtest.Must(f.T, err)
	return all
}

// checkOwn fails the test unless mend's own folders have exactly the names in kept, all in the folder of the owner.
func (f exchangeFixture) checkOwn(what string, kept ...string) {
	f.Helper()
	var found []string
	root := filepath.Join(filepath.Dir(f.path), ".mend")
	dbtest.Must(f.T, f.reopen(nil, func(j *journal.Journal, _ *sqlstore.Owned) error {
		return filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return ignoreMissing(err)
			}
			rel, err := filepath.Rel(filepath.Join(root, j.ID()), path)
			if depth := strings.Count(rel, string(filepath.Separator)); rel != "." && rel != ".." && depth == 0 || strings.HasPrefix(rel, "../") {
				found = append(found, rel)
			}
			if names, _ := os.ReadDir(path); e.IsDir() && len(names) == 0 && !strings.Contains(rel, "-aaa") && !strings.Contains(rel, "-bbb") {
				found = append(found, rel+" (empty)")
			}
			return err
		})
	}))
	slices.Sort(kept)
	if slices.Sort(found); !slices.Equal(found, kept) {
		f.Fatalf("%s: mend's own folders have %q, want %q", what, found, kept)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// setNames returns the names under which the old and the new database are kept.
func (f exchangeFixture) setNames() (names []string) {
	f.Helper()
	dbtest.Must(f.T, f.reopen(nil, func(j *journal.Journal, _ *sqlstore.Owned) error {
		es, err := j.List(journal.Query{})
		if err != nil || len(es) == 0 {
			return err
		}
		ops, err := j.Ops(es[len(es)-1])
		for _, image := range []*change.Image{ops[0].Pre, ops[0].Post} {
			sum := sha256.Sum256(image.Data)
			names = append(names, "db-"+hex.EncodeToString(sum[:8]))
		}
		return err
	}))
	return names
}

// check reports whether the new database is in place, and fails the test unless all files are as before the change
// or as after it.
func (f exchangeFixture) check(what string, before map[string]string) (exchanged bool) {
	f.Helper()
	now := f.files(false)
	switch {
	case maps.Equal(now, before):
		return false
	case maps.Equal(now, map[string]string{dbtest.Name: newDatabase}) && maps.Equal(f.files(true), before):
		return true
	}
	f.Fatalf("%s: beside the database are %q, kept are %q", what, now, f.files(true))
	return false
}

// isCommitted reports whether the journal has the change, or with undo the undo of the change, as committed.
func (f exchangeFixture) isCommitted(undo bool) (committed bool) {
	f.Helper()
	dbtest.Must(f.T, f.reopen(nil, func(j *journal.Journal, _ *sqlstore.Owned) error {
		es, err := j.List(journal.Query{})
		committed = len(es) > 0 && es[0].State == change.Committed && (len(es) == 2 || !undo)
		return err
	}))
	return committed
}

// TestExchangeCutAtEveryStep kills a salvage and its undo at every step, including the steps of the journal, and then the
// recovery. At last all files are the old ones or all are the new ones, as the journal says, and no byte is lost.
func TestExchangeCutAtEveryStep(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for _, undo := range []bool{false, true} {
		verb := exchangeFixture.salvage
		if undo {
			verb = exchangeFixture.undo
		}
		forward, back := 0, 0
		for k := 0; ; k++ {
			f := newExchangeFixture(t)
			before := f.files(false)
			if undo {
				dbtest.Must(t, f.salvage(nil))
			}
			fault := &storetest.Fault{At: k}
			err := verb(f, fault.Step)
			if !fault.Hit() {
				if err != nil {
					t.Fatalf("undo %t without a fault: %v", undo, err)
				}
				if f.check("without a fault", before) == undo {
					t.Errorf("undo %t without a fault did nothing", undo)
				}
				t.Logf("undo %t: %d steps, %d end after it, %d before", undo, k, forward, back)
				break
			}
			cut := &storetest.Fault{At: k % 5} // the recovery is cut, too
			_ = f.recover(cut.Step)
			if err := f.recover(nil); err != nil {
				t.Fatalf("undo %t, step %d (%s): Recover: %v", undo, k, fault.Calls[k], err)
			}
			exchanged := f.check(fault.Calls[k], before)
			committed := f.isCommitted(undo)
			if committed != (exchanged != undo) {
				t.Errorf("undo %t, step %d (%s): exchanged %t, committed %t", undo, k, fault.Calls[k], exchanged, committed)
			}
			switch names := f.setNames(); {
			case exchanged:
				f.checkOwn(fault.Calls[k], names[0])
			case undo:
				f.checkOwn(fault.Calls[k], names[1])
			default:
				f.checkOwn(fault.Calls[k])
			}
			if committed {
				forward++
			} else {
				back++
			}
		}
		if forward == 0 || back == 0 {
			t.Errorf("undo %t: %d changes were made, and %d were not: want some of each", undo, forward, back)
		}
	}
}

// TestExchangeRefused: a database that changed since the new one was built is not exchanged, and the new one is removed.
func TestExchangeRefused(t *testing.T) {
	f := newExchangeFixture(t)
	err := f.reopen(nil, func(j *journal.Journal, s *sqlstore.Owned) error {
		b, err := s.Build(t.Context(), func(path string) error { return os.WriteFile(path, []byte(newDatabase), 0o600) })
		dbtest.Must(t, err)
		defer b.Discard()
		dbtest.Must(t, os.WriteFile(f.path, []byte("written to meanwhile"), 0o640))
		_, err = txn.Run(t.Context(), j, s, change.Plan{Cause: change.Cause{Kind: change.CauseSalvage}, Ops: b.Ops})
		return err
	})
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("Run on a file that changed: %v, want a conflict", err)
	}
	f.checkOwn("refused")
}

// TestExchangeSoundDatabase: a program that opens a sound database during an exchange sees the rows of the -wal at every
// step, and the undo restores them.
func TestExchangeSoundDatabase(t *testing.T) {
	f := newExchangeFixture(t)
	db, _ := dbtest.Unpack(t, "1.18.33")
	agent := dbtest.Agent(t, db)
	dbtest.Exec(t, agent, "PRAGMA wal_autocheckpoint=0; UPDATE session SET title = 'newest'")
	for _, suffix := range []string{"", "-wal"} { // as a program that was killed leaves them
		data, err := os.ReadFile(db + suffix)
		dbtest.Must(t, errors.Join(err, os.WriteFile(f.path+suffix, data, 0o600)))
	}
	dbtest.Must(t, errors.Join(os.Remove(f.path+"-shm"), agent.Close()))
	want := dbtest.DumpRows(t, db)
	exchanged, reads := false, 0
	step := func(call string) error {
		if exchanged || !strings.HasPrefix(call, "move") && !strings.HasPrefix(call, "exchange") {
			return nil
		}
		exchanged = strings.HasPrefix(call, "exchange")
		reads++
		copied := filepath.Join(t.TempDir(), dbtest.Name)
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(f.path + suffix)
			if err == nil {
				err = os.WriteFile(copied+suffix, data, 0o600)
			}
			dbtest.Must(t, ignoreMissing(err))
		}
		if dbtest.DumpRows(t, copied) != want {
			t.Errorf("before %q a reader does not see the rows of the -wal", call)
		}
		return nil
	}
	f.specs = specs()
	dbtest.Must(t, f.salvage(step))
	if reads == 0 || !exchanged {
		t.Errorf("%d reads before the exchange, exchanged %t", reads, exchanged)
	}
	dbtest.Must(t, f.undo(nil))
	if dbtest.DumpRows(t, f.path) != want {
		t.Error("after the undo the rows differ")
	}
}
