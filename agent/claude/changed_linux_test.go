package claude_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mend/change"
	"mend/internal/mend"
	"mend/repair"
)

// changes are changes of a transcript that another program may make at any time.
var changes = []struct {
	name string
	make func(t *testing.T, file string)
}{
	{"grown", func(t *testing.T, file string) { appendTo(t, file, `{"type":"mode","mode":"normal"}`+"\n") }},
	{"grown, torn", func(t *testing.T, file string) { appendTo(t, file, `{"type":"mo`) }},
	{"shrunk", func(t *testing.T, file string) { must(t, os.Truncate(file, 20_000)) }},
	{"emptied", func(t *testing.T, file string) { must(t, os.Truncate(file, 0)) }},
	{"replaced", func(t *testing.T, file string) {
		must(t, os.Remove(file))
		must(t, os.WriteFile(file, []byte("{}\n"), 0o600))
	}},
	{"removed", func(t *testing.T, file string) { must(t, os.Remove(file)) }},
	{"a link", func(t *testing.T, file string) {
		must(t, os.Rename(file, elsewhere(file)))
		must(t, os.Symlink(elsewhere(file), file))
	}},
	{"a hard link", func(t *testing.T, file string) { must(t, os.Link(file, elsewhere(file))) }},
	{"a link to nowhere", func(t *testing.T, file string) {
		must(t, os.Remove(file))
		must(t, os.Symlink(elsewhere(file), file))
	}},
	{"a FIFO", func(t *testing.T, file string) { must(t, os.Remove(file)); must(t, syscall.Mkfifo(file, 0o600)) }},
	{"a folder", func(t *testing.T, file string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o700)) }},
	{"in a linked folder", func(t *testing.T, file string) {
		dir := filepath.Dir(file)
		must(t, os.Rename(dir, elsewhere(dir)))
		must(t, os.Symlink(elsewhere(dir), dir))
	}},
}

// elsewhere returns a path outside the store.
func elsewhere(file string) string {
	for filepath.Base(filepath.Dir(file)) != ".claude" {
		file = filepath.Dir(file)
	}
	return filepath.Join(filepath.Dir(filepath.Dir(file)), "elsewhere")
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, errors.Join(err, f.Close()))
}

// stateOf describes the entries at a path and at the path outside the store: the content of a file, the target of a
// link, or the kind of anything else.
func stateOf(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, top := range []string{filepath.Join(root, "projects"), filepath.Join(filepath.Dir(root), "elsewhere")} {
		must(t, filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case e.Type() == fs.ModeSymlink:
				all[path], err = os.Readlink(path)
			case e.Type().IsRegular():
				var data []byte
				data, err = os.ReadFile(path)
				all[path] = string(data)
			default:
				all[path] = e.Type().String()
			}
			return err
		}))
	}
	return all
}

// applyPlan applies a plan, and reports whether it was committed. It ends the test if the call blocks.
func applyPlan(t *testing.T, c *mend.Store, p change.Plan) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := c.Apply(ctx, p)
	if ctx.Err() != nil {
		t.Fatalf("Apply blocks: %v", err)
	}
	return err == nil && e.State == change.Committed
}

// inPlace is the name of a plan that rewrites the whole transcript, as a trim does.
const inPlace = "written in place"

// newPlannedStore returns a damaged store with the plan of its repair, or with a plan that rewrites the transcript.
func newPlannedStore(t *testing.T, damage string) (testStore, *mend.Store, change.Plan) {
	t.Helper()
	if damage == inPlace {
		s, c, plan := newPlannedStore(t, "parent unknown")
		ref := plan.Ops[0].Ref
		ref.Kind, ref.Message = change.KindSession, ""
		image := func(data []byte) *change.Image { return &change.Image{Data: data, Mode: 0o600} }
		after := bytes.Replace(s.data, []byte(`"P1first`), []byte(`"first`), 1)
		plan.Ops = []change.Op{{Ref: ref, Pre: image(s.data), Post: image(after)}}
		return s, c, plan
	}
	s := newTestStore(t, damage)
	c := s.client()
	heads, err := c.Sessions(t.Context())
	must(t, err)
	r, err := c.ProposeRepair(t.Context(), heads[0], repair.Request{})
	must(t, err)
	return s, c, r.Plan
}

// TestChangedMeanwhile: if a transcript changes after a plan was made, applying the plan leaves the new content alone,
// or appends its lines to it. The same holds between a repair and its undo, which removes only its own lines.
func TestChangedMeanwhile(t *testing.T) {
	for _, x := range changes {
		for _, damage := range []string{"parent unknown", inPlace} { // one plan appends lines, one rewrites the transcript
			t.Run("apply "+x.name+", "+damage, func(t *testing.T) {
				s, c, plan := newPlannedStore(t, damage)
				x.make(t, s.file)
				s.checkApply(t, c, plan, nil)
			})
			t.Run("undo "+x.name+", "+damage, func(t *testing.T) {
				s, c, plan := newPlannedStore(t, damage)
				e, err := c.Apply(t.Context(), plan)
				must(t, err)
				repaired, err := os.ReadFile(s.file)
				must(t, err)
				p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}})
				must(t, err)
				x.make(t, s.file)
				s.checkApply(t, c, p, repaired)
			})
		}
	}
}

// checkApply applies a plan to a store that has changed since. If it is not committed, no byte may change; if it is,
// everything that was added to the transcript is still in it. repaired is the transcript before the change if the plan
// is an undo.
func (s testStore) checkApply(t *testing.T, c *mend.Store, p change.Plan, repaired []byte) {
	t.Helper()
	previous := stateOf(t, s.root)
	if !applyPlan(t, c, p) {
		now := stateOf(t, s.root)
		for path, data := range previous {
			if now[path] != data {
				t.Errorf("%s changed: %.60q, want %.60q", path, now[path], data)
			}
		}
		return
	}
	if info, err := os.Lstat(s.file); err != nil || !info.Mode().IsRegular() {
		t.Fatalf("committed to %v, %v", info, err)
	}
	now, err := os.ReadFile(s.file)
	must(t, err)
	switch old := []byte(previous[s.file]); {
	case repaired == nil && p.Ops[0].Ref.Kind == change.KindSession: // it rewrites the transcript
		if want := append(bytes.Clone(p.Ops[0].Post.Data), bytes.TrimPrefix(old, s.data)...); !bytes.Equal(now, want) {
			t.Errorf("the repair is committed: %d bytes, want the plan's, then the added lines", len(now))
		}
	case repaired == nil && !bytes.HasPrefix(now, old):
		t.Errorf("the repair is committed, and the transcript does not begin with its former content")
	case repaired != nil && !bytes.Equal(now, append(bytes.Clone(s.data), bytes.TrimPrefix(old, repaired)...)):
		t.Errorf("the undo is committed: %d bytes, want the transcript before the repair, then the added lines", len(now))
	}
}
