//go:build linux

package sqlstore_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

const nobody = storetest.NobodyUID

// programOfNobody returns a copy of this program that every user can run.
func programOfNobody(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a process as another user")
	}
	exe, err := os.Executable()
	dbtest.Must(t, err)
	program := filepath.Join(t.TempDir(), "test")
	openUp(t, filepath.Dir(program))
	storetest.CopyProgram(t, exe, program)
	return program
}

// runAsNobody runs the program in a role as an unprivileged user, and returns its output and whether it succeeded.
func runAsNobody(t *testing.T, program, role, path, arg string) (output string, ok bool) {
	t.Helper()
	p := startProgram(t, program, role, path, arg, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
	_ = p.in.Close()
	out, err := io.ReadAll(p.out)
	dbtest.Must(t, err)
	return strings.TrimSpace(string(out)), p.cmd.Wait() == nil
}

// openUp gives every user access to a folder of the test.
func openUp(t *testing.T, dir string) {
	t.Helper()
	for ; dir != os.TempDir(); dir = filepath.Dir(dir) {
		dbtest.Must(t, os.Chmod(dir, 0o755))
	}
}

// TestReadOnly: a user with read permission alone can read everything. A change is refused and changes no file.
func TestReadOnly(t *testing.T) {
	storetest.Long(t)
	program := programOfNobody(t)
	cases := map[string]func(t *testing.T) (path, id string){
		"alone":        func(t *testing.T) (string, string) { return dbtest.Unpack(t, "1.18.33") },
		"leftover":     func(t *testing.T) (string, string) { return leftover(t, true) },
		"leftover wal": func(t *testing.T) (string, string) { return leftover(t, false) },
		"live": func(t *testing.T) (string, string) {
			path, id := dbtest.Unpack(t, "1.18.33")
			dbtest.Exec(t, dbtest.Agent(t, path), "UPDATE session SET title = 'x'")
			return path, id
		},
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			path, id := make(t)
			openUp(t, filepath.Dir(path))
			for file := range dbtest.Files(t, path) {
				dbtest.Must(t, os.Chmod(filepath.Join(filepath.Dir(path), file), 0o644))
			}
			before := dbtest.Files(t, path)
			if out, ok := runAsNobody(t, program, "read", path, id); !ok || out != "10 messages" {
				t.Errorf("reading: %s", out)
			}
			if out, ok := runAsNobody(t, program, "write", path, id); ok || !strings.Contains(out, "permission denied") {
				t.Errorf("writing: %s", out)
			}
			dbtest.WantSame(t, before, dbtest.Files(t, path))
		})
	}
}

// TestFolderNotWritable: a change is refused if the -wal cannot be created.
func TestFolderNotWritable(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	openUp(t, filepath.Dir(path))
	dbtest.Must(t, os.Chmod(path, 0o666))
	if out, ok := runAsNobody(t, programOfNobody(t), "write", path, id); ok || !strings.Contains(out, "permission denied") {
		t.Errorf("writing: %s", out)
	}
}

// TestFIFO: a named pipe is refused without waiting for a writer.
func TestFIFO(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	dbtest.Must(t, os.Remove(path))
	dbtest.Must(t, syscall.Mkfifo(path, 0o644))
	if _, err := sqlstore.Open(path, specs(), sqlstore.Options{}); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("Open: %v", err)
	}
}

// TestDiskFull: with any amount of free space a change is made, or nothing changes, as Settle reports.
func TestDiskFull(t *testing.T) {
	storetest.Long(t)
	from, id := dbtest.Unpack(t, "1.2.27")
	data := dbtest.Files(t, from)[dbtest.Name]
	ops := dbtest.MixedOps(t, load(t, open(t, from, sqlstore.Options{}), id))
	for _, live := range []bool{false, true} {
		seen := map[string]int{}
		for kb := 160; kb < 380; kb += storetest.Count(8, 32) {
			dir := smallDisk(t, kb)
			path := filepath.Join(dir, dbtest.Name)
			dbtest.Write(t, path, data)
			if live && !tryAgent(t, path) {
				continue // no space for the agent's side files
			}
			seen[onFullDisk(t, dir, ops)]++
		}
		t.Logf("live %v: %v", live, seen)
	}
}

// tryAgent reports whether an agent can open the database.
func tryAgent(t *testing.T, path string) bool {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	dbtest.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.Exec("PRAGMA synchronous=NORMAL; SELECT 1 FROM session") == nil
}

// onFullDisk makes the change and describes the outcome. It checks that all rows are as before the change or as after it,
// and that the outcome of Commit or Settle says which, at the latest when the disk has space again.
func onFullDisk(t *testing.T, dir string, ops []change.Op) string {
	t.Helper()
	path := filepath.Join(dir, dbtest.Name)
	before := dbtest.Dump(t, path)
	s := open(t, path, sqlstore.Options{})
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	dbtest.Must(t, err)
	out, err := s.Commit(t.Context(), st)
	cause := errors.Join(err, out.Cause)
	how := ""
	if err != nil {
		how = "undecided, "
		out, err = s.Settle(t.Context(), st)
	}
	if errors.Is(err, syscall.ENOSPC) {
		how += "still undecided, "
		dbtest.Must(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=4m"))
		out, err = s.Settle(t.Context(), st)
	}
	if changed := dbtest.Dump(t, path) != before; err != nil || changed != (out.State == change.Committed) {
		t.Errorf("%+v, %v; changed: %v", out, err, changed)
	}
	if out.State == change.Aborted && !errors.Is(cause, syscall.ENOSPC) {
		t.Errorf("%v, want no space", cause)
	}
	return how + string(out.State)
}

// smallDisk returns a folder on a file system of kb KiB.
func smallDisk(t *testing.T, kb int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kb)); err != nil {
		t.Skip("mounting: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestCheckSpace: an eighth and a megabyte more than the needed space must be free.
func TestCheckSpace(t *testing.T) {
	dir := smallDisk(t, 8<<10)
	for needed, fits := range map[int64]bool{0: true, 5 << 20: true, 6_600_000: false, 7 << 20: false} {
		if err := sqlstore.CheckSpace(dir, needed, "it needs"); (err == nil) != fits || err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("CheckSpace of %d bytes = %v, want that they fit %t", needed, err, fits)
		}
	}
	if err := sqlstore.CheckSpace(dir, 7<<20, "it needs"); !strings.Contains(err.Error(), "it needs up to 9 MB there, and 8 MB are free") {
		t.Errorf("CheckSpace = %v", err)
	}
}

// TestOwnerOfSideFiles: side files that root creates belong to the owner of the database, who could not write to them
// otherwise.
func TestOwnerOfSideFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to other users")
	}
	path, id := dbtest.Unpack(t, "1.18.33")
	dbtest.Must(t, os.Chown(path, nobody, nobody))
	var owners []uint32
	s := open(t, path, sqlstore.Options{Step: func(what string) error {
		if what == "begin" {
			for _, suffix := range []string{"-wal", "-shm"} {
				info, err := os.Stat(path + suffix)
				if err != nil {
					return err
				}
				owners = append(owners, info.Sys().(*syscall.Stat_t).Uid)
			}
		}
		return nil
	}})
	if out := dbtest.Run(t, s, []change.Op{titleOp(s, id)}); out.State != change.Committed {
		t.Errorf("%+v", out)
	}
	if len(owners) != 2 || owners[0] != nobody || owners[1] != nobody {
		t.Errorf("the side files belong to %v, want %d", owners, nobody)
	}
}
