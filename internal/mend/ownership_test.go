package mend_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/unattended"
	"mend/repair"
)

// TestOwns: an entry belongs to a store that was moved since, but not to another store, nor to a copy while the
// original exists.
func TestOwns(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *change.Entry, before, now string) error
		want   bool
	}{
		"the same path":   {func(*change.Entry, string, string) error { return nil }, true},
		"another kind":    {func(e *change.Entry, _, _ string) error { e.Store.Kind = "lines"; return nil }, false},
		"moved":           {func(e *change.Entry, before, _ string) error { e.Store.Root = before; return nil }, true},
		"moved by a copy": {func(e *change.Entry, before, _ string) error { e.Store.Root, e.Store.Ino = before, 1; return nil }, true},
		"an empty folder in the old place": {func(e *change.Entry, before, _ string) error {
			e.Store.Root, e.Store.Ino = before, 1
			return os.MkdirAll(before, 0o755)
		}, true},
		"a store in the old place": {func(e *change.Entry, before, now string) error {
			e.Store.Root, e.Store.Ino = before, 1
			return os.CopyFS(before, os.DirFS(now))
		}, false},
		"another content": {func(e *change.Entry, before, _ string) error {
			e.Store.Root, e.Store.Ino = before, 1
			for i := range e.Ops {
				e.Ops[i].Pre, e.Ops[i].Post = &change.Digest{Size: 1}, &change.Digest{Size: 2}
			}
			return nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			damage.Text(damage.Hello, " \n")(damage.Tree{T: t, Root: b.store, Session: b.session})
			id, _, err := unattended.New(b.client).Repair(t.Context(), change.Head{ID: b.session}, repair.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			e, _, err := mend.OpenJournal(b.journal()).Show(id)
			if err = errors.Join(err, c.change(&e, filepath.Join(filepath.Dir(b.store), "was"), b.store)); err != nil {
				t.Fatal(err)
			}
			if got := b.client.Owns(t.Context(), e); got != c.want {
				t.Errorf("Owns = %t, want %t", got, c.want)
			}
		})
	}
}
