package sqlstore_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

// TestFailedSync: if the sync of the -wal fails, the change is not made, although its whole transaction was written.
func TestFailedSync(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	path, id := leftover(t, true)
	denied := false
	s := open(t, path, sqlstore.Options{Step: func(what string) error {
		if what == "commit" {
			storetest.DenySyscall(t, unix.SYS_FDATASYNC, -1, 0, unix.EIO)
			denied = true
		}
		return nil
	}})
	ops := dbtest.MixedOps(t, load(t, s, id))
	before := dbtest.Dump(t, path)
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	dbtest.Must(t, err)
	if out, err := s.Commit(t.Context(), st); err == nil || !denied {
		t.Fatalf("Commit = %+v, want an error of the sync", out)
	}
	for range 2 {
		if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Aborted {
			t.Errorf("Settle = %+v, %v; want aborted", out, err)
		}
		if dbtest.Dump(t, path) != before || dbtest.Dump(t, copyFiles(t, path)) != before {
			t.Error("rows changed")
		}
	}
}
