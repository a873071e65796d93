//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/term"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
)

// TestEmptyValues: every command refuses an empty argument and an empty value of a flag before it opens a file. Here no
// store, journal or settings file can be read.
func TestEmptyValues(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"DATA", "STATE", "CACHE", "CONFIG"} {
		t.Setenv("XDG_"+name+"_HOME", filepath.Join(home, strings.ToLower(name)))
	}
	t.Chdir(home)
	xdg.Reload()
	for _, name := range []string{"data/opencode/opencode.db", "state/mend/journal.db", "state/mend/keep.db", "config/mend/config.json", "cache/mend/x"} {
		if err := os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte("no such file can be read"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refuses := func(args []string, message string) {
		t.Helper()
		var out strings.Builder
		if code := run(args, &term.Terminal{Out: &out, Err: &out, In: strings.NewReader("")}); code != frame.ExitUsage || !strings.Contains(out.String(), message) {
			t.Errorf("mend %q: exit code %d, want %d and %q in\n%s", args, code, frame.ExitUsage, message, out.String())
		}
	}
	flags, arguments := 0, 0
	root := newRoot(&frame.Env{Terminal: &term.Terminal{}})
	eachCommand(root, func(cmd *cobra.Command) {
		if !cmd.Runnable() {
			return
		}
		words := strings.Fields(cmd.CommandPath())[1:]
		args := []string{} // as many as the command needs
		for len(args) < 3 && cmd.Args != nil && cmd.Args(cmd, args) != nil {
			args = append(args, "x")
		}
		if frame.CommandName(cmd) == "resolve" {
			args = append(args, "--keep")
		}
		for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				if f.Value.Type() == "bool" {
					return
				}
				for _, empty := range []string{"", " \t"} {
					message := "--" + f.Name
					refuses(append(append(words[:len(words):len(words)], args...), "--"+f.Name, empty), message)
				}
				flags++
			})
		}
		for n := range 3 {
			if cmd == root || cmd.Args != nil && cmd.Args(cmd, make([]string, n+1)) != nil {
				continue
			}
			for i := range n + 1 {
				given := []string{"x", "x", "x"}[:n+1]
				given[i] = " "
				if name := frame.CommandName(cmd); name == "config set" && i == 1 || name == "fix" && n > 0 {
					continue
				}
				refuses(append(words[:len(words):len(words)], given...), "is empty")
				arguments++
			}
		}
	})
	if flags < 120 || arguments < 30 {
		t.Errorf("%d flags and %d arguments were tried, want at least 120 and 30", flags, arguments)
	}
}

// A namingCase is a command about a session.
type namingCase struct {
	args     []string // NAME is the session
	kept     bool     // the command finds a session of which only a copy exists
	recorded bool     // the command finds a session that only the journal names
	silent   bool     // the answer does not name the session
}

// namingCases have a row for each verb that takes a session. The commands change nothing.
var namingCases = []namingCase{
	{args: []string{"scan", "NAME"}},
	{args: []string{"scan", "--request", "NAME"}},
	{args: []string{"report", "NAME", "-o", "-"}, silent: true},
	{args: []string{"repair", "NAME", "--dry-run"}},
	{args: []string{"trim", "NAME", "--dry-run"}},
	{args: []string{"keep", "NAME", "--dry-run"}},
	{args: []string{"clean sessions", "NAME", "--dry-run"}},
	{args: []string{"clean images", "NAME", "--dry-run"}, silent: true},
	{args: []string{"restore", "NAME", "--dry-run"}, kept: true},
	{args: []string{"log", "NAME"}, kept: true, recorded: true},
	{args: []string{"forget", "NAME", "--dry-run"}, kept: true, recorded: true},
	{args: []string{"undo", "--session", "NAME", "--dry-run"}, recorded: true},
	{args: []string{"log", "--session", "NAME"}, kept: true, recorded: true},
}

// TestNames: each verb finds the same session by a name, or reports that no or several sessions fit.
func TestNames(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range namingCases {
		listed[c.args[0]] = true
	}
	eachCommand(newRoot(&frame.Env{Terminal: &term.Terminal{}}), func(cmd *cobra.Command) {
		takes := strings.Contains(cmd.Use, "SESSION") || cmd.Flags().Lookup("session") != nil
		if takes != listed[frame.CommandName(cmd)] && cmd.Name() != "fix" { // fix reads any other text as an error
			t.Errorf("%s takes a session: %t; it has a row in namingCases: %t", frame.CommandName(cmd), takes, listed[frame.CommandName(cmd)])
		}
	})
	sb := newSandbox(t, "1.1.53", "")
	sb.setHome()
	transcript := filepath.Join(sb.dir, claudeFile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(transcript), 0o700), os.WriteFile(transcript, claude.ByName("parent unknown").Broken(), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{sb.session, claude.Session} {
		sb.mustExit(frame.ExitDone, "repair", id, "--yes")
	}
	sb.mustExit(frame.ExitDone, "keep")
	const several, none = "ambiguous session", "no such session"
	check := func(when, name string, want func(namingCase) string) {
		t.Helper()
		for _, c := range namingCases {
			args := strings.Fields(c.args[0])
			for _, arg := range c.args[1:] {
				args = append(args, strings.ReplaceAll(arg, "NAME", name))
			}
			a := sb.runInProcess(args...)
			shown, want := a.out+a.err, want(c)
			if found := sb.namesIn(shown); want != several && want != none && found != want && !c.silent {
				t.Errorf("%s: mend %q is about %q, want %q:\n%s", when, args, found, want, shown)
			} else if (want == several || want == none) && (a.code != frame.ExitUsage || !strings.Contains(shown, want)) {
				t.Errorf("%s: mend %q: exit code %d, want %d and %q in\n%s", when, args, a.code, frame.ExitUsage, want, shown)
			}
		}
	}
	for name, want := range map[string]string{
		"@": claude.Session, ".": none, sb.session: sb.session, sb.session[:9]: sb.session, "a TITLE": sb.session, "titl": sb.session,
		claude.Session: claude.Session, claude.Session[:4]: claude.Session, "p1FIRST": claude.Session, "i": several, "nosuch": none,
	} {
		check("two sessions", name, func(namingCase) string { return want })
	}
	if err := os.Remove(transcript); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{claude.Session, claude.Session[:4], "p1FIRST"} {
		check("a copy is left", name, func(c namingCase) string {
			if c.kept || c.recorded {
				return claude.Session
			}
			return none
		})
	}
	check("a copy is left", "@", func(namingCase) string { return sb.session })
	if err := os.Remove(filepath.Join(sb.dir, "state", "mend", "keep.db")); err != nil {
		t.Fatal(err)
	}
	check("the journal is left", claude.Session[:4], func(c namingCase) string {
		if c.recorded {
			return claude.Session
		}
		return none
	})
}

// namesIn returns the id of the session that a text names, or "" if it names none or several.
func (sb sandbox) namesIn(text string) (found string) {
	for id, names := range map[string][]string{sb.session: {sb.session, "A title", "1 session of OpenCode"}, claude.Session: {claude.Session, "P1first", "1 session of Claude Code"}} {
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) }) {
			if found != "" {
				return ""
			}
			found = id
		}
	}
	return found
}

// TestRepairNames: each verb finds the same repair by a name, or reports that no or several repairs fit.
func TestRepairNames(t *testing.T) {
	ts := newBrokenStore(t, 24) // more than there are first letters of ids
	ts.want(frame.ExitDone, "repair", "--yes")
	var log answerOf
	ts.runJSON(&log, "log")
	shared := "" // the beginning of several ids
	for i, r := range log.Repairs {
		if slices.ContainsFunc(log.Repairs[:i], func(o struct{ ID, Session, State, Operation, UndoneBy string }) bool { return o.ID[0] == r.ID[0] }) {
			shared = r.ID[:1]
		}
	}
	first := log.Repairs[len(log.Repairs)-1]
	for _, c := range []struct {
		args   []string
		single bool // it takes a single repair
	}{
		{args: []string{"show", "NAME"}},
		{args: []string{"undo", "NAME", "--dry-run"}},
		{args: []string{"redo", "NAME", "--dry-run"}},
		{args: []string{"forget", "NAME", "--dry-run"}},
		{args: []string{"resolve", "NAME", "--keep", "--dry-run"}, single: true},
		{args: []string{"restore", first.Session, "--dry-run", "--at", "NAME"}},
	} {
		for name, want := range map[string]string{
			"qevajo": "", "qev": "", "op-qevajo": "", "op-qev": "", "op-" + shared: "ambiguous", shared: "ambiguous", "nope": `"nope"`, "op-nope": `"op-nope"`, "op-": `"op-"`, "@@": `"@@"`,
		} {
			if c.args[0] == "restore" && name == "@@" { // not read as an id
				want = "want an age"
			}
			if c.single && want == "" && strings.HasPrefix(name, "op-") {
				want = "has 24 repairs"
			}
			var args []string
			for _, arg := range c.args {
				args = append(args, strings.ReplaceAll(arg, "NAME", name))
			}
			code, shown := ts.mend(args...)
			if (code == frame.ExitUsage) != (want != "") || !strings.Contains(shown, want) {
				t.Errorf("mend %q: exit code %d, want %q in\n%s", args, code, want, shown)
			}
		}
	}
}

// TestTimes: every flag that takes a time understands the same times.
func TestTimes(t *testing.T) {
	sb := newSandbox(t, "1.1.53", "")
	sb.setHome()
	for _, args := range [][]string{
		{"scan", "--since"},
		{"repair", "--dry-run", "--since"},
		{"log", "--since"},
		{"log", "--until"},
		{"gc", "--dry-run", "--older-than"},
		{"clean sessions", "--dry-run", "--older-than"},
		{"clean images", "--dry-run", "--older-than"},
		{"restore", sb.session, "--dry-run", "--at"},
	} {
		words := append(strings.Fields(args[0]), args[1:]...)
		for text, ok := range map[string]bool{
			"7d": true, "12h": true, "2 hours ago": true, "yesterday": true, "2026-03-31": true, "2026-03-31 14:30": true, "2026-03-31T14:30:00Z": true,
			"-1h": false, "2026-13-40": false, "3 moons": false, "9999999999h": false,
		} {
			a := sb.runInProcess(append(words[:len(words):len(words)], text)...)
			if refused := strings.Contains(a.err, "want an age such as"); refused == ok || refused != (a.code == frame.ExitUsage) {
				t.Errorf("mend %q %q: exit code %d\n%s%s", words, text, a.code, a.out, a.err)
			}
		}
	}
}

// TestForgetShown: forget erases exactly what it has shown, and no copy that was made while it asked.
func TestForgetShown(t *testing.T) {
	sb := newSandbox(t, "1.1.53", "")
	sb.setHome()
	sb.mustRepair()
	sb.mustExit(frame.ExitDone, "keep")
	code, shown := sb.answer("1 kept copy of ", "y\n", func() {
		damage.Text(damage.Hello, "changed meanwhile")(sb.open())
		sb.mustExit(frame.ExitDone, "keep")
	}, "forget", sb.session)
	if code != frame.ExitDone || !strings.Contains(shown, "1 repair (") || !strings.Contains(shown, "Erased 1 kept copy") {
		t.Errorf("mend forget: exit code %d\n%s", code, shown)
	}
	var left struct{ States []show.KeptStateJSON }
	if err := json.Unmarshal([]byte(sb.mustExit(frame.ExitDone, "forget", sb.session, "--dry-run", "--json").out), &left); err != nil || len(left.States) != 1 {
		t.Errorf("%d copies are left, %v, want the copy that was made meanwhile", len(left.States), err)
	}
}

// TestOneIDTwice: the id of two sessions of two agents is ambiguous, and neither session is changed.
func TestOneIDTwice(t *testing.T) {
	sb := newSandbox(t, "1.18.33", "")
	sb.setHome()
	other := filepath.Join(sb.dir, "data", "kilo", "kilo.db")
	data, err := os.ReadFile(sb.store)
	if err = errors.Join(err, os.Mkdir(filepath.Dir(other), 0o700), os.WriteFile(other, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	before := sb.files()
	for _, args := range [][]string{{"scan"}, {"repair", "--yes"}, {"keep"}, {"clean", "sessions", "--yes"}, {"trim", "--yes"}} {
		if a := sb.mend(append(args, sb.session)...); a.code != frame.ExitUsage || !strings.Contains(a.err, "Kilo") || !strings.Contains(a.err, "it matches 2 sessions") {
			t.Errorf("mend %q: exit code %d\n%s%s", args, a.code, a.out, a.err)
		}
	}
	if diff := cmp.Diff(before, sb.files()); diff != "" {
		t.Error(diff)
	}
	sb.mustExit(frame.ExitDone, "clean", "sessions", sb.session, "--agent", "kilo", "--yes")
	sb.mustExit(frame.ExitProblems, "scan", sb.session)
}
