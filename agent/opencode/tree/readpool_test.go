package tree

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/test/storetest"
)

// Stray is reported in the order of the messages, whichever worker is done
// first.
func TestStrayInOrder(t *testing.T) {
	tr, err := mustOpen(t, storetest.SmallTree(t), Options{}).newReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	tr.stamp = &stampHasher{}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("msg_%02d.json", i))
	}
	tr.eachMessage(change.Ref{Kind: change.KindMessage, Session: "ses_1"}, names, func(w *treeReader, ref change.Ref, name string, i int) {
		time.Sleep(time.Duration(7-i%7) * time.Millisecond / 2)
		w.addStray(change.StrayOther, name, ref.Message, "a test")
	})
	if len(tr.stray) != len(names) || !slices.IsSortedFunc(tr.stray, func(a, b change.Stray) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("stray are %v, want one for each of the messages in order", tr.stray)
	}
}
