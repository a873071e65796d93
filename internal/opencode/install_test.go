package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

func TestInstallRefuses(t *testing.T) {
	for _, version := range []string{"", "latest", "../1.2.3", "1.2", "1.2.3 --x", "1.2.3\n"} {
		if _, err := Install(version); err == nil || !strings.Contains(err.Error(), "bad version") {
			t.Errorf("Install(%q) = %v, want a bad version", version, err)
		}
	}
}

func TestExtractExe(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "whole")
	if err := extractExe(pax(t, file("package/package.json", "{}"), file(member, "program")), dst); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dst, member))
	if err != nil || string(got) != "program" {
		t.Errorf("executable = %q, %v", got, err)
	}
	if info, err := os.Stat(filepath.Join(dst, member)); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("executable has mode %v, %v", info.Mode(), err)
	}
	if err := extractExe(pax(t, file("package/package.json", "{}")), filepath.Join(t.TempDir(), "whole")); err == nil || !strings.Contains(err.Error(), "no "+member) {
		t.Errorf("extractExe without executable = %v", err)
	}
}
