package sqlstore_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/processes"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

// TestHolders: a process that has the database open is named, even if it is no SQLite program.
func TestHolders(t *testing.T) {
	f := newExchangeFixture(t)
	s, err := sqlstore.Open(f.path, nil, sqlstore.Options{})
	dbtest.Must(t, err)
	if err := s.CheckFree(t.Context()); err != nil {
		t.Errorf("CheckFree = %v, and no process has the database open", err)
	}
	cmd := exec.Command("sh", "-c", `exec 3<"$1"; echo open; read end`, "sh", f.path)
	in, err := cmd.StdinPipe()
	dbtest.Must(t, err)
	out, err := cmd.StdoutPipe()
	dbtest.Must(t, err)
	dbtest.Must(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckFree(t.Context()); err == nil || !strings.Contains(err.Error(), "sh (process ") {
		t.Errorf("CheckFree = %v, want the name of the process", err)
	}
	dbtest.Must(t, in.Close())
	_ = cmd.Wait() // the end of its input is an error of read
}

// TestLockedBy: the error of a locked database names the processes that have it open.
func TestLockedBy(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{BusyTimeout: time.Millisecond})
	st, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{titleOp(s, id)}})
	dbtest.Must(t, err)
	dbtest.Exec(t, dbtest.Agent(t, path), "BEGIN IMMEDIATE")
	cmd := exec.Command("sh", "-c", `exec 3<"$1"; echo open; read end`, "sh", path)
	in, printed := storetest.StartPiped(t, cmd)
	if _, err := bufio.NewReader(printed).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out, err := s.Commit(t.Context(), st)
	if err != nil || !errors.Is(out.Cause, change.ErrLocked) || !strings.Contains(out.Cause.Error(), "is open in sh (process ") {
		t.Errorf("Commit = %+v, %v, want the name of the process", out, err)
	}
	dbtest.Must(t, in.Close())
	_ = cmd.Wait() // the end of its input is an error of read
}

// TestHoldersUnseen: a connection is found by its lock if the open files of its process cannot be listed.
func TestHoldersUnseen(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	dbtest.Exec(t, dbtest.Agent(t, path), "SELECT 1 FROM session") // in this process, whose files are not listed
	if who, err := s.Holders(t.Context()); err != nil || !slices.Equal(who, []string{"a process of another machine or container"}) {
		t.Errorf("Holders = %q, %v", who, err)
	}
}

// TestLock: the lock for a change of the whole file keeps connections out but not readers of mend, and Lock waits for it.
func TestLock(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	unlock, err := s.File().Lock()
	dbtest.Must(t, err)
	if err := try(t, path); err != nil {
		t.Errorf("reading while it is locked: %v", err)
	}
	if c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE); err != nil || c.Exec("SELECT 1 FROM session") == nil {
		t.Errorf("a connection can read while the database is locked, %v", err)
	} else {
		dbtest.Must(t, c.Close())
	}
	if _, err := s.File().Lock(); err == nil || !strings.Contains(err.Error(), "another program has locked the database") {
		t.Errorf("Lock of a locked database = %v", err)
	}
	time.AfterFunc(100*time.Millisecond, unlock)
	unlock, err = s.File().Lock()
	dbtest.Must(t, err)
	unlock()
	dbtest.Must(t, os.Remove(path))
	if _, err := s.File().Lock(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Lock of a missing file = %v", err)
	}
}

// TestHoldersOfMend: CheckFree waits for another process of mend that has the database open.
func TestHoldersOfMend(t *testing.T) {
	f := newExchangeFixture(t)
	s, err := sqlstore.Open(f.path, nil, sqlstore.Options{})
	dbtest.Must(t, err)
	own, err := processes.Process(os.Getpid()).Name()
	dbtest.Must(t, err)
	shell, err := os.ReadFile("/bin/sh")
	dbtest.Must(t, err)
	named := filepath.Join(t.TempDir(), own)
	dbtest.Must(t, os.WriteFile(named, shell, 0o755))
	cmd := exec.Command(named, "-c", `exec 3<"$1"; echo open; sleep 0.3 3<&-`, "sh", f.path)
	out, err := cmd.StdoutPipe()
	dbtest.Must(t, err)
	dbtest.Must(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckFree(t.Context()); err != nil {
		t.Errorf("CheckFree = %v, want none after the process of mend has closed the database", err)
	}
	dbtest.Must(t, cmd.Wait())
}
