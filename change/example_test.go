package change_test

import (
	"fmt"

	"mend/change"
)

// Two changes of one record, merged and reverted.
func ExampleCompose() {
	ref := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}
	text := func(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: 0o644} }
	ops, err := change.Compose(
		[]change.Op{{Ref: ref, Pre: text("one"), Post: text("two")}},
		[]change.Op{{Ref: ref, Pre: text("two"), Post: text("three")}},
	)
	for _, o := range append(ops, change.Inverse(ops)...) {
		fmt.Println(o.Verb(), o.Ref, string(o.Pre.Data), string(o.Post.Data), err)
	}
	// Output:
	// change msg_1 one three <nil>
	// change msg_1 three one <nil>
}
