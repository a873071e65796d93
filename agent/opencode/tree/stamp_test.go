package tree

import (
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// Every change of a record or a name gives another stamp.
func TestStampChanges(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, Options{})
	seen := map[[32]byte]string{}
	look := func(after string) {
		t.Helper()
		stamp, err := s.Stamp(t.Context(), change.Head{ID: "ses_1"})
		if err != nil {
			t.Fatal(err)
		}
		if as, known := seen[stamp.Sum]; known {
			t.Errorf("the stamp after %s is that after %s", after, as)
		}
		seen[stamp.Sum] = after
	}
	look("nothing")
	storetest.Put(t, root, "part/msg_1/prt_8.json", storetest.TextJSON("msg_1", "prt_8", "x"))
	look("a new part")
	storetest.Put(t, root, "part/msg_1/prt_8.json", storetest.TextJSON("msg_1", "prt_8", "xy"))
	look("a longer part")
	if err := os.Rename(filepath.Join(root, "part/msg_1/prt_8.json"), filepath.Join(root, "part/msg_1/prt_7.json")); err != nil {
		t.Fatal(err)
	}
	look("another name")
	if err := os.Rename(filepath.Join(root, "part/msg_1/prt_7.json"), filepath.Join(root, "part/msg_2/prt_7.json")); err != nil {
		t.Fatal(err)
	}
	look("another message")
	storetest.Put(t, root, "message/ses_1/msg_8.json", storetest.MessageJSON("ses_1", "msg_8", "user", 9))
	look("a new message")
}
