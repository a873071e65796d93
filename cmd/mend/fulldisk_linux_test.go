package main

import (
	"path/filepath"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
)

// TestLostOutput: an answer that cannot be written is reported and has its own exit code, and a report is written
// completely or not at all.
func TestLostOutput(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	for _, command := range []string{"scan", "scan --json", "log"} {
		a := sb.sh("mend " + command + " >/dev/full")
		if a.code != frame.ExitUnusable || !strings.Contains(a.err, "writing the answer") {
			t.Errorf("mend %s >/dev/full: exit code %d, %q", command, a.code, a.err)
		}
	}
	page := filepath.Join(sb.dir, "page.html")
	a := sb.sh("ulimit -f 1 && mend report " + sb.session + " -o " + page)
	if a.code != frame.ExitUnusable {
		t.Errorf("mend report on a full disk: exit code %d, %q", a.code, a.err)
	}
	if left, err := filepath.Glob(filepath.Join(sb.dir, "*page.html*")); err != nil || len(left) > 0 {
		t.Errorf("after mend report on a full disk the file is %q, %v", left, err)
	}
}
