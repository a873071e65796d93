package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
	"mend/internal/test/storetest"
)

// newUserSandbox returns a sandbox of another user, who has a broken transcript of Claude Code. Only root can make it.
func newUserSandbox(t *testing.T) (sb sandbox, transcript string) {
	t.Helper()
	if testing.Short() || os.Geteuid() != 0 {
		t.Skip("runs the program as two users")
	}
	sb = sandbox{T: t, dir: storetest.FastDir(t), session: claude.Session}
	sb.store = filepath.Join(sb.dir, ".claude")
	transcript = filepath.Join(sb.store, "projects", "-home-user-project", claude.Session+".jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(transcript), 0o700), os.WriteFile(transcript, claude.ByName("parent unknown").Broken(), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range sb.paths() {
		if err := os.Chown(path, storetest.NobodyUID, storetest.NobodyUID); err != nil {
			t.Fatal(err)
		}
	}
	return sb, transcript
}

// paths returns all paths of the home folder.
func (sb sandbox) paths() (all []string) {
	sb.Helper()
	if err := filepath.WalkDir(sb.dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}); err != nil {
		sb.Fatal(err)
	}
	return all
}

// asUser runs mend as that user, and requires the exit code.
func (sb sandbox) asUser(code int, args ...string) cmdResult {
	sb.Helper()
	cmd, a := sb.command("mend", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: storetest.NobodyUID, Gid: storetest.NobodyUID}}
	if err := cmd.Start(); err != nil {
		sb.Fatal(err)
	}
	sb.wait(cmd, a)
	if a.code != code {
		sb.Fatalf("mend %q: exit code %d, want %d\n%s%s", args, a.code, code, a.out, a.err)
	}
	return *a
}

// TestCase38Rights: a transcript that the user may write to, but whose repair could not be undone, is not repaired. The
// reason names the command that helps, and no repair is left pending.
func TestCase38Rights(t *testing.T) {
	sb, transcript := newUserSandbox(t)
	before := sb.snapshot()
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	for why, c := range map[string]struct{ deny, allow func() }{
		"sudo chown 65534 ./projects/": {
			func() { must(os.Chown(transcript, 0, 0), os.Chmod(transcript, 0o666)) },
			func() {
				must(os.Chown(transcript, storetest.NobodyUID, storetest.NobodyUID), os.Chmod(transcript, 0o600))
			},
		},
		"chmod u+w ./projects/-home-user-project": {
			func() { must(os.Chmod(filepath.Dir(transcript), 0o500)) }, func() { must(os.Chmod(filepath.Dir(transcript), 0o700)) },
		},
		"chmod u+w .": {
			func() { must(os.Chmod(sb.store, 0o500)) }, func() { must(os.Chmod(sb.store, 0o700)) },
		},
	} {
		c.deny()
		sb.wantOutput(sb.asUser(frame.ExitRefused, "repair", sb.session, "--yes"), why)
		c.allow()
		sb.wantSnapshot("refused", before)
		sb.asUser(frame.ExitDone, "repair", sb.session, "--yes")
		c.deny()
		sb.wantOutput(sb.asUser(frame.ExitRefused, "undo", "--session", sb.session, "--yes"), why)
		sb.wantOutput(sb.asUser(frame.ExitDone, "recover"), "No repair was pending")
		c.allow()
		sb.asUser(frame.ExitDone, "undo", "--session", sb.session, "--yes")
		sb.wantSnapshot("undone", before)
	}
}

// TestUnreadableStore: a folder of an agent that the user may not read is an error of scan, of status, and of mend
// without a verb.
func TestUnreadableStore(t *testing.T) {
	sb, _ := newUserSandbox(t)
	for _, mode := range []os.FileMode{0, 0o700} {
		if err := os.Chmod(sb.store, mode); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"", "status", "scan"} {
			code := frame.ExitUnusable
			if mode != 0 {
				code = map[string]int{"scan": frame.ExitProblems}[verb]
			}
			sb.asUser(code, strings.Fields(verb)...)
		}
	}
}

// TestUnreadableBesideReadable: a folder of an agent that the user may not read is an error, even if another agent has
// a store: the sessions and the pending repairs in that folder are unknown.
func TestUnreadableBesideReadable(t *testing.T) {
	sb, _ := newUserSandbox(t)
	codex := filepath.Join(sb.dir, ".codex")
	if err := errors.Join(os.MkdirAll(filepath.Join(codex, "sessions"), 0o755), os.WriteFile(filepath.Join(codex, "config.toml"), nil, 0o644), os.Chmod(sb.store, 0)); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"scan", "recover", "undo --session " + sb.session, "restore " + sb.session, "fix " + sb.session} {
		sb.wantOutput(sb.asUser(frame.ExitUnusable, strings.Fields(args)...), ".claude are not examined")
	}
}

// TestCase39RootInHome: root with the HOME of a user creates no file there that belongs to root, and a refusal names
// the command to use.
func TestCase39RootInHome(t *testing.T) {
	sb, _ := newUserSandbox(t)
	before := sb.snapshot()
	sb.wantOutput(sb.mustExit(frame.ExitUnusable, "repair", sb.session, "--yes"), "sudo -u '#65534' mend")
	sb.mustExit(frame.ExitProblems, "scan")
	sb.mustExit(frame.ExitDone, "status")
	for _, agent := range []string{"claude", "opencode"} {
		sb.wantOutput(sb.mustExit(frame.ExitUnusable, "plugin", "install", "--agent", agent, "--yes"), "sudo -u '#65534' mend")
	}
	sb.wantSnapshot("refused", before)
	// A page that root writes there belongs to the user.
	sb.mustExit(frame.ExitDone, "report", sb.session, "--output", filepath.Join(sb.dir, "report.html"))
	// With a journal of its own, root repairs and undoes in the store of the user.
	state := "XDG_STATE_HOME=" + t.TempDir()
	for _, line := range []string{"repair " + sb.session + " --yes", "undo --yes --session " + sb.session} {
		sb.mustRun(state + " mend " + line)
	}
	sb.wantSnapshot("undone", before)
	for _, path := range sb.paths() {
		if info, err := os.Lstat(path); err != nil || info.Sys().(*syscall.Stat_t).Uid != storetest.NobodyUID {
			t.Errorf("%s belongs to another user (%v)", path, err)
		}
	}
}
