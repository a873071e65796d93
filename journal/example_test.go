package journal_test

import (
	"fmt"
	"os"
	"path/filepath"

	"mend/change"
	"mend/journal"
)

// An entry begins before the store is changed, and ends with the outcome.
func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = j.Close() }()
	ops := []change.Op{{
		Ref: change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"},
		Pre: &change.Image{Data: []byte("old"), Mode: 0o644},
	}}
	e, err := j.Begin(change.Plan{Session: "ses_1", Ops: ops}, change.Staged{Ops: ops})
	if err != nil {
		panic(err)
	}
	fmt.Println(e.State)
	e, err = j.Finish(e, change.Outcome{State: change.Committed})
	if err != nil {
		panic(err)
	}
	kept, err := j.Ops(e)
	fmt.Println(e.State, string(kept[0].Pre.Data), err)
	// Output:
	// pending
	// committed old <nil>
}
