//go:build e2e && linux

package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

var programFile = flag.String("mend", "", "the mend of TestRealLostConversations (default: one that is built)")

// A person uses mend and an agent on a terminal, and types no id.
type person struct {
	*testing.T
	program, home, folder string
	took                  time.Duration // in mend
}

func newPerson(t *testing.T, home, folder string) *person {
	t.Helper()
	p := &person{T: t, program: *programFile, home: home, folder: folder}
	if p.program == "" {
		p.program = filepath.Join(t.TempDir(), "mend")
		if out, err := exec.Command("go", "build", "-o", p.program, ".").CombinedOutput(); err != nil {
			t.Fatalf("building mend: %v: %s", err, out)
		}
	}
	return p
}

// runCommand starts a command of mend, waits for each text and types the answer to it, and returns the content of the
// screen.
func (p *person) runCommand(args []string, talk ...string) string {
	p.Helper()
	s := newScreen(p.T)
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir, cmd.Env = p.folder, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "PWD=" + p.folder}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, s.tty, s.tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	for i := 0; i < len(talk); i += 2 {
		s.wait(talk[i])
		s.press(talk[i+1])
	}
	err := cmd.Wait()
	took := time.Since(began)
	p.took += took
	if _, err := s.tty.WriteString("(the end)"); err != nil {
		p.Fatal(err)
	}
	s.wait("(the end)")
	shown := strings.ReplaceAll(strings.TrimSuffix(ansi.Strip(s.shown()), "(the end)"), "\r", "")
	p.Logf("$ mend %s (%d ms)\n%s", strings.Join(args, " "), took.Milliseconds(), shown)
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != frame.ExitProblems) {
		p.Fatalf("mend %q: %v", args, err)
	}
	return shown
}

// printedCommand returns the command after a text on the screen, on one line.
func (p *person) printedCommand(shown, before string) string {
	p.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(before) + `\s+((?s:.*?))\n(\n|$)`).FindStringSubmatch(shown + "\n")
	if m == nil {
		p.Fatalf("there is no %q in\n%s", before, shown)
	}
	return strings.Join(strings.Fields(m[1]), " ")
}

// TestRealLostConversations: with the real programs, people who lost a conversation get it back by the commands that
// mend prints, without an id: after a project was renamed, from the archive, after Claude Code deleted it, and two
// broken ones.
func TestRealLostConversations(t *testing.T) {
	began := time.Now()
	step := func(t *testing.T, p *person) {
		t.Helper()
		t.Logf("%s: %d ms of mend, %d ms with the programs", t.Name(), p.took.Milliseconds(), time.Since(began).Milliseconds())
		began = time.Now()
	}
	exe, err := opencode.Install("1.18.34")
	if err != nil {
		t.Fatal(err)
	}
	cli, err := claude.Install(claude.Versions[0])
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)

	t.Run("a renamed project", func(t *testing.T) {
		h := opencode.New(t, exe, api, false)
		if err := os.MkdirAll(h.Project(), 0o755); err != nil {
			t.Fatal(err)
		}
		shell(t, h.Project(), commit+"1")
		session := h.Run("say hello").Session
		shop := filepath.Join(h.Dir(), "shop")
		if err := os.Rename(h.Project(), shop); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		p := newPerson(t, h.Dir(), shop)
		p.runCommand(nil)
		shown := p.runCommand([]string{"move"}, "[y/n/?]", "y\n")
		again := strings.Replace(p.printedCommand(shown, "To continue it:"), "opencode -s", "opencode run -s", 1)
		n := len(api.Calls())
		if out, err := h.Shell(shop, again+` "and on"`); err != nil || len(api.Calls()) == n || !strings.Contains(string(api.Calls()[n].Raw), "say hello") {
			t.Errorf("%s: %v\n%s", again, err, out)
		}
		if !strings.Contains(again, session) {
			t.Errorf("%s does not continue %s", again, session)
		}
		step(t, p)
	})
	t.Run("the wrong one archived", func(t *testing.T) {
		h := opencode.New(t, exe, api, false)
		session := h.Unpack(fixtures[indexOf(t, "1.18.33")])
		server := h.Serve()
		in := server.In(h.Project())
		in.Archive(session)
		if slices.Contains(in.Listed(), session) {
			t.Fatal("it is not archived")
		}
		began = time.Now()
		p := newPerson(t, h.Dir(), h.Project())
		p.runCommand([]string{"restore"}, "A title", "\r", "[y/n/d/?]", "y\n")
		if !slices.Contains(in.Listed(), session) {
			t.Error("it is not listed again")
		}
		server.Close()
		if r := h.Continue(session, "and on"); r.Verdict != opencode.Alive {
			t.Errorf("it is %s:\n%s", r.Verdict, r.Output)
		}
		step(t, p)
	})
	t.Run("an error of OpenCode", func(t *testing.T) {
		h := opencode.New(t, exe, api, true)
		session := h.Unpack(fixtures[indexOf(t, "1.18.33")])
		damage.Text(damage.Hello, " \n")(h.Store(session))
		failed := h.ContinueOnScreen(session, "one more")
		if failed.Verdict == opencode.Alive {
			t.Fatalf("it is not broken:\n%s", failed.Output)
		}
		began = time.Now()
		p := newPerson(t, h.Dir(), h.Project())
		p.runCommand([]string{"fix"}, "[y/n/d/?]", "y\n") // broken sessions are offered without a text
		if r := h.Continue(session, "and on"); r.Verdict != opencode.Alive {
			t.Errorf("it is %s:\n%s", r.Verdict, r.Output)
		}
		p.runCommand([]string{"undo"}, "[y/n/d/?]", "y\n")
		step(t, p)
	})
	t.Run("deleted by Claude Code", func(t *testing.T) {
		h := claude.NewHome(t, cli)
		h.Put(claude.Session, claude.New().Bytes())
		p := newPerson(t, h.Dir(), filepath.Join(h.Dir(), "work"))
		began = time.Now()
		p.runCommand([]string{"keep"})
		h.Age(claude.Session, 40*24*time.Hour)
		if !h.CleanUp(`{"cleanupPeriodDays": 30}`, time.Minute) {
			t.Fatal("this version removes no transcripts")
		}
		failed := h.Prompt(claude.Session, "one more", true)
		if failed.Answered {
			t.Fatalf("it is not deleted:\n%s", failed.Output)
		}
		began = time.Now()
		p.runCommand([]string{"fix"}, "Paste the error", strings.TrimSpace(failed.Output)+"\n\n", "[y/n/d/?]", "y\n")
		if r := h.Prompt(claude.Session, "and on", true); !r.Answered || len(r.Blocks) < 10 {
			t.Errorf("answered: %t, %d blocks\n%s", r.Answered, len(r.Blocks), r.Output)
		}
		step(t, p)
	})
	t.Run("Claude Code forgot", func(t *testing.T) {
		h := claude.NewHome(t, cli)
		h.Put(claude.Session, claude.ByName("parent unknown").Broken())
		began = time.Now()
		p := newPerson(t, h.Dir(), filepath.Join(h.Dir(), "work"))
		if next := p.printedCommand(p.runCommand(nil), "Next:"); !strings.HasPrefix(next, "mend fix ") {
			t.Errorf("next is %q", next)
		}
		p.runCommand([]string{"repair"}, "[y/n/d/?]", "y\n")
		if r := h.Prompt(claude.Session, "and on", true); !r.Answered || len(r.Blocks) < 10 {
			t.Errorf("answered: %t, %d blocks\n%s", r.Answered, len(r.Blocks), r.Output)
		}
		step(t, p)
	})
}
