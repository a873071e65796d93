package fsstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/session"
)

// What is stray is told in the order of the messages, whichever reader is done
// first.
func TestStrayInOrder(t *testing.T) {
	v, err := mustOpen(t, smallTree(t), "", Options{}).view(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	v.seen = &tally{}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("msg_%02d.json", i))
	}
	v.eachMessage(session.Ref{Kind: session.KindMessage, Session: "ses_1"}, names, func(w *view, ref session.Ref, name string, i int) {
		time.Sleep(time.Duration(7-i%7) * slow)
		w.note(name, ref.Message, "a test")
	})
	if len(v.stray) != len(names) || !slices.IsSortedFunc(v.stray, func(a, b session.Stray) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("stray are %v, want one for each of the messages in order", v.stray)
	}
}
