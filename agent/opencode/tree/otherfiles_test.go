package tree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestFilesAmongRecords: a file among the records that the agent would read as a record is stray. TestMatrix of
// cmd/mend compares this with the real program.
func TestFilesAmongRecords(t *testing.T) {
	for p, want := range map[string]string{
		"part/msg_1/prt_11.json.bak":         "part/msg_1/prt_11.json.bak",
		"part/msg_1/4913":                    "part/msg_1/4913",
		"part/msg_1/prt_11 copy.json":        "part/msg_1/prt_11 copy.json",
		"part/msg_1/in/prt_9.json":           "part/msg_1/in",
		"part/msg_1/in/deep/a.txt":           "part/msg_1/in",
		"part/msg_1/prt_99.json/x.json":      "part/msg_1/prt_99.json",
		"part/msg_1/a\xffb.json":             "part/msg_1/a\xffb.json",
		"part/msg_1/new\nline.json":          "part/msg_1/new\nline.json",
		"message/ses_1/msg_1.json.bak":       "message/ses_1/msg_1.json.bak",
		"message/ses_1/msg_1 2.json":         "message/ses_1/msg_1 2.json",
		"message/ses_1/in/msg_9.json":        "message/ses_1/in",
		"message/ses_1/zzz.json":             "message/ses_1/zzz.json",
		"message/ses_1/msg_2/notes.txt":      "message/ses_1/msg_2",
		"part/msg_1/.DS_Store":               "",
		"part/msg_1/.prt_11.json.swp":        "",
		"part/msg_1/._prt_11.json":           "",
		"part/msg_1/.hidden/prt_11.json.bak": "",
		"part/msg_1/in/.DS_Store":            "",
		"message/ses_1/.DS_Store":            "",
		"session/global/Thumbs.db":           "",
		"part/Thumbs.db":                     "",
		"message/desktop.ini":                "",
	} {
		root := storetest.SmallTree(t)
		if !storetest.TryPut(root, p) {
			t.Logf("this file system has no %q", p)
			continue
		}
		stray := mustLoad(t, mustOpen(t, root, Options{})).Stray
		if want == "" {
			wantStray(t, stray)
			continue
		}
		wantStray(t, stray, want)
		message := ""
		if strings.HasPrefix(p, "part/") {
			message = "msg_1"
		}
		if len(stray) == 1 && (stray[0].Kind != change.StrayFile || stray[0].Message != message) {
			t.Errorf("%q is reported as %+v", p, stray[0])
		}
	}
}

// TestFileInPlace: a plain file in the place of a folder is stray, and the session then has no stamp.
func TestFileInPlace(t *testing.T) {
	for _, c := range []struct {
		path string
		kind change.StrayKind
		list bool // List reports it, too
	}{
		{"part/msg_1", change.StrayOther, false},
		{"message/ses_1", change.StrayPlace, false},
		{"part", change.StrayPlace, true},
		{"message", change.StrayPlace, true},
		{"session/global", change.StrayPlace, true},
		{"session", change.StrayPlace, true},
		{"project", change.StrayPlace, true},
	} {
		root := storetest.SmallTree(t)
		s := mustOpen(t, root, Options{Owner: "own"})
		must(t, os.RemoveAll(filepath.Join(root, c.path)))
		storetest.Put(t, root, c.path, "a file of the user")
		heads, err := s.List(t.Context())
		if err != nil || len(heads) == 0 {
			t.Fatalf("%s: List = %+v, %v", c.path, heads, err)
		}
		wantPlace := func(stray []change.Stray) {
			t.Helper()
			wantStray(t, stray, c.path)
			if len(stray) == 1 && stray[0].Kind != c.kind {
				t.Errorf("%s is stray as %+v, want kind %d", c.path, stray, c.kind)
			}
		}
		if c.list {
			wantPlace(heads[len(heads)-1].Stray)
		}
		wantPlace(mustLoad(t, s).Stray)
		head := change.Head{ID: "ses_1", Ref: change.Ref{Kind: change.KindSession, Project: "global", Session: "ses_1"}}
		if stamp, err := s.Stamp(t.Context(), head); err != nil || stamp != (change.Stamp{}) {
			t.Errorf("%s: the stamp is %v, %v", c.path, stamp, err)
		}
	}
}
