package fsstore_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestFileSizeLimit: if a staged file is larger than the process may write, Prepare leaves the tree as it was.
func TestFileSizeLimit(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	root := storetest.SmallTree(t)
	before := storetest.Snapshot(t, root, "")
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	ops := storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_11", strings.Repeat("x", 100_000))
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: limit.Max}); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &limit) }()
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("Prepare = %v, want %v", err, syscall.EFBIG)
	}
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("the tree holds %v, want %v", got, before)
	}
}

// TestNoSpace: if the disk is too full for a plan, Prepare leaves the tree as it was, and a smaller plan is applied.
func TestNoSpace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	root := storetest.SmallTree(t)
	if err := unix.Mount("mend-test", root, "tmpfs", 0, "size=256k,mode=755"); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	}()
	storetest.Put(t, root, "message/ses_1/msg_1.json", storetest.MessageJSON("ses_1", "msg_1", "user", 1))
	storetest.Put(t, root, "part/msg_1/prt_1.json", storetest.TextJSON("msg_1", "prt_1", "x"))
	storetest.Put(t, root, "part/msg_1/prt_2.json", storetest.TextJSON("msg_1", "prt_2", "x"))
	before := storetest.Snapshot(t, root, "")
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	loaded := mustLoad(t, s)
	ops := append(storetest.SetText(t, loaded.AllRecords, "prt_1", strings.Repeat("x", 100_000)), storetest.SetText(t, loaded.AllRecords, "prt_2", strings.Repeat("x", 300_000))...)
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Prepare = %v, want %v", err, syscall.ENOSPC)
	}
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("the tree holds %v, want %v", got, before)
	}
	storetest.Apply(t, s, ops[:1])
}

// TestManyOps: a plan may have more ops than the process may have open files, and takes at most 4 KB of memory for each.
func TestManyOps(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	ops := storetest.Count(20_000, 500)
	if os.Getenv("MEND_TORTURE") != "" {
		ops = 100_000
	}
	root := filepath.Join(storetest.FastDir(t), "storage")
	for m := range ops / 20 {
		msg := fmt.Sprintf("msg_%05d", m)
		storetest.Put(t, root, "message/ses_1/"+msg+".json", storetest.MessageJSON("ses_1", msg, "user", m))
		for p := range 20 {
			prt := fmt.Sprintf("prt_%05d_%02d", m, p)
			storetest.Put(t, root, "part/"+msg+"/"+prt+".json", storetest.TextJSON(msg, prt, "x"))
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	loaded := mustLoad(t, s)
	after := loaded.Clone()
	for i := range after.Messages {
		m := &after.Messages[i]
		for k := range m.Parts {
			if err := m.Parts[k].Set([]byte(`"y"`), "text"); err != nil {
				t.Fatal(err)
			}
		}
	}
	st := storetest.Apply(t, s, change.Diff(loaded.AllRecords, after.AllRecords))
	if len(st.Ops) != ops {
		t.Errorf("the plan has %d ops, want %d", len(st.Ops), ops)
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ops, at most %d MB", ops, used.Maxrss>>10)
	if kb := used.Maxrss; kb > 100<<10+4*int64(ops) {
		t.Errorf("%d ops took %d MB, want at most 100 and 4 KB for each", ops, kb>>10)
	}
	wantNoMend(t, root)
}

// TestBrokenDisk: if every rename fails, nothing changes. If every sync fails, Commit and Settle return an error, because
// nothing is durable.
func TestBrokenDisk(t *testing.T) {
	for _, c := range []struct {
		name  string
		call  uint32
		errno syscall.Errno
	}{
		{"Rename", unix.SYS_RENAMEAT2, unix.EIO}, {"Fsync", unix.SYS_FSYNC, unix.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !storetest.RunInChild(t, 0) {
				return
			}
			root := storetest.SmallTree(t)
			before := storetest.Snapshot(t, root, fsstore.MendDir)
			s := mustOpen(t, root, tree.Options{Owner: "own"})
			staged := prepareMixed(t, s)
			storetest.DenySyscall(t, c.call, -1, 0, c.errno)
			out, err := s.Commit(t.Context(), staged)
			if c.name == "Fsync" {
				if err == nil {
					t.Errorf("Commit = %+v although nothing is durable", out)
				}
				_, err = s.Settle(t.Context(), staged)
				if !errors.Is(err, c.errno) {
					t.Errorf("Settle = %v, want %v", err, c.errno)
				}
				return
			}
			got := storetest.Snapshot(t, root, fsstore.MendDir)
			if err != nil || out.State != change.Aborted || !maps.Equal(got, before) {
				t.Errorf("Commit = %+v, %v, and the tree holds %v, want %s and %v", out, err, got, change.Aborted, before)
			}
		})
	}
}

// TestRestageIsNotDurable: a recovery that writes lost staged files again renames none of them before they are durable.
func TestRestageIsNotDurable(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	root := storetest.SmallTree(t)
	_, staged := killCommit(t, root, 4)
	if err := os.RemoveAll(filepath.Join(root, fsstore.MendDir)); err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, root, "part/msg_4/prt_41.json", "another program's")
	f := &storetest.Fault{At: 1 << 30}
	s := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step})
	storetest.DenySyscall(t, unix.SYS_FSYNC, -1, 0, unix.EIO)
	if out, err := s.Settle(t.Context(), staged); !errors.Is(err, unix.EIO) {
		t.Errorf("Settle = %+v, %v, want EIO", out, err)
	}
	if last := f.Calls[len(f.Calls)-1]; last != "barrier" {
		t.Errorf("the calls are %q, want none after the barrier", f.Calls)
	}
}

// TestReadFailsAfterExchange: a staged file that cannot be read after the exchange is an error with its path. It does not
// count as written by another program: it is neither kept nor removed.
func TestReadFailsAfterExchange(t *testing.T) {
	for _, when := range []string{"Commit", "Discard", "Sweep"} {
		t.Run(when, func(t *testing.T) {
			if !storetest.RunInChild(t, 0) {
				return
			}
			root := storetest.SmallTree(t)
			var notes []string
			s := mustOpen(t, root, tree.Options{
				Owner: "own",
				Note:  func(text string) { notes = append(notes, text) },
				Step: func(call string) error {
					if strings.HasPrefix(call, "barrier") && when == "Commit" {
						storetest.DenySyscall(t, unix.SYS_READ, -1, 0, unix.EIO)
					}
					return nil
				},
			})
			staged, err := mustOpen(t, root, tree.Options{Owner: "own"}).Prepare(t.Context(), change.Plan{Ops: storetest.MixedOps(t, mustLoad(t, s).AllRecords)})
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Commit(t.Context(), staged)
			stagedFiles := stagedFilesOf(t, root)
			switch when {
			case "Commit":
				if _, serr := s.Settle(t.Context(), staged); !errors.Is(serr, unix.EIO) {
					t.Errorf("Settle = %v, want EIO", serr)
				}
			case "Discard":
				storetest.DenySyscall(t, unix.SYS_READ, -1, 0, unix.EIO)
				err = s.Discard(t.Context(), staged)
			case "Sweep":
				storetest.DenySyscall(t, unix.SYS_READ, -1, 0, unix.EIO)
				err = s.Discard(t.Context(), change.Staged{})
			}
			wantReadError(t, err)
			if len(out.Kept) > 0 {
				t.Errorf("Kept = %v", out.Kept)
			}
			if _, err := os.Stat(filepath.Join(root, fsstore.KeptDir)); err == nil {
				t.Error("the folder of kept files exists")
			}
			if when == "Discard" && (len(notes) == 0 || !strings.Contains(notes[0], "it is unknown")) {
				t.Errorf("the notes are %q", notes)
			}
			if got := stagedFilesOf(t, root); when != "Discard" && !slices.Equal(got, stagedFiles) {
				t.Errorf("the staged files are %v, want %v", got, stagedFiles)
			} else if len(got) == 0 {
				t.Error("the staged files are gone")
			}
		})
	}
}

func wantReadError(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), ".mend/own/1/") || strings.Contains(err.Error(), "another program") {
		t.Errorf("the error is %v, want EIO and a path", err)
	}
}

// stagedFilesOf returns the files in the first staging folder that are not empty.
func stagedFilesOf(t *testing.T, root string) []string {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(root, fsstore.MendDir, "own", "1"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			names = append(names, e.Name())
		}
	}
	return names
}
