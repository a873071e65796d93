package tree

import (
	"fmt"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestLoadRawSkips: a copy reads only the messages behind the last mark that a session has still, whatever was changed.
func TestLoadRawSkips(t *testing.T) {
	root := storetest.SmallTree(t)
	for i := range 30 {
		id := fmt.Sprintf("msg_3%02d", i)
		storetest.Put(t, root, "message/ses_1/"+id+".json", storetest.MessageJSON("ses_1", id, "user", 20+i))
		storetest.Put(t, root, "part/"+id+"/prt_"+id+".json", storetest.TextJSON(id, "prt_"+id, "text"))
	}
	s := mustOpen(t, root, Options{})
	head := change.Head{ID: "ses_1"}
	load := func(marks []change.Mark) (skipped, read int, now []change.Mark) {
		t.Helper()
		is, err := s.LoadRaw(t.Context(), head, marks)
		if err != nil {
			t.Fatal(err)
		}
		if stamp, err := s.Stamp(t.Context(), head); err != nil || stamp.Sum != is.Stamp.Sum || is.Stamp.Sum == [32]byte{} {
			t.Errorf("the copy has another stamp than the session, %v", err)
		}
		if is.Skipped > 0 && is.First != "msg_1" {
			t.Errorf("the first message is %q", is.First)
		}
		return is.Skipped, len(is.Messages), is.Marks
	}
	skipped, all, marks := load(nil)
	if skipped != 0 || all < 32 || len(marks) != all {
		t.Fatalf("skipped %d and read %d of a session, with %d marks", skipped, all, len(marks))
	}
	if skipped, read, _ := load(marks); skipped != all || read != 0 {
		t.Errorf("of a session as it was, skipped %d and read %d", skipped, read)
	}
	for _, c := range []struct {
		name, path, text string
		read             int // msg_4 is one of them
	}{
		{"a new message", "message/ses_1/msg_400.json", storetest.MessageJSON("ses_1", "msg_400", "user", 90), 1},
		{"a part of the last", "part/msg_329/prt_new.json", storetest.TextJSON("msg_329", "prt_new", "x"), 3},
		{"an older part written again", "part/msg_320/prt_msg_320.json", storetest.TextJSON("msg_320", "prt_msg_320", "longer"), 12},
		{"a message in between", "message/ses_1/msg_3105.json", storetest.MessageJSON("ses_1", "msg_3105", "user", 30), 22},
	} {
		storetest.Put(t, root, c.path, c.text)
		skipped, read, now := load(marks)
		if read != c.read || skipped+read != len(now) {
			t.Errorf("%s: read %d messages of %d, want %d", c.name, read, len(now), c.read)
		}
	}
}
