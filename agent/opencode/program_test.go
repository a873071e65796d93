package opencode

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mend/agent"
	"mend/internal/request"
	"mend/internal/test/dbtest"
)

// TestKilo: mend recognizes a database of Kilo by every path to it, and reads Kilo's settings.
func TestKilo(t *testing.T) {
	home := t.TempDir()
	for _, variable := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "KILO_DB", "KILO_CONFIG", "KILO_CONFIG_DIR", "KILO_CONFIG_CONTENT"} {
		t.Setenv(variable, "")
	}
	t.Setenv("HOME", home)
	from, _ := dbtest.Unpack(t, "1.18.33")
	db := filepath.Join(home, ".local", "share", "kilo", "kilo.db")
	write := func(path, text string) {
		t.Helper()
		dbtest.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		dbtest.Write(t, path, text)
	}
	write(db, dbtest.Files(t, from)[dbtest.Name])
	dbtest.Must(t, os.MkdirAll(filepath.Join(filepath.Dir(db), "storage"), 0o755))

	if found, err := Kilo().Find(); err != nil || len(found) != 1 || found[0].Path != db {
		t.Errorf("Find = %v, %v, want %s", found, err, db)
	}
	if found, err := (Agent{}).Find(); !errors.Is(err, agent.ErrNoStore) {
		t.Errorf("OpenCode's Find = %v, %v, want no store", found, err)
	}
	for _, path := range []string{db, filepath.Dir(db)} {
		if _, err := (Agent{}).Open(agent.Located{Path: path}, nil); !errors.Is(err, agent.ErrNoStore) {
			t.Errorf("OpenCode's Open of %s: %v, want no store", path, err)
		}
		if s, err := Kilo().Open(agent.Located{Path: path}, nil); err != nil || s.ID().Root != db {
			t.Errorf("Open of %s: %v", path, err)
		}
	}

	project := filepath.Join(home, "project")
	model := request.Model{ProviderID: "house", ModelID: "m"}
	for _, c := range []struct{ path, window, want string }{ // each is stronger than those before
		{".config/kilo/kilo.json", "1", "1"},
		{".config/kilo/opencode.jsonc", "2", "2"},
		{"project/kilo.jsonc", "3", "3"},
		{"project/opencode.json", "4", "4"},
		{"project/.opencode/opencode.json", "5", "4"}, // is not read
		{"project/.kilocode/kilo.json", "6", "6"},
		{"project/.kilo/kilo.jsonc", "7", "7"},
		{"project/.kilo/kilo.json", "8", "8"},
	} {
		write(filepath.Join(home, c.path), `{"provider": {"house": {"models": {"m": {"limit": {"context": `+c.window+`}}}}}}`)
		if got := newModels(&kilo).directoryModels(project).window(model); got != int(c.want[0]-'0') {
			t.Errorf("with %s: window = %d, want %s", c.path, got, c.want)
		}
	}
	if got, want := kilo.text("OpenCode 1.17.9 fails, and OpenCode crashes: OpenCode's"), "OpenCode 1.17.9 fails, and Kilo crashes: Kilo's"; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}
