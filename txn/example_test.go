package txn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mend/change"
	"mend/fsstore"
	"mend/journal"
	"mend/txn"
	"mend/undo"
)

// A change of two files, and its undo. docs/library.md has the recovery, too.
func Example() {
	dir, err := os.MkdirTemp("", "txn")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = j.Close() }()
	root, notes, ctx := filepath.Join(dir, "notes"), fsstore.Paths("notes"), context.Background()
	if err := os.Mkdir(root, 0o700); err != nil {
		panic(err)
	}
	store, err := fsstore.New(root, notes, fsstore.Options{Owner: j.ID()})
	if err != nil {
		panic(err)
	}
	text := func(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: 0o600} }
	e, err := txn.Run(ctx, j, store, change.Plan{Session: "notes", Ops: []change.Op{
		{Ref: notes.Ref("a"), Post: text("one")}, {Ref: notes.Ref("b"), Post: text("two")},
	}})
	if err != nil {
		panic(err)
	}
	names, _ := os.ReadDir(root)
	fmt.Println(e.State, len(names))
	p, err := undo.Propose(ctx, j, store, e)
	if err == nil {
		e, err = txn.Run(ctx, j, store, p)
	}
	names, _ = os.ReadDir(root)
	fmt.Println(e.State, len(names), err)
	// Output:
	// committed 2
	// committed 0 <nil>
}
