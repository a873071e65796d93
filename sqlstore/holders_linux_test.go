package sqlstore_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/processes"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestHolders: each process that has the database open is named, whatever it does with the
// database.
func TestHolders(t *testing.T) {
	f := newExchangeFixture(t)
	s, err := sqlstore.Open(f.path, nil, sqlstore.Options{})
	dbtest.Must(t, err)
	if err := s.CheckFree(t.Context()); err != nil {
		t.Errorf("CheckFree = %v, and nobody has it open", err)
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

// TestHoldersOfMend: another process of mend that has the database open is waited for.
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
		t.Errorf("CheckFree = %v, want that it waits for a process of mend", err)
	}
	dbtest.Must(t, cmd.Wait())
}
