package undo_test

import (
	"context"
	"fmt"

	"mend/change"
	"mend/undo"
)

// The plan that reverts an entry holds if the record is as the entry left it.
func ExamplePropose() {
	ref := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}
	text := func(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: 0o644} }
	journal := memory{ops: []change.Op{{Ref: ref, Pre: text("old"), Post: text("new")}}}
	entry := change.Entry{Seq: 1, Session: "ses_1", State: change.Committed}
	for _, now := range []string{"new", "another"} {
		store := memory{records: map[change.Ref]*change.Image{ref: text(now)}}
		plan, err := undo.Propose(context.Background(), journal, store, entry)
		fmt.Println(len(plan.Ops), err)
	}
	// Output:
	// 1 <nil>
	// 0 message msg_1: changed since
}
