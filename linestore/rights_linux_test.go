package linestore_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/change"
	"mend/internal/test/storetest"
	"mend/linestore"
)

const rootKey = "LINESTORE_ROOT"

// asNobody runs the test again in a child process, as an unprivileged user. Before that, prep prepares a folder as
// root, with a transcript of that user. child is true in the child process.
func asNobody(t *testing.T, prep func(root string)) (root string, child bool) {
	t.Helper()
	if root = os.Getenv(rootKey); root != "" {
		return root, true
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to other users")
	}
	root = newRoot(t)
	for dir := filepath.Dir(file(root)); dir != filepath.Dir(root); dir = filepath.Dir(dir) {
		if err := errors.Join(os.Chown(dir, storetest.NobodyUID, -1), os.Chmod(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chown(file(root), storetest.NobodyUID, -1), os.Chtimes(file(root), oldTime, oldTime)); err != nil {
		t.Fatal(err)
	}
	prep(root)
	t.Setenv(rootKey, root)
	storetest.RunInChild(t, storetest.NobodyUID)
	return root, false
}

// wantRefused checks that an append is refused before anything is written.
func wantRefused(t *testing.T, root, why string) {
	t.Helper()
	before := content(t, root)
	s := mustOpen(t, root, linestore.Options{})
	ops := appendOps(t, root)
	_, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	linked, ok := errors.AsType[*change.LinkedError](err)
	if !ok || !strings.Contains(linked.Why, why) {
		t.Errorf("Prepare = %v, want %q", err, why)
	}
	if err := s.CheckLinks(t.Context(), storetest.Refs(ops...)); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("CheckLinks = %v, want %q", err, why)
	}
	if got := content(t, root); got != before || leftovers(root) != nil {
		t.Errorf("the refused change wrote %q, %q", got, leftovers(root))
	}
}

// TestOwnerOfTranscript: a transcript of another user is not changed, although mend could append to it: an undo would fail.
func TestOwnerOfTranscript(t *testing.T) {
	root, child := asNobody(t, func(root string) {
		if err := errors.Join(os.Chown(file(root), 0, 0), os.Chmod(file(root), 0o666)); err != nil {
			t.Fatal(err)
		}
	})
	if child {
		wantRefused(t, root, "another user (uid 0, you are 65534)")
	}
}

// TestFolderNotWritable: a change that could not be undone for missing permissions is refused, with the command that adds
// them.
func TestFolderNotWritable(t *testing.T) {
	root, child := asNobody(t, func(string) {})
	if !child {
		return
	}
	for name, c := range map[string]struct {
		path string
		mode os.FileMode
		why  string
	}{
		"folder":     {filepath.Dir(file(root)), 0o555, "its folder is not writable, so a change could not be undone; run in the store's folder: chmod u+w ./talks"},
		"root":       {root, 0o555, "chmod u+w ."},
		"transcript": {file(root), 0o400, "you have no permission to write to it; run in the store's folder: chmod u+w ./talks/ses_1.jsonl"},
	} {
		info, err := os.Stat(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(c.path, c.mode); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { wantRefused(t, root, c.why) })
		if err := os.Chmod(c.path, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, root, linestore.Options{})
	storetest.Apply(t, s, change.Inverse(storetest.Apply(t, s, appendOps(t, root)).Ops))
}

// TestSettleWithoutRights: Settle decides about a change that an earlier version made in a transcript of another user. It
// cannot restore the mtime, and a note says so.
func TestSettleWithoutRights(t *testing.T) {
	var st change.Staged
	staged := func(root string) string { return filepath.Join(filepath.Dir(root), filepath.Base(root)+".staged") }
	root, child := asNobody(t, func(root string) {
		s := mustOpen(t, root, linestore.Options{Step: func(call string) error {
			if strings.HasPrefix(call, "barrier") || strings.HasPrefix(call, "time") {
				return errors.New("killed")
			}
			return nil
		}})
		var err error
		if st, err = s.Prepare(t.Context(), change.Plan{Ops: appendOps(t, root)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), st); err == nil {
			t.Fatal("the commit was not killed")
		}
		if err := os.RemoveAll(filepath.Join(root, st.Dir)); err != nil { // only a failed sync leaves it, not a kill
			t.Fatal(err)
		}
		data, err := json.Marshal(st)
		if err = errors.Join(err, os.WriteFile(staged(root), data, 0o644), os.Chown(file(root), 0, 0), os.Chmod(file(root), 0o644)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(staged(root)) })
	})
	if !child {
		return
	}
	data, err := os.ReadFile(staged(root))
	if err == nil {
		err = json.Unmarshal(data, &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	s := mustOpen(t, root, linestore.Options{Note: func(text string) { notes = append(notes, text) }})
	before := content(t, root)
	out, err := s.Settle(t.Context(), st)
	if err != nil || out.State != change.Committed || content(t, root) != before {
		t.Errorf("Settle = %v, %v, want committed", out, err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "operation not permitted: the agent shows the session as used just now") {
		t.Errorf("notes %q", notes)
	}
}

// TestSettleLostTranscript: if the transcript was deleted, or something else has its name, the change did not take effect.
func TestSettleLostTranscript(t *testing.T) {
	for name, lose := range map[string]func(root string) error{
		"file":   func(root string) error { return os.Remove(file(root)) },
		"folder": func(root string) error { return os.RemoveAll(filepath.Dir(file(root))) },
		"link": func(root string) error {
			return errors.Join(os.Rename(file(root), file(root)+".moved"), os.Symlink(file(root)+".moved", file(root)))
		},
		"folder link": func(root string) error {
			dir := filepath.Dir(file(root))
			return errors.Join(os.Rename(dir, dir+".moved"), os.Symlink(dir+".moved", dir))
		},
		"pipe": func(root string) error { return errors.Join(os.Remove(file(root)), unix.Mkfifo(file(root), 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			s := mustOpen(t, root, linestore.Options{})
			st, err := s.Prepare(t.Context(), change.Plan{Ops: appendOps(t, root)})
			if err == nil {
				_, err = s.Commit(t.Context(), st)
			}
			if err = errors.Join(err, lose(root)); err != nil {
				t.Fatal(err)
			}
			out, err := s.Settle(t.Context(), st)
			if err != nil || out.State == change.Committed {
				t.Errorf("Settle = %v, %v, want that it did not take effect", out, err)
			}
			if err := s.Discard(t.Context(), st); err != nil {
				t.Errorf("Discard = %v", err)
			}
		})
	}
}
