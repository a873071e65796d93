package tree

import (
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/storetest"
)

// TestRootsFrom: the root is found from a folder above or below it. A folder that only may be a root needs to be named
// by the user.
func TestRootsFrom(t *testing.T) {
	base := storetest.FastDir(t)
	for _, p := range []string{
		"data/opencode/storage/message/ses_1/msg_1.json",
		"data/opencode/storage/part/msg_1/prt_1.json",
		"old/opencode/project/slug/storage/session/message/ses_1/msg_1.json",
		"copy/part/msg_1/prt_1.json",
		"copy/message/ses_1/msg_1.json",
		"lone/part/msg_1/prt_1.json",
		"file.json",
	} {
		storetest.Put(t, base, p, "{}")
	}
	storetest.Put(t, base, "empty/storage/migration", "2")
	for _, c := range []struct {
		path  string
		named bool
		root  string
	}{
		{"data/opencode", false, "data/opencode/storage"},
		{"data", false, "data/opencode/storage"},
		{"data/opencode/storage", false, "data/opencode/storage"},
		{"data/opencode/storage/message", false, "data/opencode/storage"},
		{"data/opencode/storage/message/ses_1", false, "data/opencode/storage"},
		{"data/opencode/storage/part/msg_1", false, "data/opencode/storage"},
		{"copy", false, "copy"},
		{"lone", false, ""},
		{"lone", true, "lone"},
		{"empty", false, ""},
		{"empty/storage", true, "empty/storage"},
		{"old", false, ""},
		{"old/opencode", false, ""},
		{"file.json", false, ""},
		{"missing", false, ""},
	} {
		s, err := Open(filepath.Join(base, c.path), c.named, Options{})
		if c.root == "" {
			if err == nil {
				t.Errorf("Open(%q, %t) = %v, want an error", c.path, c.named, s.ID())
			}
			continue
		}
		if err != nil {
			t.Errorf("Open(%q, %t) = %v, want the root %s", c.path, c.named, err, c.root)
			continue
		}
		want, _ := filepath.EvalSymlinks(filepath.Join(base, c.root))
		if s.ID().Root != want {
			t.Errorf("Open(%q, %t) has the root %q, want %q", c.path, c.named, s.ID().Root, want)
		}
	}
}

// TestFind: the tree is found in $XDG_DATA_HOME, or else in ~/.local/share.
func TestFind(t *testing.T) {
	home := storetest.FastDir(t)
	if got := Find(func(string) string { return "" }, home); got != "" {
		t.Errorf("Find in an empty home = %q, want nothing", got)
	}
	for _, root := range []string{".local/share/opencode/storage", "xdg/opencode/storage"} {
		storetest.Put(t, home, root+"/message/ses_1/msg_1.json", "{}")
	}
	for xdg, want := range map[string]string{"": home + "/.local/share/opencode/storage", home + "/xdg": home + "/xdg/opencode/storage"} {
		got := Find(func(name string) string { return map[string]string{"XDG_DATA_HOME": xdg}[name] }, home)
		if got != filepath.FromSlash(want) {
			t.Errorf("Find with %q = %q, want %q", xdg, got, want)
		}
	}
}

// FuzzOpen opens generated trees: the root that Open finds is the named folder, or a folder above or below it.
func FuzzOpen(f *testing.F) {
	f.Add("storage/message/ses_1/msg_1.json", "storage/message", false)
	f.Add("opencode/storage/part/m/x.json", "opencode/storage/part/m", true)
	f.Fuzz(func(t *testing.T, file, path string, named bool) {
		if !filepath.IsLocal(file) || !filepath.IsLocal(path) || len(file)+len(path) > 400 || strings.ContainsRune(file+path, 0) {
			t.Skip()
		}
		base := filepath.Join(storetest.FastDir(t), "base")
		storetest.Put(t, base, "x/y/z", "")
		if !storetest.TryPut(base, file) {
			t.Skip()
		}
		s, err := Open(filepath.Join(base, path), named, Options{})
		if err != nil {
			return
		}
		opened, _ := filepath.EvalSymlinks(filepath.Join(base, path))
		if root := s.ID().Root; !strings.HasPrefix(root+"/", opened+"/") && !strings.HasPrefix(opened+"/", root+"/") {
			t.Errorf("with %q, Open(%q) has the root %q", file, path, root)
		}
		if _, err := s.List(t.Context()); err != nil {
			t.Errorf("with %q, List of %q = %v", file, s.ID().Root, err)
		}
	})
}
