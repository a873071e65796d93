package faulttest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/internal/test/faulttest"
)

// readOnly makes the file system read-only while a call waits, as ext4 does after an error, and lets the program continue.
var readOnly = sweepFault{"the file system turns read-only", func(sb *sandbox, _ int) faulttest.Fault {
	return faulttest.Fault{Action: faulttest.Resume, Frozen: func(faulttest.Call) { sb.disk.fail() }}
}}

// fail simulates an error of ext4.
func (d *disk) fail() {
	out, err := exec.Command("findmnt", "-n", "-o", "SOURCE", d.mount).Output()
	if err == nil {
		device := filepath.Base(strings.TrimSpace(string(out)))
		err = os.WriteFile(filepath.Join("/sys/fs/ext4", device, "trigger_fs_error"), []byte("a test"), 0o200)
	}
	if err != nil {
		d.Errorf("making %s fail: %v", d.name, err)
	}
}

// TestReadOnlyAtEveryCall: a repair is made or reverted if the file system becomes read-only at any call.
func TestReadOnlyAtEveryCall(t *testing.T) {
	needLevel(t)
	for _, k := range []kind{tree, sqlite} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			fs := ext4
			fs.options += ",errors=remount-ro"
			report(t, newSandbox(t, newDisk(t, fs), built, repairSecond(k)).sweep(readOnly))
		})
	}
}

// sizes is the number of sizes, from zero to enough, that a full run tries for a disk and for the limit of a file. A
// sample tries every fourth.
const sizes = 96

func sizeStep() int {
	if level() == "sample" {
		return 4
	}
	return 1
}

// TestDiskFull: a verb makes its change or none if the file system has space for 0, 1, 2 … more pages.
func TestDiskFull(t *testing.T) {
	needLevel(t)
	for _, s := range []scenario{repairFirst(tree), repairFirst(sqlite), keepFirst(tree), keepSecond(sqlite), cleanEvents(), cleanSnapshots(), salvage(), undoSalvage()} {
		t.Run(fmt.Sprintf("%s/%s", s.kind, s.name), func(t *testing.T) {
			t.Parallel()
			step := os.Getpagesize()
			if s.kind == newest {
				step *= 10 // a new database, and an archive, are larger
			}
			m := newTmpfs(t)
			sb := newSandboxIn(t, nil, m.dir, built, s)
			sum := &sweepResult{What: "the disk is full, at 96 sizes", Store: s.kind, Verb: sb.name}
			for i := 0; i < sizes; i += sizeStep() {
				m.size(enough)
				sb.begin()
				m.size(m.used() + int64(i*step))
				r := sb.run(faulttest.Fault{}, sb.verb...)
				m.size(enough)
				sb.checkLimited(sum, r, fmt.Sprintf("%d KiB free", i*step/1024))
			}
			report(t, sum)
		})
	}
}

// TestFileSizeLimit: a repair is made or reverted if the process may write files of at most 0, 1, 2 … KiB.
func TestFileSizeLimit(t *testing.T) {
	needLevel(t)
	for _, k := range []kind{tree, sqlite} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			sb := newSandbox(t, nil, built, repairFirst(k))
			sum := &sweepResult{What: "files may not be larger, at 96 sizes", Store: k, Verb: sb.name}
			for i := 0; i < sizes; i += sizeStep() {
				sb.begin()
				limit := fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, 2*i) // in blocks of 512 bytes
				cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", limit, sb.mend.Path}, sb.args(sb.verb)...)...)
				var out, errOut strings.Builder
				cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = sb.mend.Env, sb.mend.Dir, &out, &errOut
				_ = cmd.Run() // the exit code is checked
				r := faulttest.Result{Code: cmd.ProcessState.ExitCode(), Out: out.String(), Err: errOut.String()}
				sb.checkLimited(sum, r, fmt.Sprintf("at most %d KiB", i))
			}
			report(t, sum)
		})
	}
}

// checkLimited checks a run with limited resources.
func (sb *sandbox) checkLimited(sum *sweepResult, r faulttest.Result, where string) {
	sb.Helper()
	sum.Cuts++
	c := &cutCase{sandbox: sb, sum: sum, run: r, where: fmt.Sprintf("%v: %s", sum, where)}
	if r.Code < 0 {
		c.problem("a signal ended it")
	}
	c.check()
}

// A tmpfs is a file system in memory, of any size.
type tmpfs struct {
	*testing.T
	dir string
}

// enough is the size of a file system that is never full.
const enough = 64 << 20

func newTmpfs(t *testing.T) *tmpfs {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("full disks need root, to mount file systems")
	}
	m := &tmpfs{T: t, dir: t.TempDir()}
	if err := unix.Mount("tmpfs", m.dir, "tmpfs", 0, fmt.Sprintf("size=%d", enough)); err != nil {
		t.Skipf("mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(m.dir, unix.MNT_DETACH) })
	return m
}

func (m *tmpfs) size(bytes int64) {
	m.Helper()
	if err := unix.Mount("tmpfs", m.dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)); err != nil {
		m.Fatalf("making the tmpfs %d bytes large: %v", bytes, err)
	}
}

func (m *tmpfs) used() int64 {
	m.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(m.dir, &st); err != nil {
		m.Fatal(err)
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize
}
