package tree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/storetest"
	"mend/session"
)

// TestFiles puts files among the records, and checks what the agent opens for each. The
// matrix in cmd/mend checks the real program.
func TestFiles(t *testing.T) {
	part := func(id string) session.Ref {
		return session.Ref{Kind: session.KindPart, Session: "ses_1", Message: "msg_1", Part: id}
	}
	self := session.Ref{Kind: session.KindFile}
	nothing := session.Ref{}
	for p, c := range map[string]struct {
		opens string
		reads session.Ref
	}{
		"part/msg_1/prt_11.json.bak":         {"part/msg_1/prt_11.jso.json", nothing},
		"part/msg_1/prt_11.json~":            {"part/msg_1/prt_11..json", nothing},
		"part/msg_1/4913":                    {"part/msg_1.json", nothing},
		"part/msg_1/abcde":                   {"part/msg_1.json", nothing},
		"part/msg_1/Thumbs.db":               {"part/msg_1/Thum.json", nothing},
		"part/msg_1/prt_11 copy.json":        {"part/msg_1/prt_11 copy.json", self},
		"part/msg_1/prt_11.jsxn":             {"part/msg_1/prt_11.json", part("prt_11")},
		"part/msg_1/in/prt_9.json":           {"part/msg_1/in/prt_9.json", self},
		"part/msg_1/in/x":                    {"part/msg_1.json", nothing},
		"part/msg_1/in/ab.md":                {"part/msg_1/in.json", nothing},
		"part/msg_1/in/deep/a.txt":           {"part/msg_1/in/deep.json", nothing},
		"part/msg_1/prt_99.json/x.json":      {"part/msg_1/prt_99.json/x.json", self},
		"part/msg_1/a\xffb.json":             {"part/msg_1/a\ufffdb.json", nothing},
		"part/msg_1/new\nline.json":          {"part/msg_1/new\nline.json", self},
		"part/msg_1/😀bcd":                    {"part/msg_1.json", nothing},
		"part/msg_1/😀bcde":                   {"part/msg_1/\ufffd.json", nothing}, // half of a pair
		"message/ses_1/msg_1.json.bak":       {"message/ses_1/msg_1.jso.json", nothing},
		"message/ses_1/msg_1 2.json":         {"message/ses_1/msg_1 2.json", self},
		"message/ses_1/in/msg_9.json":        {"message/ses_1/in.json", nothing},
		"message/ses_1/zzz.json":             {"message/ses_1/zzz.json", self},
		"message/ses_1/msg_2/notes.txt":      {"message/ses_1/msg_2.json", session.Ref{Kind: session.KindMessage, Session: "ses_1", Message: "msg_2"}},
		"part/msg_1/.DS_Store":               {},
		"part/msg_1/.prt_11.json.swp":        {},
		"part/msg_1/._prt_11.json":           {},
		"part/msg_1/.hidden/prt_11.json.bak": {},
		"part/msg_1/in/.DS_Store":            {},
		"message/ses_1/.DS_Store":            {},
		"session/global/Thumbs.db":           {},
		"part/Thumbs.db":                     {},
		"message/desktop.ini":                {},
	} {
		root := storetest.SmallTree(t)
		if !storetest.TryPut(root, p) {
			t.Logf("this file system has no %q", p)
			continue
		}
		loaded := mustLoad(t, mustOpen(t, root, "", Options{}))
		if len(loaded.Stray) > 0 {
			t.Errorf("%q: stray %+v", p, loaded.Stray)
		}
		if c.opens == "" {
			if len(loaded.Files) > 0 {
				t.Errorf("%q: files %+v, want none", p, loaded.Files)
			}
			continue
		}
		if len(loaded.Files) != 1 {
			t.Errorf("%q: %d files", p, len(loaded.Files))
			continue
		}
		f := loaded.Files[0]
		if c.reads == self {
			c.reads = f.Ref
		}
		if f.Path != p || f.Opens != c.opens || f.Reads != c.reads || f.Locked != "" {
			t.Errorf("%q: %+v, want that it opens %q and reads %+v", p, f, c.opens, c.reads)
		}
	}
}

// TestFilesAmongProjects: the store reports, once, the files that keep the agent from
// listing its projects.
func TestFilesAmongProjects(t *testing.T) {
	root := storetest.SmallTree(t)
	for _, name := range []string{"global.json", "a.json", "global.json.bak", "Thumbs.db", ".DS_Store", "global.orig", "a copy.json", "in/4913"} {
		storetest.Put(t, root, "project/"+name, "{}")
	}
	s := mustOpen(t, root, "", Options{})
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 2 {
		t.Fatalf("List = %+v, %v", heads, err)
	}
	wantStray(t, heads[1].Stray, "project/Thumbs.db", "project/global.json.bak", "project/in/4913")
	if loaded := mustLoad(t, s); len(loaded.Stray)+len(loaded.Files) != 0 {
		t.Errorf("the session has %+v and %+v", loaded.Stray, loaded.Files)
	}
}

// TestFileInPlace puts a plain file where a folder should be: issue 13, 17.
func TestFileInPlace(t *testing.T) {
	for _, c := range []struct {
		path string
		ref  session.Ref // of the file; zero where List tells
	}{
		{"part/msg_1", session.Ref{Kind: session.KindFile, Session: "ses_1", Message: "msg_1"}},
		{"message/ses_1", session.Ref{Kind: session.KindFile, Session: "ses_1"}},
		{"part", session.Ref{}},
		{"message", session.Ref{}},
		{"session/global", session.Ref{}},
		{"session", session.Ref{}},
		{"project", session.Ref{}},
	} {
		root := storetest.SmallTree(t)
		s := mustOpen(t, root, "", Options{Owner: "own"})
		if err := os.RemoveAll(filepath.Join(root, c.path)); err != nil {
			t.Fatal(err)
		}
		storetest.Put(t, root, c.path, "mine")
		heads, err := s.List(t.Context())
		if err != nil || len(heads) == 0 {
			t.Fatalf("%s: List = %+v, %v", c.path, heads, err)
		}
		if c.ref == (session.Ref{}) {
			stray := heads[len(heads)-1].Stray
			wantStray(t, stray, c.path)
			if len(stray) == 1 && !stray[0].Place {
				t.Errorf("%s is noted as %+v", c.path, stray)
			}
			loaded := mustLoad(t, s)
			if wantStray(t, loaded.Stray, c.path); len(loaded.Stray) == 1 && !loaded.Stray[0].Place {
				t.Errorf("%s is noted of the session as %+v", c.path, loaded.Stray)
			}
			head := session.Head{ID: "ses_1", Ref: session.Ref{Kind: session.KindSession, Project: "global", Session: "ses_1"}}
			if stamp, err := s.Stamp(t.Context(), head); err != nil || stamp != (session.Stamp{}) {
				t.Errorf("%s: the stamp is %v, %v", c.path, stamp, err)
			}
			continue
		}
		loaded := mustLoad(t, s)
		if len(loaded.Files) != 1 || loaded.Files[0].Ref != c.ref || loaded.Files[0].Path != c.path || loaded.Files[0].Opens != "" {
			t.Errorf("%s: files %+v", c.path, loaded.Files)
		}
	}
}

// TestFileLimits: what is too large, or has several names, is not read and stays.
func TestFileLimits(t *testing.T) {
	root := storetest.SmallTree(t)
	storetest.Put(t, root, "part/msg_1/dump.sql", strings.Repeat("x", 5000))
	storetest.Put(t, root, "linked", "x")
	if err := os.Link(filepath.Join(root, "linked"), filepath.Join(root, "part/msg_1/linked.txt")); err != nil {
		t.Skip(err)
	}
	loaded := mustLoad(t, mustOpen(t, root, "", Options{MaxRecord: 4096}))
	if len(loaded.Files) != 2 {
		t.Fatalf("files %+v, want 2", loaded.Files)
	}
	for i, why := range []string{"too large", "hard link"} {
		if f := loaded.Files[i]; !strings.Contains(f.Locked, why) || i == 0 && f.Data != nil {
			t.Errorf("%s: %q, %d bytes", f.Path, f.Locked, len(f.Data))
		}
	}
}

// TestFileNames: the journal's names of files lead nowhere else.
func TestFileNames(t *testing.T) {
	storetest.NeedWrites(t)
	s := mustOpen(t, storetest.SmallTree(t), "", Options{Owner: "own"})
	for _, name := range []string{"..", "../x", "a/../x", "/x", "x/", "a//b", ".x", "a/.x", "a\x00b", "prt_11.json", "prt_99.json"} {
		ref := session.Ref{Kind: session.KindFile, Session: "ses_1", Message: "msg_1", Part: name}
		op := change.Op{Ref: ref, Post: &change.Image{Data: []byte("x"), Mode: 0o644}}
		if _, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{op}}); err == nil {
			t.Errorf("%q is taken for the name of a file", name)
		}
	}
}
