//go:build e2e

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/claude"
	"mend/internal/test/endpoint"
)

// A claudeTrial is a home of the real Claude Code with a damaged session.
type claudeTrial struct {
	*testing.T
	*claude.Home
	bin string
}

func newClaudeTrial(t *testing.T, damage string) claudeTrial {
	t.Helper()
	cmd, err := claude.Install(claude.Versions[0])
	if err != nil {
		t.Skip(err)
	}
	broken := claude.New()
	claude.ByName(damage).Apply(broken)
	h := claude.NewHome(t, cmd)
	h.Put(claude.Session, broken.Bytes())
	return claudeTrial{t, h, buildMend(t)}
}

// mend runs mend in the home.
func (c claudeTrial) mend(args ...string) {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), c.bin, args...)
	home := filepath.Dir(c.Root())
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("mend %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestRealClaudeHook: when the real Claude Code resumes a damaged session, it shows the message of the hook. With
// --repair, the provider accepts what /resume loads. History that Claude Code leaves out is named, and is sent again
// after the command in the message.
func TestRealClaudeHook(t *testing.T) {
	if testing.Short() {
		t.Skip("types into a terminal; TestStories/claude_hook is the sample")
	}
	for _, trial := range []struct {
		name, damage, shown string
		flags               []string
		repairs             bool
	}{
		{"report", "empty prompt", "this session is damaged", nil, false},
		{"repair", "empty prompt", "mend repaired this session", []string{"--repair"}, true},
		{"ask", "parent unknown twice", "! mend fix " + claude.Session, []string{"--repair"}, false},
	} {
		t.Run(trial.name, func(t *testing.T) {
			t.Parallel()
			c := newClaudeTrial(t, trial.damage)
			c.mend(append([]string{"plugin", "install", "--yes", "--agent", "claude"}, trial.flags...)...)
			api := endpoint.New(claude.Script)
			defer api.Close()
			term := c.Open(api.URL, "--resume", claude.Session)
			term.Wait(trial.shown)
			if _, err := os.Stat(filepath.Join(filepath.Dir(c.Root()), ".local", "state", "mend", "journal.db")); (err == nil) != trial.repairs {
				t.Errorf("the journal: %v", err)
			}
			switch trial.name {
			case "report":
				return
			case "ask":
				c.mend("fix", claude.Session, "--force", "--yes")
			}
			term.Send("/resume " + claude.Session)
			term.Wait("P5fifth")
			term.Send("hello there")
			term.Wait("Hello.")
			last := api.Calls()[len(api.Calls())-1]
			for _, call := range api.Calls() {
				if len(call.Request.Tools) > 0 {
					last = call
				}
			}
			if !bytes.Contains(last.Raw, []byte("P1first")) {
				t.Errorf("after /resume the request has no history:\n%s", term.Shown())
			}
		})
	}
}
