package frame

import (
	"os"
	"path/filepath"
	"testing"

	"mend/internal/mend"
)

// TestOwnerOf: the folder of a database belongs to the agent only if it is the agent's own.
func TestOwnerOf(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "data", "opencode")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(data, "opencode.db"), filepath.Join(home, "mine.db")} {
		if err := os.WriteFile(path, []byte("SQLite format 3\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_DATA_HOME": filepath.Dir(data), "XDG_CACHE_HOME": filepath.Join(home, "cache"),
		"XDG_CONFIG_HOME": filepath.Join(home, "config"), "OPENCODE_DB": filepath.Join(home, "mine.db"),
	} {
		t.Setenv(name, value)
	}
	env := &Env{Opt: mend.Options{Journal: mend.OpenJournal(t.TempDir())}}
	for path, want := range map[string]string{
		"page.html": "", "mine.db": "OpenCode", "mine.db-wal": "OpenCode", "data/opencode/page.html": "OpenCode", "data/page.html": "",
	} {
		if got := env.OwnerOf(filepath.Join(home, path)); got != want {
			t.Errorf("%s belongs to %q, want %q", path, got, want)
		}
	}
}
