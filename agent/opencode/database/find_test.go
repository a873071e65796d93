package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
)

func TestFind(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "share", "opencode")
	if err := os.MkdirAll(filepath.Join(data, "opencode-dir.db"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"opencode.db", "opencode-dev.db", "opencode.db-wal", "mine.db", "opencode-dev.db-wal"} {
		write(t, filepath.Join(data, name), "")
	}
	find := func(env map[string]string) string {
		var names []string
		for _, path := range Find(func(k string) string { return env[k] }, home) {
			names = append(names, filepath.Base(path))
		}
		return strings.Join(names, " ")
	}
	xdg := filepath.Join(home, "share")
	cases := []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, ""},
		{map[string]string{"XDG_DATA_HOME": xdg}, "opencode.db opencode-dev.db"},
		{map[string]string{"XDG_DATA_HOME": xdg, "OPENCODE_DB": ":memory:"}, "opencode.db opencode-dev.db"},
		{map[string]string{"XDG_DATA_HOME": xdg, "OPENCODE_DB": "mine.db"}, "mine.db opencode.db opencode-dev.db"},
		{map[string]string{"OPENCODE_DB": filepath.Join(data, "opencode-dev.db")}, "opencode-dev.db"},
		{map[string]string{"OPENCODE_DB": filepath.Join(data, "none.db")}, ""},
	}
	for _, c := range cases {
		if got := find(c.env); got != c.want {
			t.Errorf("Find(%v) = %q, want %q", c.env, got, c.want)
		}
	}
}

// TestPaths opens by folder, by link, and below a name that means something in
// a URI.
func TestPaths(t *testing.T) {
	from, id := unpack(t, "1.18.33")
	dir := filepath.Join(t.TempDir(), "a b%20?#&é\n\xff+")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, dbName)
	write(t, path, files(t, from)[dbName])
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, dir, link} {
		s := open(t, name, Options{})
		if s.ID().Root != want || s.ID().Kind != "sqlite" {
			t.Errorf("ID of %q = %+v", name, s.ID())
		}
		ops := mixedOps(t, load(t, s, id))
		run(t, s, ops)
		run(t, s, change.Inverse(ops))
	}
	if n := len(files(t, path)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}
