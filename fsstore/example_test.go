package fsstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mend/change"
	"mend/fsstore"
)

// A store of plain files, without a journal: a crash between Prepare and Commit would leave a staging folder.
func Example() {
	root, err := os.MkdirTemp("", "notes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	notes, ctx := fsstore.Paths("notes"), context.Background()
	s, err := fsstore.New(root, notes, fsstore.Options{Owner: "me"})
	if err != nil {
		panic(err)
	}
	st, err := s.Prepare(ctx, change.Plan{Session: "notes", Ops: []change.Op{
		{Ref: notes.Ref("a/b.txt"), Post: &change.Image{Data: []byte("hello"), Mode: 0o600}},
	}})
	if err != nil {
		panic(err)
	}
	out, err := s.Commit(ctx, st)
	if err != nil {
		panic(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "a", "b.txt"))
	fmt.Println(out.State, string(data), err, s.Discard(ctx, st))
	// Output:
	// committed hello <nil> <nil>
}
