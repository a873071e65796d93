package storetest

import (
	"os"
	"os/exec"
	"testing"
)

// Save saves a folder, with the times of its files. restore restores it.
func Save(t testing.TB, dir string) (restore func()) {
	t.Helper()
	kept := t.TempDir()
	duplicate(t, dir, kept)
	return func() {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		duplicate(t, kept, dir)
	}
}

func duplicate(t testing.TB, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("copying %s: %v: %s", from, err, out)
	}
}
