package faulttest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/faulttest"
)

// A control is a mend with a deliberate bug: in one file, new replaces old.
type control struct {
	name, file, old, new string
	test                 func(t *testing.T, bin binaries) *sweepResult
}

var controls = []control{
	{
		"no journal", "txn/txn.go",
		"for _, e := range slices.Backward(pending) {", "pending = nil; for _, e := range slices.Backward(pending) {",
		onMemory(repairSecond(tree), killed),
	},
	{
		"outcome before the barrier", "fsstore/commit.go",
		"err := tx.barrier(tx.ops);", "err := error(nil);",
		onDisk(repairWithFreeSpace(tree), powerCut(lostAll)),
	},
	{
		"synchronous=NORMAL", "sqlstore/conn.go",
		"PRAGMA synchronous=FULL;", "PRAGMA synchronous=NORMAL;",
		onDisk(besideWal(sqlite), powerCut(lostAll)),
	},
	{
		"rename without data sync", "fsstore/stage.go",
		`err := tx.own.Sync(b, tx.stageDir.Path, owner.Path, stage.Dir, ".");`, "err := error(nil);",
		onDisk(repairSecond(tree), powerCut(lostData)),
	},
	{
		"no comparison after the exchange", "fsstore/commit.go",
		"if matches(&out, o.Pre) {", "if matches(&out, o.Pre) || true {",
		func(t *testing.T, bin binaries) *sweepResult {
			return newSandbox(t, nil, bin, repairSecond(tree)).sweepForeign(writers[0], faulttest.Resume)
		},
	},
}

func onMemory(s scenario, f sweepFault) func(*testing.T, binaries) *sweepResult {
	return func(t *testing.T, bin binaries) *sweepResult { return newSandbox(t, nil, bin, s).sweep(f) }
}

func onDisk(s scenario, f sweepFault) func(*testing.T, binaries) *sweepResult {
	return func(t *testing.T, bin binaries) *sweepResult { return newSandbox(t, newDisk(t, ext4), bin, s).sweep(f) }
}

// TestControls: the tests of this package detect every deliberate bug. Otherwise they would prove nothing.
func TestControls(t *testing.T) {
	needLevel(t)
	for _, c := range controls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !c.isTested() {
				c.source(t)
				return
			}
			sum := c.test(t, c.build(t))
			if len(sum.problems) == 0 {
				t.Fatalf("no problem was found in %d cuts", sum.Cuts)
			}
			t.Logf("found by %d of %d cuts, first: %.600s", len(sum.problems), sum.Cuts, sum.problems[0])
		})
	}
}

// isTested reports whether the control is tested now: in a sample only the first is.
func (c control) isTested() bool {
	return level() != "sample" || controls[0].name == c.name
}

// source returns the name of the file, and its content with the bug.
func (c control) source(t *testing.T) (file, wrong string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(strings.TrimSpace(string(out)), c.file)
	right, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(right), c.old); n != 1 {
		t.Fatalf("%s has %q %d times, want once: has the code changed?", c.file, c.old, n)
	}
	return file, strings.Replace(string(right), c.old, c.new, 1)
}

// build builds mend with the bug. It does not change the source.
func (c control) build(t *testing.T) binaries {
	t.Helper()
	file, text := c.source(t)
	dir := t.TempDir()
	wrong, overlay := filepath.Join(dir, "wrong.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {file: wrong}})
	if err == nil {
		err = os.WriteFile(overlay, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	bin, err := build(dir, "-overlay", overlay)
	if err != nil {
		t.Fatal(err)
	}
	bin.wrong = true
	return bin
}
