package tree

import (
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/storetest"
)

func TestRootsFrom(t *testing.T) {
	base := storetest.FastDir(t)
	for _, p := range []string{
		"data/opencode/storage/message/ses_1/msg_1.json",
		"data/opencode/storage/part/msg_1/prt_1.json",
		"old/opencode/project/slug/storage/session/message/ses_1/msg_1.json",
		"state/opencode/messages/ses_1/msg_1.json",
		"work/.supercoin/sessions/ses_1/messages/msg_1.json",
		"work/.supercoin/sessions/parts/msg_1/prt_1.json",
		"copy/part/msg_1/prt_1.json",
		"copy/message/ses_1/msg_1.json",
		"lone/part/msg_1/prt_1.json",
		"file.json",
	} {
		storetest.Put(t, base, p, "{}")
	}
	storetest.Put(t, base, "empty/storage/migration", "2")
	for _, c := range []struct{ path, layout, root, want string }{
		{"data/opencode", "", "data/opencode/storage", "opencode"},
		{"data", "", "data/opencode/storage", "opencode"},
		{"data/opencode/storage", "", "data/opencode/storage", "opencode"},
		{"data/opencode/storage/message", "", "data/opencode/storage", "opencode"},
		{"data/opencode/storage/message/ses_1", "", "data/opencode/storage", "opencode"},
		{"data/opencode/storage/part/msg_1", "", "data/opencode/storage", "opencode"},
		{"copy", "", "copy", "opencode"},
		{"lone", "", "", ""},
		{"lone", "opencode", "lone", "opencode"},
		{"old/opencode", "", "old/opencode", "opencode-0"},
		{"old", "", "old/opencode", "opencode-0"},
		{"old/opencode/project/slug/storage/session", "", "old/opencode", "opencode-0"},
		{"state/opencode", "", "state/opencode", "opencode-state"},
		{"state/opencode/messages/ses_1", "", "state/opencode", "opencode-state"},
		{"work", "", "work/.supercoin", "supercode"},
		{"work/.supercoin", "", "work/.supercoin", "supercode"},
		{"work/.supercoin/sessions", "", "work/.supercoin", "supercode"},
		{"work/.supercoin/sessions/ses_1/messages", "", "work/.supercoin", "supercode"},
		{"work", "opencode", "", ""},
		{"empty", "", "", ""},
		{"empty/storage", "opencode", "empty/storage", "opencode"},
		{"data", "unheard-of", "", ""},
		{"file.json", "", "", ""},
		{"missing", "", "", ""},
	} {
		s, err := Open(filepath.Join(base, c.path), c.layout, Options{})
		if c.root == "" {
			if err == nil {
				t.Errorf("Open(%q, %q) = %v, want an error", c.path, c.layout, s.ID())
			}
			t.Log(err)
			continue
		}
		if err != nil {
			t.Errorf("Open(%q, %q) = %v, want the root %s", c.path, c.layout, err, c.root)
			continue
		}
		want, _ := filepath.EvalSymlinks(filepath.Join(base, c.root))
		if s.ID().Root != want || s.Layout() != c.want {
			t.Errorf("Open(%q, %q) has the root %q and layout %s, want %q and %s", c.path, c.layout, s.ID().Root, s.Layout(), want, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	home := storetest.FastDir(t)
	if got := Find(func(string) string { return "" }, home); len(got) != 0 {
		t.Errorf("Find in an empty home = %v, want nothing", got)
	}
	data := filepath.Join(home, ".local/share/opencode")
	storetest.Put(t, data, "storage/message/ses_1/msg_1.json", "{}")
	storetest.Put(t, data, "project/slug/storage/session/message/ses_1/msg_1.json", "{}")
	storetest.Put(t, home, ".local/state/opencode/parts/msg_1/prt_1.json", "{}")
	storetest.Put(t, home, "work/.supercoin/sessions/ses_1/messages/msg_1.json", "{}")
	storetest.Put(t, home, "xdg/opencode/storage/session/global/ses_1.json", "{}")
	work := filepath.Join(home, "work/.supercoin")
	for _, c := range []struct {
		env  map[string]string
		want []Located
	}{
		{nil, []Located{{data + "/storage", "opencode"}, {data, "opencode-0"}, {home + "/.local/state/opencode", "opencode-state"}}},
		{map[string]string{"XDG_DATA_HOME": home + "/xdg", "PWD": home + "/work"}, []Located{
			{home + "/xdg/opencode/storage", "opencode"}, {home + "/.local/state/opencode", "opencode-state"}, {work, "supercode"},
		}},
	} {
		got := Find(func(name string) string { return c.env[name] }, home)
		if len(got) != len(c.want) {
			t.Errorf("Find with %v = %v, want %v", c.env, got, c.want)
			continue
		}
		for i := range got {
			if got[i].Path != filepath.FromSlash(c.want[i].Path) || got[i].Layout != c.want[i].Layout {
				t.Errorf("Find with %v: %v, want %v", c.env, got[i], c.want[i])
			}
			if s, err := Open(got[i].Path, got[i].Layout, Options{}); err != nil || s.Layout() != got[i].Layout {
				t.Errorf("Open(%v) = %v", got[i], err)
			}
		}
	}
}

// FuzzOpen opens made-up trees: whatever is there, the root that is found is the
// folder that was named, or one above or below it.
func FuzzOpen(f *testing.F) {
	f.Add("storage/message/ses_1/msg_1.json", "storage/message", "")
	f.Add("opencode/project/a/storage/session/info/ses_1.json", "opencode/project/a", "opencode-0")
	f.Add(".supercoin/sessions/parts/m/x.json", ".supercoin/sessions", "supercode")
	f.Fuzz(func(t *testing.T, file, path, layout string) {
		if !filepath.IsLocal(file) || !filepath.IsLocal(path) || len(file)+len(path) > 400 || strings.ContainsRune(file+path, 0) {
			t.Skip()
		}
		base := filepath.Join(storetest.FastDir(t), "base")
		storetest.Put(t, base, "x/y/z", "")
		if !storetest.TryPut(base, file) {
			t.Skip()
		}
		s, err := Open(filepath.Join(base, path), layout, Options{})
		if err != nil {
			return
		}
		named, _ := filepath.EvalSymlinks(filepath.Join(base, path))
		if root := s.ID().Root; !strings.HasPrefix(root+"/", named+"/") && !strings.HasPrefix(named+"/", root+"/") {
			t.Errorf("with %q, Open(%q) has the root %q", file, path, root)
		}
		if _, err := s.List(t.Context()); err != nil {
			t.Errorf("with %q, List of %q = %v", file, s.ID().Root, err)
		}
	})
}
