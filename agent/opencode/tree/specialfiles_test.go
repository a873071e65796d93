//go:build unix

package tree

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/storetest"
)

// TestSpecialFiles: an entry that is not a plain file does not block a read, is stray, and is never changed. A file
// with several hard links is read like any record, and not changed. Fault cases 4, 5 and 7 (docs/verified.md).
func TestSpecialFiles(t *testing.T) { testSpecialFiles(t) }

// testSpecialFiles is for tests that also run in a sandbox.
func testSpecialFiles(t *testing.T) {
	t.Helper()
	outside := filepath.Join(storetest.FastDir(t), "outside.json")
	storetest.Put(t, filepath.Dir(outside), filepath.Base(outside), storetest.TextJSON("msg_1", "prt_12", "secret"))
	for name, c := range map[string]struct {
		make func(path string) error
		why  string
	}{
		"link inside":  {func(p string) error { return os.Symlink("prt_11.json", p) }, "symbolic link"},
		"link outside": {func(p string) error { return os.Symlink(outside, p) }, "symbolic link"},
		"broken link":  {func(p string) error { return os.Symlink("nowhere", p) }, "symbolic link"},
		"hard link":    {func(p string) error { return os.Link(outside, p) }, "hard link"},
		"folder":       {func(p string) error { return os.Mkdir(p, 0o755) }, "a folder"},
		"pipe":         {func(p string) error { return unix.Mkfifo(p, 0o644) }, "named pipe"},
		"socket":       {listen, "socket"},
	} {
		root := storetest.SmallTree(t)
		path := filepath.Join(root, "part/msg_1/prt_12.json")
		s := mustOpen(t, root, Options{Owner: "own"})
		ops := storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_12", "new")
		must(t, os.Remove(path))
		if err := c.make(path); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		before := storetest.Snapshot(t, root, "")
		loaded := loadIn(t, s, 2*time.Second)
		p := loaded.Message("msg_1").Part("prt_12")
		switch {
		case name == "hard link":
			if p == nil || p.Defect != nil || p.Text != "secret" || len(loaded.Message("msg_1").Parts) != 3 || len(loaded.Stray) != 0 {
				t.Errorf("%s is loaded as %+v", name, p)
				continue
			}
		case p != nil || len(loaded.Message("msg_1").Parts) != 2:
			t.Errorf("%s is loaded as %+v", name, loaded)
			continue
		case name == "folder": // the agent finds nothing in an empty folder
			wantStray(t, loaded.Stray)
		default: // the agent skips such an entry
			wantStray(t, loaded.Stray, "part/msg_1/prt_12.json")
			if st := loaded.Stray[0]; st.Kind != change.StrayIgnored || st.Message != "msg_1" || !strings.Contains(st.Why, c.why) {
				t.Errorf("%s is stray as %+v", name, st)
			}
		}
		if images, err := s.Read(t.Context(), storetest.Refs(ops...)); err != nil || name != "hard link" && images[0].Mode.IsRegular() {
			t.Errorf("%s: Read = %+v, %v", name, images, err)
		}
		if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !isConflict(err) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: Prepare = %v, want a conflict", name, err)
		}
		if name == "hard link" {
			for _, o := range storetest.SetText(t, loaded.AllRecords, "prt_12", "new") {
				if _, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{o}}); !isConflict(err) || !strings.Contains(err.Error(), c.why) {
					t.Errorf("%s: Prepare with the loaded record = %v, want a conflict", name, err)
				}
			}
		}
		if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("%s: the tree has %v, want %v", name, got, before)
		}
	}
}

func listen(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false)
		err = l.Close()
	}
	return err
}

func loadIn(t *testing.T, s *Store, limit time.Duration) *record.Session {
	t.Helper()
	done := make(chan *record.Session, 1)
	go func() {
		loaded, _, _ := s.Load(t.Context(), change.Head{ID: "ses_1"})
		done <- loaded
	}()
	select {
	case loaded := <-done:
		if loaded == nil {
			t.Fatal("Load failed")
		}
		return loaded
	case <-time.After(limit):
		t.Fatal("Load hangs")
		return nil
	}
}

// TestLinkedFolders: a link in the place of a folder is stray. Nothing in its target is read or written. Fault cases 4,
// 5 and 7 (docs/verified.md).
func TestLinkedFolders(t *testing.T) { testLinkedFolders(t) }

// testLinkedFolders is for tests that also run in a sandbox.
func testLinkedFolders(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"part/msg_1", "part", "message/ses_1", "message", "session/global", "session"} {
		for _, inside := range []bool{true, false} {
			root := storetest.SmallTree(t)
			path := filepath.Join(root, folder)
			s := mustOpen(t, root, Options{Owner: "own"})
			ops := storetest.MixedOps(t, mustLoad(t, s).AllRecords)
			target := filepath.Join(root, "moved")
			if !inside {
				target = filepath.Join(storetest.FastDir(t), "moved")
			}
			must(t, os.Rename(path, target))
			must(t, os.Symlink(target, path))
			before, targets := storetest.Snapshot(t, root, ""), storetest.Snapshot(t, target, "")
			heads, err := s.List(t.Context())
			if err != nil || len(heads) == 0 || heads[0].ID != "ses_1" {
				t.Fatalf("%s: List = %+v, %v", folder, heads, err)
			}
			loaded := mustLoad(t, s)
			linked := func(s change.Stray) bool { return s.Kind == change.StrayLink }
			stray := loaded.Stray
			if len(heads) > 1 {
				stray = slices.Concat(stray, heads[1].Stray)
			}
			if !slices.ContainsFunc(stray, linked) {
				t.Errorf("the link in the place of %s is not stray: %+v, %+v", folder, heads, loaded)
			}
			if strings.HasPrefix(folder, "part") {
				if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !isConflict(err) {
					t.Errorf("with a link in the place of %s Prepare = %v, want a conflict", folder, err)
				}
			}
			if !maps.Equal(storetest.Snapshot(t, root, ""), before) || !maps.Equal(storetest.Snapshot(t, target, ""), targets) {
				t.Errorf("%s: something was written", folder)
			}
		}
	}
}

// TestLinkMeanwhile: if a folder of records is replaced by a link between Prepare and Commit, the change is aborted,
// and nothing is written. Fault case 5 (docs/verified.md).
func TestLinkMeanwhile(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, Options{Owner: "own"})
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: storetest.MixedOps(t, mustLoad(t, s).AllRecords)})
	must(t, err)
	target := filepath.Join(storetest.FastDir(t), "moved")
	must(t, os.Rename(filepath.Join(root, "part/msg_1"), target))
	must(t, os.Symlink(target, filepath.Join(root, "part/msg_1")))
	before, targets := storetest.Snapshot(t, root, ".mend"), storetest.Snapshot(t, target, "")
	out, err := s.Commit(t.Context(), staged)
	if err != nil || out.State != change.Aborted || len(out.Conflicts) == 0 {
		t.Errorf("Commit = %+v, %v, want %s with a conflict", out, err, change.Aborted)
	}
	must(t, s.Discard(t.Context(), staged))
	if !maps.Equal(storetest.Snapshot(t, root, ""), before) || !maps.Equal(storetest.Snapshot(t, target, ""), targets) {
		t.Error("something was written")
	}
}
