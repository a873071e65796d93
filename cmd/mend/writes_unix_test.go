//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// A writeCase is a command that writes, in a sandbox with a broken session.
type writeCase struct {
	verb  string
	args  func(sb sandbox) []string // after the verb
	setup func(sb sandbox)
	asks  string // a part of the question
	then  string // answers to the questions after a yes
}

func commandArgs(text string) func(sandbox) []string {
	return func(sb sandbox) []string { return strings.Fields(strings.ReplaceAll(text, "SESSION", sb.session)) }
}

// writeCases have a row for each verb that writes.
var writeCases = []writeCase{
	{verb: "repair", args: commandArgs("SESSION"), asks: `Repair "A title"?`},
	{verb: "repair", asks: `Repair "A title"?`},
	{verb: "repair", args: commandArgs("--error all.messages.must.have.non-empty.content SESSION"), asks: `Repair "A title"?`},
	{verb: "fix", asks: `Repair "A title"?`},
	{verb: "fix", args: commandArgs("messages: text content blocks must contain non-whitespace text"), asks: `Repair "A title"?`},
	{verb: "trim", args: commandArgs("SESSION --to 3000 --keep-turns 0"), asks: `Trim "A title"?`, setup: longOutputs},
	{verb: "trim", args: commandArgs("SESSION --to 1 --keep-turns 0 --hard"), asks: `Trim "A title"`, setup: longOutputs},
	{verb: "uncompact", args: commandArgs(claude.Session), asks: "Remove the newest compaction of", setup: func(sb sandbox) {
		dir := filepath.Join(sb.dir, ".claude", "projects", "-home-user-project")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, claude.Session+".jsonl"), claude.ByName("compaction that preserves nothing").Broken(), 0o600)); err != nil {
			sb.Fatal(err)
		}
	}},
	{verb: "move", args: func(sb sandbox) []string { return []string{"/home/user/project", sb.dir} }, asks: "Move 1 session to "},
	{verb: "salvage", args: databaseArgs, asks: "Salvage 1 damaged database?", setup: damageDatabase},
	{verb: "clean events", args: databaseArgs, asks: "Remove the events from", setup: func(sb sandbox) { otherDatabase(sb) }},
	{verb: "clean sessions", args: commandArgs("SESSION"), asks: "Remove 1 session from"},
	{verb: "clean images", args: commandArgs("SESSION"), asks: "of images and other files of 1 session from", setup: func(sb sandbox) { damage.Edit(sb, sb.store, sb.session, damage.ByName(sb, "large attachment")) }},
	{verb: "clean snapshots", args: databaseArgs, asks: "Remove the snapshots from", setup: func(sb sandbox) {
		if err := os.MkdirAll(filepath.Join(filepath.Dir(otherDatabase(sb)), "snapshot", "gone", "objects"), 0o700); err != nil {
			sb.Fatal(err)
		}
	}},
	{verb: "clean pages", args: databaseArgs, asks: "Remove the free pages from", setup: func(sb sandbox) {
		damage.SQL(sb, otherDatabase(sb))("DELETE FROM event")
	}},
	{verb: "restore", args: commandArgs("SESSION"), asks: `Restore "A title"?`, setup: archiveSession},
	{verb: "undo", asks: `Undo repair qevajo of "A title"?`, setup: repairSession},
	{verb: "undo", args: commandArgs("qevajo"), asks: `Undo repair qevajo of "A title"?`, setup: repairSession},
	{verb: "undo", args: commandArgs("--session SESSION"), asks: `Undo repair qevajo of "A title"?`, setup: repairSession},
	{verb: "undo", args: commandArgs("--redo"), asks: `Redo repair qevajo of "A title"?`, setup: undoRepair},
	{verb: "redo", asks: `Redo repair qevajo of "A title"?`, setup: undoRepair},
	{verb: "redo", args: commandArgs("qevajo"), asks: `Redo repair qevajo of "A title"?`, setup: undoRepair},
	{verb: "recover", args: commandArgs("qevajo --back"), asks: "Resolve the conflict of repair qevajo by restoring", setup: makeConflict},
	{verb: "resolve", args: commandArgs("qevajo --keep"), asks: "Resolve the conflict of repair qevajo by leaving", setup: makeConflict},
	{verb: "forget", args: commandArgs("--older-than 0s"), asks: "can no longer be undone after this. Go on?", setup: repairSession},
	{verb: "gc", args: commandArgs("--older-than 0s"), asks: "can no longer be undone after this. Go on?", setup: repairSession},
	{verb: "forget", args: commandArgs("SESSION"), asks: "can no longer be undone after this. Go on?", setup: repairSession},
	{verb: "forget", args: commandArgs("--copies SESSION"), asks: "can no longer be restored after this. Go on?", setup: func(sb sandbox) { sb.mustExit(frame.ExitDone, "keep") }},
	{verb: "plugin install", asks: "Install ~/config/opencode/plugins/mend.js?", then: "n\n"},
	{verb: "install", args: commandArgs("--agent claude"), asks: "Install mend's hooks in ~/.claude/settings.json?", then: "n\n"},
	{verb: "install", args: commandArgs("--agent codex"), asks: "Install mend's hooks in ~/.codex/hooks.json?", then: "n\n"},
	{verb: "plugin uninstall", asks: "Remove ~/config/opencode/plugins/mend.js?", setup: func(sb sandbox) { sb.mustExit(frame.ExitDone, "plugin", "install", "--yes") }},
	{verb: "install", args: commandArgs("--remove --agent claude"), asks: "Remove mend's hooks from ~/.claude/settings.json?", setup: func(sb sandbox) {
		sb.mustExit(frame.ExitDone, "plugin", "install", "--agent", "claude", "--yes")
	}},
}

// unasked are the verbs with --yes that do not ask, with the reason.
var unasked = map[string]string{
	"recover": "finishes what a user has accepted, as every verb that writes does first",
	"keep":    "makes copies, and changes no session",
}

func longOutputs(sb sandbox) {
	damage.Edit(sb, sb.store, sb.session, damage.ByName(sb, "long outputs"))
}

// otherDatabase creates a database beside the store. databaseArgs names it.
func otherDatabase(sb sandbox) string {
	dir := filepath.Join(sb.dir, "other")
	if err := os.Mkdir(dir, 0o700); err != nil {
		sb.Fatal(err)
	}
	if _, err := testdata.Unpack(testdata.OpenCode11833, dir); err != nil {
		sb.Fatal(err)
	}
	return databaseArgs(sb)[1]
}

func databaseArgs(sb sandbox) []string {
	return []string{"--store", filepath.Join(sb.dir, "other", "opencode", "opencode.db")}
}

// damageDatabase creates the other database, with a damaged page.
func damageDatabase(sb sandbox) {
	path := otherDatabase(sb)
	data, err := os.ReadFile(path)
	if err != nil {
		sb.Fatal(err)
	}
	clear(data[:16])
	if err := os.WriteFile(path, data, 0o600); err != nil {
		sb.Fatal(err)
	}
}

func archiveSession(sb sandbox) {
	files, err := filepath.Glob(filepath.Join(sb.store, "session", "*", sb.session+".json"))
	if err != nil || len(files) != 1 {
		sb.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], []byte(regexp.MustCompile(`"time"\s*:\s*\{`).ReplaceAllString(string(data), `"time":{"archived":5,`)), 0o644)
	}
	if err != nil {
		sb.Fatal(err)
	}
}

func repairSession(sb sandbox) { sb.mustRepair() }

func undoRepair(sb sandbox) {
	sb.mustRepair()
	sb.mustExit(frame.ExitDone, "undo", "--yes")
}

// makeConflict leaves repair qevajo in conflict: mend was killed, and another program wrote.
func makeConflict(sb sandbox) {
	dead := false
	_ = repairWith(sb.store, filepath.Join(sb.dir, "state", "mend"), sb.session, func(call string) error {
		if dead = dead || strings.HasPrefix(call, "commit finish"); dead {
			return errors.New("killed")
		}
		return nil
	})
	damage.Text(damage.Hello, "changed by hand")(sb.open())
	sb.mustExit(frame.ExitConflict, "recover")
}

// files returns the bytes of all files in the sandbox except mend's cache.
func (sb sandbox) files() map[string]string {
	sb.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(sb.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join(sb.dir, "cache"), filepath.Base(path) == "built": // a new database that does not replace the old one yet
			return fs.SkipDir
		}
		text := ""
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		if e.Name() != ".mend" {
			all[path] = text
		}
		return nil
	})
	if err != nil {
		sb.Fatal(err)
	}
	return all
}

// answer starts mend on a new terminal, waits for the question, calls meanwhile, and types keys. It returns the exit
// code and the output.
func (sb sandbox) answer(question, keys string, meanwhile func(), args ...string) (int, string) {
	sb.Helper()
	s := newScreen(sb.T)
	cmd, _ := sb.command("mend", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, s.tty, s.tty
	cmd.Env = append(cmd.Env, "PAGER=cat", "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		sb.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // a command that ends without a question ends the wait
		_ = cmd.Wait()
		_, _ = s.tty.WriteString("(the end)")
		close(done)
	}()
	s.wait("/?] ", "(the end)")
	if shown := s.shown(); strings.Contains(shown, "(the end)") || !strings.Contains(strings.Join(strings.Fields(shown), " "), question) {
		sb.Errorf("mend %s does not ask %q:\n%s", strings.Join(args, " "), question, shown)
	} else if meanwhile != nil {
		meanwhile()
	}
	s.press(keys)
	<-done
	s.wait("(the end)")
	return cmd.ProcessState.ExitCode(), s.shown()
}

// answerHere is like answer, but runs mend in this process, without a terminal of the system. Call setHome first.
func (sb sandbox) answerHere(question, keys string, meanwhile func(), args ...string) (int, string) {
	sb.Helper()
	var out bytes.Buffer
	asked := false
	in := readerFunc(func(p []byte) (n int, err error) {
		if !asked && !strings.Contains(strings.Join(strings.Fields(out.String()), " "), question) {
			sb.Errorf("mend %s does not ask %q:\n%s", strings.Join(args, " "), question, &out)
		}
		if !asked {
			asked = true
			meanwhile()
		}
		if n = copy(p, keys); n == 0 {
			err = io.EOF
		}
		keys = keys[n:]
		return n, err
	})
	code := run(args, &term.Terminal{In: in, Out: &out, Err: &out, CanAsk: true, Width: 80, ErrWidth: 80})
	if !asked {
		sb.Errorf("mend %s does not ask:\n%s", strings.Join(args, " "), &out)
	}
	return code, out.String()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestWritesAsk: every verb that writes asks on a terminal, and changes bytes only after yes. Without a terminal and
// with --json it needs --yes. A plain run answers no to each question of a verb once, and with a signal and the end of
// input once in all. It has the first row and those that run as a program on a real terminal.
func TestWritesAsk(t *testing.T) {
	tried := map[string]bool{} // by verb and question
	for i, c := range writeCases {
		args := strings.Fields(c.verb)
		version := damage.Versions[0]
		if c.verb == "trim" {
			version = damage.Versions[2]
		}
		sb := newSandbox(t, version, "")
		answer := sb.answer
		if !slices.Contains([]string{"clean events", "clean snapshots", "clean pages", "salvage"}, c.verb) { // mend would have the database open
			sb.setHome()
			if i > 0 && !storetest.AllCases() {
				answer = sb.answerHere
			}
		}
		if c.setup != nil {
			c.setup(sb)
		}
		if c.args != nil {
			args = append(args, c.args(sb)...)
		}
		name := strings.Join(args, " ")
		before := sb.files()
		unchanged := func(when string) {
			t.Helper()
			if !maps.Equal(before, sb.files()) {
				t.Errorf("mend %s changed a file %s", name, when)
			}
		}
		for _, a := range []struct {
			name, keys string
			code       int
			shows      string
		}{
			{"no", "n\n", frame.ExitRefused, "nothing was changed"},
			{"Ctrl-C", "\x03", frame.ExitSignalled + int(syscall.SIGINT), "interrupted: nothing was changed"},
			{"the end of input", "\x04", frame.ExitRefused, "nothing was changed"},
		} {
			if (a.name != "no" && i > 0 || tried[c.verb+c.asks]) && !storetest.AllCases() {
				continue
			}
			code, shown := answer(c.asks, a.keys, func() { unchanged("before the answer") }, args...)
			if code != a.code || !strings.Contains(shown, a.shows) {
				t.Errorf("mend %s, %s: exit code %d, want %d and %q in\n%s", name, a.name, code, a.code, a.shows, shown)
			}
			unchanged("after " + a.name)
		}
		tried[c.verb+c.asks] = true
		for _, more := range [][]string{nil, {"--json"}} {
			got := sb.mustExit(frame.ExitRefused, append(slices.Clone(args), more...)...)
			if !strings.Contains(got.out+got.err, "pass --yes") {
				t.Errorf("mend %s %v without a terminal does not name --yes:\n%s%s", name, more, got.out, got.err)
			}
			unchanged("without a terminal")
		}
		if code, shown := answer(c.asks, "y\n"+c.then, func() { unchanged("before the answer") }, args...); code > frame.ExitProblems {
			t.Errorf("mend %s, yes: exit code %d:\n%s", name, code, shown)
		}
		if maps.Equal(before, sb.files()) {
			t.Errorf("mend %s, yes: nothing was changed", name)
		}
	}
}

// TestWritesListed: each verb that writes, that is, has --dry-run and --yes, has a row in writeCases or a reason in
// unasked.
func TestWritesListed(t *testing.T) {
	eachCommand(newRoot(&frame.Env{Terminal: &term.Terminal{}}), func(cmd *cobra.Command) {
		dryRun, yes := cmd.Flags().Lookup("dry-run") != nil, cmd.Flags().Lookup("yes") != nil
		if dryRun != yes {
			t.Errorf("%s has --dry-run: %t, --yes: %t; want both or none", frame.CommandName(cmd), dryRun, yes)
		}
		asks := slices.ContainsFunc(writeCases, func(c writeCase) bool { return c.verb == frame.CommandName(cmd) })
		if yes && !asks && unasked[frame.CommandName(cmd)] == "" {
			t.Errorf("writeCases has no row for mend %s, which writes", frame.CommandName(cmd))
		}
	})
}
