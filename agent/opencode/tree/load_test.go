package tree

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/storetest"
)

// TestFixture: the tree that OpenCode 1.1.53 wrote is read completely, and not changed.
func TestFixture(t *testing.T) {
	data := unpack(t)
	s := mustOpen(t, data, Options{})
	before := storetest.Snapshot(t, data, "")
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("List = %v, %v, want one session", heads, err)
	}
	h := heads[0]
	if h.Title != "A title" || h.Version != "1.1.53" || h.Project != "global" || h.Directory != "/home/user/project" ||
		h.Created != 1795224835838 || h.Updated != 1795224840201 {
		t.Errorf("List gives %+v", h)
	}
	loaded, _, err := s.Load(t.Context(), h)
	must(t, err)
	if loaded.Info.Defect != nil || len(loaded.Messages) != 10 || len(loaded.Stray) != 0 {
		t.Errorf("Load gives %d messages and %v, want 10 messages", len(loaded.Messages), loaded.Stray)
	}
	records := 0
	for r := range loaded.Records {
		records++
		if r.Defect != nil {
			t.Errorf("%s: %+v", r.Ref, r.Defect)
		}
		if r.Mode != 0o644 {
			t.Errorf("%s has the mode %v", r.Ref, r.Mode)
		}
	}
	if records != 42 {
		t.Errorf("Load gives %d records, want 42", records)
	}
	if !slices.IsSortedFunc(loaded.Messages, func(a, b record.Message) int { return int(a.Created - b.Created) }) {
		t.Error("the messages are not in order")
	}
	if after := storetest.Snapshot(t, data, ""); !maps.Equal(before, after) {
		t.Error("reading changed the tree")
	}
}

func TestNoSession(t *testing.T) {
	s := mustOpen(t, storetest.SmallTree(t), Options{})
	for _, id := range []string{"", "ses_2", "../ses_1", "ses_1/", "a\x00b", strings.Repeat("x", 300)} {
		if _, _, err := s.Load(t.Context(), change.Head{ID: id}); !errors.Is(err, errNoSession) {
			t.Errorf("Load(%q) = %v, want %v", id, err, errNoSession)
		}
	}
}

func TestEmptyTree(t *testing.T) {
	root := filepath.Join(storetest.FastDir(t), "storage")
	must(t, os.MkdirAll(filepath.Join(root, "message"), 0o755))
	heads, err := mustOpen(t, root, Options{}).List(t.Context())
	if len(heads) != 0 || err != nil {
		t.Errorf("List = %v, %v, want nothing", heads, err)
	}
}

// TestDefects: a part that cannot be read has a defect, keeps its bytes, and does not change how the rest of the
// session is read. Fault cases 1 and 2 (docs/verified.md).
func TestDefects(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for name, c := range map[string]struct {
		content string
		want    change.DefectKind // 0 for none
	}{
		"truncated":       {`{"id":"prt_12","type":"te`, change.Malformed},
		"zero bytes":      {``, change.Malformed},
		"NUL bytes":       {strings.Repeat("\x00", 512), change.Malformed},
		"no JSON":         {`hello`, change.Malformed},
		"a list":          {`[]`, change.Malformed},
		"two documents":   {`{}{}`, change.Malformed},
		"byte order mark": {"\ufeff{}", change.Malformed},
		"NaN":             {`{"id":"prt_12","type":"text","text":"x","n":NaN}`, change.Malformed},
		"deep":            {`{"id":"prt_12","type":"text","text":"x","n":` + deep, change.TooDeep},
		"empty object":    {`{}`, change.WrongType},
		"wrong types":     {`{"id":1,"type":["text"],"text":{}}`, change.WrongType},
		"another id":      {`{"id":"prt_99","type":"text","text":"x"}`, change.WrongName},
		"a path as id":    {`{"id":"../../x","type":"text","text":"x"}`, change.WrongName},
		"equal names":     {`{"id":"a","id":"prt_12","type":"text","text":"x"}`, 0},
		"unknown type":    {`{"id":"prt_12","type":"hologram"}`, 0},
	} {
		root := storetest.SmallTree(t)
		storetest.Put(t, root, "part/msg_1/prt_12.json", c.content)
		loaded := mustLoad(t, mustOpen(t, root, Options{}))
		var got change.DefectKind
		for r := range loaded.Records {
			if r.Ref.Part == "prt_12" && r.Defect != nil {
				got = r.Defect.Kind
			}
			if r.Ref.Part == "prt_12" && string(r.Data) != c.content {
				t.Errorf("%s: the bytes are %q", name, r.Data)
			}
		}
		if n := len(loaded.Message("msg_1").Parts); got != c.want || n != 3 || len(loaded.Stray) != 0 {
			t.Errorf("%s: defect %d among %d parts, stray %v, want %d among 3", name, got, n, loaded.Stray, c.want)
		}
	}
}

// TestSessionDefects: a session's record that cannot be read has a defect, and the messages are read.
func TestSessionDefects(t *testing.T) {
	for content, want := range map[string]change.DefectKind{
		``: change.Malformed, `{`: change.Malformed, `null`: change.Malformed, "\x00\x00": change.Malformed,
		`{}`: change.WrongName, `{"id":5}`: change.WrongName, `{"id":"ses_2"}`: change.WrongName,
		`{"id":"ses_1","title":7,"time":[1e999]}`: 0,
	} {
		root := storetest.SmallTree(t)
		storetest.Put(t, root, "session/global/ses_1.json", content)
		s := mustOpen(t, root, Options{})
		heads, err := s.List(t.Context())
		if err != nil || len(heads) != 1 || heads[0].ID != "ses_1" || heads[0].Title != "" {
			t.Fatalf("with %q List = %+v, %v", content, heads, err)
		}
		loaded := mustLoad(t, s)
		var got change.DefectKind
		if loaded.Info.Defect != nil {
			got = loaded.Info.Defect.Kind
		}
		if got != want || len(loaded.Messages) != 4 {
			t.Errorf("with %q Load gives the defect %d and %d messages, want %d and 4", content, got, len(loaded.Messages), want)
		}
	}
}

// TestBadNames: files whose names are not ids are stray, unless OpenCode ignores them. Fault cases 6 and 9
// (docs/verified.md).
func TestBadNames(t *testing.T) {
	root := storetest.SmallTree(t)
	long := strings.Repeat("x", 220)
	for _, p := range []string{
		"session/global/..evil.json", "session/global/evil one.json", "session/b@d/ses_9.json", "message/b@d/msg_1.json", "message/ses_1/a b.json",
		"part/msg_1/" + long + ".json", "part/msg_1/.json", "part/msg_1/prt\xff.json",
		"part/msg_1/notes.txt", "part/msg_1/prt_13.json.tmp", "message/ses_1/.DS_Store", "session/readme.json",
	} {
		if !storetest.TryPut(root, p) {
			t.Logf("this file system has no %q", p)
		}
	}
	s := mustOpen(t, root, Options{})
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 2 || heads[0].ID != "ses_1" || heads[1].ID != "" {
		t.Fatalf("List = %+v, %v, want ses_1 and the stray files", heads, err)
	}
	wantStray(t, heads[1].Stray, "message/b@d", "session/b@d", "session/global/evil one.json")
	loaded := mustLoad(t, s)
	for _, f := range loaded.Stray {
		if in := strings.HasPrefix(f.Path, "part/msg_1/"); in != (f.Message == "msg_1") || f.Kind != change.StrayFile {
			t.Errorf("%q has the message %q and the kind %d", f.Path, f.Message, f.Kind)
		}
	}
	wantStray(t, loaded.Stray, "message/ses_1/a b.json", "part/msg_1/prt\xff.json", "part/msg_1/"+long+".json", "part/msg_1/notes.txt", "part/msg_1/prt_13.json.tmp")
}

func wantStray(t *testing.T, got []change.Stray, want ...string) {
	t.Helper()
	var paths []string
	for _, s := range got {
		paths = append(paths, s.Path)
		if s.Why == "" {
			t.Errorf("%q is stray without a reason", s.Path)
		}
	}
	slices.Sort(paths)
	slices.Sort(want)
	if !slices.Equal(paths, want) {
		t.Errorf("stray are %q, want %q", paths, want)
	}
}

// TestProject: the file of the session's project is loaded with the session, changes the stamp, and can be changed.
func TestProject(t *testing.T) {
	root := storetest.SmallTree(t)
	var last change.Stamp
	for _, content := range []string{"", "{", `{"id":"global"}`, `{"id":"other!"}`} {
		storetest.Put(t, root, "project/global.json", content)
		s := mustOpen(t, root, Options{})
		heads, err := s.List(t.Context())
		if err != nil || len(heads) != 1 || len(heads[0].Stray) > 0 {
			t.Fatalf("List = %+v, %v", heads, err)
		}
		loaded, stamp, err := s.Load(t.Context(), heads[0])
		must(t, err)
		if row := loaded.ProjectRow; string(row.Data) != content || row.Ref != (change.Ref{Kind: change.KindProject, Project: "global"}) {
			t.Errorf("with %q the project is %+v", content, row)
		}
		if looked, err := s.Stamp(t.Context(), heads[0]); err != nil || looked != stamp || stamp == last {
			t.Errorf("with %q the stamps are %v and %v, %v; before: %v", content, stamp, looked, err, last)
		}
		last = stamp
	}
	s := mustOpen(t, root, Options{Owner: "own"})
	loaded := mustLoad(t, s)
	op := change.Op{Ref: loaded.ProjectRow.Ref, Pre: change.ImageOf(&loaded.ProjectRow), Post: &change.Image{Data: []byte("{}"), Mode: 0o644}}
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{op}})
	must(t, err)
	if _, err := s.Commit(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, s).ProjectRow.Data; string(got) != "{}" {
		t.Errorf("after a change the project is %q", got)
	}
}

// TestSessionTooLarge: a session that does not fit into memory is not loaded, even if each record is small. It is still
// listed.
func TestSessionTooLarge(t *testing.T) {
	s := mustOpen(t, storetest.SmallTree(t), Options{MaxSession: 100})
	var large *change.SizeError
	heads, err := s.List(t.Context())
	if err != nil || len(heads) == 0 {
		t.Fatalf("List = %v, %v", heads, err)
	}
	if _, _, err := s.Load(t.Context(), heads[0]); !errors.As(err, &large) {
		t.Errorf("Load = %v, want a SizeError", err)
	}
}

// TestInfoMissing: a session that has messages and no record lacks its record, unless a link may lead to it.
func TestInfoMissing(t *testing.T) {
	data := unpack(t)
	s := mustOpen(t, data, Options{})
	heads, err := s.List(t.Context())
	must(t, err)
	missing := func() bool {
		t.Helper()
		loaded, _, err := s.Load(t.Context(), change.Head{ID: heads[0].ID})
		must(t, err)
		return loaded.InfoMissing
	}
	if missing() {
		t.Error("InfoMissing of the healthy session is true")
	}
	folder := filepath.Join(data, "storage", "session")
	must(t, os.Rename(filepath.Join(folder, "global"), filepath.Join(data, "elsewhere")))
	if !missing() {
		t.Error("InfoMissing is false after the folder of the record was moved away")
	}
	must(t, os.Symlink(filepath.Join(data, "elsewhere"), filepath.Join(folder, "global")))
	if missing() {
		t.Error("InfoMissing is true although a link leads to the folder of the record")
	}
}
