package tree

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/record"
	"mend/internal/storetest"
	"mend/session"
)

// scanned is what ScanRecords passes of the records, by their refs, until there are most.
func scanned(t *testing.T, s *Store, most int) (records map[string]string, bare *record.Session, stamp session.Stamp) {
	t.Helper()
	var mu sync.Mutex
	records = map[string]string{}
	note := func(r *session.Record) bool {
		mu.Lock()
		defer mu.Unlock()
		if len(records) == most {
			return false
		}
		what := string(r.Data)
		if r.Defect != nil {
			what = "defect: " + r.Defect.Why
		}
		records[r.Ref.Kind.String()+" "+r.Ref.String()] = what
		return true
	}
	bare, stamp = s.ScanRecords(t.Context(), session.Head{ID: "ses_1"}, record.Memory{}, func(m *session.Record, parts iter.Seq[*session.Record]) bool {
		if !note(m) {
			return false
		}
		for p := range parts {
			if !note(p) {
				return false
			}
		}
		return true
	})
	return records, bare, stamp
}

// ScanRecords shows the records that Load has, and leaves the same stamp as Load and
// Stamp do.
func TestScanRecords(t *testing.T) {
	root := storetest.SmallTree(t)
	storetest.Put(t, root, "part/msg_1/prt_9.json", storetest.TextJSON("msg_1", "prt_9", strings.Repeat("long ", 300_000)))
	s := mustOpen(t, root, "", Options{})
	want := map[string]string{}
	loaded, stamp, err := s.LoadStamped(t.Context(), session.Head{ID: "ses_1"})
	if err != nil {
		t.Fatal(err)
	}
	for r := range loaded.Records {
		if r.Ref.Kind != session.KindSession {
			want[r.Ref.Kind.String()+" "+r.Ref.String()] = string(r.Data)
		}
	}
	got, bare, scanStamp := scanned(t, s, -1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ScanRecords shows other records (-Load +ScanRecords):\n%s", diff)
	}
	if bare == nil || bare.Title != loaded.Title || string(bare.Info.Data) != string(loaded.Info.Data) || len(bare.Messages) > 0 {
		t.Errorf("ScanRecords returned %v", bare)
	}
	blind, err := s.Stamp(t.Context(), session.Head{ID: "ses_1"})
	if err != nil || stamp == (session.Stamp{}) || scanStamp != stamp || blind != stamp {
		t.Errorf("the stamps are %x of Load, %x of ScanRecords, %x of Stamp (%v), want one", stamp.Sum, scanStamp.Sum, blind.Sum, err)
	}
}

// What ScanRecords returned stays as it is while others read.
func TestScanRecordsReturnsItsOwn(t *testing.T) {
	s := mustOpen(t, storetest.SmallTree(t), "", Options{})
	_, bare, _ := scanned(t, s, -1)
	if bare == nil || len(bare.Info.Data) == 0 {
		t.Fatalf("ScanRecords returned %v", bare)
	}
	was := string(bare.Info.Data)
	for range 2 * maxReaders {
		if _, err := s.Load(t.Context(), session.Head{ID: "ses_1"}); err != nil {
			t.Fatal(err)
		}
		scanned(t, s, -1)
	}
	if now := string(bare.Info.Data); now != was {
		t.Errorf("the session's record has become %q, want %q", now, was)
	}
}

// Every change of a record and of a name is another stamp.
func TestStampChanges(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, "", Options{})
	seen := map[[32]byte]string{}
	look := func(after string) {
		t.Helper()
		stamp, err := s.Stamp(t.Context(), session.Head{ID: "ses_1"})
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

// ScanRecords gives up where Load would report something, and where visit returns false.
func TestScanRecordsGivesUp(t *testing.T) {
	rows := []struct {
		name string
		cut  func(root string) error
	}{
		{"a link among the parts' folders", func(root string) error {
			return os.Rename(filepath.Join(root, "part/msg_1"), filepath.Join(root, "part/away"))
		}},
		{"no messages", func(root string) error { return os.RemoveAll(filepath.Join(root, "message/ses_1")) }},
		{"a name that is no id", func(root string) error { return os.WriteFile(filepath.Join(root, "part/msg_1/a b.json"), nil, 0o644) }},
	}
	for _, r := range rows {
		root := storetest.SmallTree(t)
		if err := r.cut(root); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(r.name, "a link") {
			if err := os.Symlink("away", filepath.Join(root, "part/msg_1")); err != nil {
				t.Skip(err)
			}
		}
		if records, bare, _ := scanned(t, mustOpen(t, root, "", Options{}), -1); bare != nil {
			t.Errorf("with %s: ScanRecords returned a session, of %d records", r.name, len(records))
		}
	}
	root := storetest.SmallTree(t)
	for _, most := range []int{0, 1, 3} {
		if records, bare, _ := scanned(t, mustOpen(t, root, "", Options{}), most); bare != nil || len(records) != most {
			t.Errorf("told to stop after %d records: ScanRecords returned %v and showed %d", most, bare, len(records))
		}
	}
	if err := os.Link(filepath.Join(root, "message/ses_1/msg_1.json"), filepath.Join(filepath.Dir(root), "other")); err != nil {
		t.Skip(err)
	}
	records, _, _ := scanned(t, mustOpen(t, root, "", Options{}), -1)
	if what := records["message msg_1"]; !strings.Contains(what, `"msg_1"`) {
		t.Errorf("ScanRecords shows a file with two links as %q", what)
	}
}
