package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallFromCache: a version in the cache is not fetched.
func TestInstallFromCache(t *testing.T) {
	t.Setenv("MEND_E2E_CACHE", t.TempDir())
	want := filepath.Join(os.Getenv("MEND_E2E_CACHE"), "1.2.3", "package", "bin", "opencode")
	if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Install("1.2.3"); err != nil && !strings.Contains(err.Error(), "no package for") || err == nil && got != want {
		t.Errorf("Install = %s, %v, want %s", got, err, want)
	}
}

// TestInstallRefuses: only three numbers are a version.
func TestInstallRefuses(t *testing.T) {
	for _, version := range []string{"", "latest", "../1.2.3", "1.2", "1.2.3 --x", "1.2.3\n"} {
		if _, err := Install(version); err == nil || !strings.Contains(err.Error(), "bad version") {
			t.Errorf("Install(%q) = %v, want a bad version", version, err)
		}
	}
}
