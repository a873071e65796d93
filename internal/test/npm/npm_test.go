package npm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnpack checks that the wanted file is unpacked and executable, and that a missing one is an error.
func TestUnpack(t *testing.T) {
	const member = "package/bin/program"
	dst := filepath.Join(t.TempDir(), "whole")
	if err := unpack(pax(t, file("package/package.json", "{}"), file(member, "program")), dst, member); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dst, member))
	if err != nil || string(got) != "program" {
		t.Errorf("executable = %q, %v", got, err)
	}
	if info, err := os.Stat(filepath.Join(dst, member)); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("executable has mode %v, %v", info.Mode(), err)
	}
	if err := unpack(pax(t, file("package/package.json", "{}")), filepath.Join(t.TempDir(), "whole"), member); err == nil || !strings.Contains(err.Error(), "no "+member) {
		t.Errorf("unpack without executable = %v", err)
	}
}
