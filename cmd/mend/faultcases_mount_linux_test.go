package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
)

// TestCase31Mounts: a store whose parts are on another mount is not written to.
func TestCase31Mounts(t *testing.T) {
	for _, way := range []string{"another file system", "a bind mount"} {
		sb := newSandbox(t, damage.Versions[0], "")
		parts, away := filepath.Join(sb.store, "part"), filepath.Join(sb.dir, "away")
		if err := os.CopyFS(away, os.DirFS(parts)); err != nil {
			t.Fatal(err)
		}
		source, fstype, flags := away, "", uintptr(unix.MS_BIND)
		if way == "another file system" {
			source, fstype, flags = "mend-test", "tmpfs", 0
		}
		if err := unix.Mount(source, parts, fstype, flags, ""); err != nil {
			t.Skipf("mounting needs rights: %v", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(parts, unix.MNT_DETACH) })
		if way == "another file system" {
			if err := os.CopyFS(parts, os.DirFS(away)); err != nil {
				t.Fatal(err)
			}
		}
		before := sb.snapshot()
		a := sb.mustExit(frame.ExitUnusable, "repair", "--yes", sb.session)
		if !strings.Contains(a.err, "cross-device") && !strings.Contains(a.err, "on different file systems") {
			t.Errorf("%s: the error does not name the other file system:\n%s", way, a.err)
		}
		sb.wantSnapshot(way, before)
	}
}

// TestCase31Transcripts: if the transcripts of Claude Code are on another file system than the rest of its folder, a
// repair that appends is made, and its undo is refused with the reason.
func TestCase31Transcripts(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	projects := filepath.Join(sb.dir, ".claude", "projects")
	if err := os.MkdirAll(projects, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("mend-test", projects, "tmpfs", 0, ""); err != nil {
		t.Skipf("mounting needs rights: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(projects, unix.MNT_DETACH) })
	file := filepath.Join(projects, "-home-user-project", claude.Session+".jsonl")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, claude.ByName("parent unknown").Broken(), 0o600)); err != nil {
		t.Fatal(err)
	}
	id := sb.firstRepairID(sb.mustExit(frame.ExitDone, "repair", "--yes", claude.Session, "--agent", "claude", "--json"))
	repaired, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sb.wantOutput(sb.mend("undo", "--yes", id), "put the whole folder on one file system")
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, repaired) {
		t.Errorf("the transcript changed although the undo failed: %v", err)
	}
}

// TestCase32FUSE: a store on FUSE, where files cannot be exchanged, is repaired and undone.
func TestCase32FUSE(t *testing.T) {
	bindfs, err := exec.LookPath("bindfs")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and bindfs")
	}
	sb := newSandbox(t, damage.Versions[0], "")
	before, fuse := sb.snapshot(), filepath.Join(sb.dir, "fuse")
	if err := os.Mkdir(fuse, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bindfs, sb.store, fuse).CombinedOutput(); err != nil {
		t.Skipf("%s: %v", out, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(fuse, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	a := sb.mustExit(frame.ExitDone, "repair", "--yes", sb.session, "--store", fuse, "--json")
	if maps.Equal(sb.snapshot(), before) {
		t.Error("nothing was repaired")
	}
	sb.mustExit(frame.ExitDone, "undo", "--yes", sb.firstRepairID(a), "--store", fuse)
	sb.wantSnapshot("undone", before)
}
