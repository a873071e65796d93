//go:build e2e

package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/internal/test/claude"
	"mend/internal/test/endpoint"
)

// refuseImage refuses the first image of a request, as if only the provider could know that it is invalid.
func refuseImage(body string) string {
	r, err := endpoint.Parse([]byte(body))
	if err != nil {
		return ""
	}
	isImage := func(b endpoint.Block) bool { return b.Type == "image" }
	for n, m := range r.Messages {
		for i, b := range m.Content {
			switch inside := slices.IndexFunc(b.Content, isImage); {
			case isImage(b):
				return fmt.Sprintf("messages.%d.content.%d.image.source.base64: Could not process image", n, i)
			case inside >= 0:
				return fmt.Sprintf("messages.%d.content.%d.tool_result.content.%d.image.source.base64: Could not process image", n, i, inside)
			}
		}
	}
	return ""
}

// watch starts "mend watch" in the home until the test ends, and returns its output.
func (c claudeTrial) watch() *lockedBuffer {
	c.Helper()
	home := filepath.Dir(c.Root())
	cmd := exec.Command(c.bin, "watch", "--set", "watchPollSeconds=1")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, c.Output()), c.Output()
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(c.T, "the watch", func() bool { return strings.Contains(out.text(), "Following Claude Code") })
	return out
}

// TestLiveWatchClaude: watch repairs a session of the real Claude Code that the provider refuses, and the session
// answers. For a session with missing history it names the command that restores it. After an error that only the
// provider can detect, Claude Code removes the image itself: watch changes nothing, and the next prompt is answered.
func TestLiveWatchClaude(t *testing.T) {
	t.Parallel()
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		c := newClaudeTrial(t, "empty prompt")
		out := c.watch()
		waitFor(t, "the repair", func() bool { return strings.Contains(out.text(), "Repaired") })
		if r := c.Prompt(claude.Session, "hello there", true); !r.Answered {
			t.Errorf("after the repair: %+v", r)
		}
	})
	t.Run("history left out", func(t *testing.T) {
		t.Parallel()
		c := newClaudeTrial(t, "parent unknown twice")
		before := string(c.Read(claude.Session))
		out := c.watch()
		waitFor(t, "the name of the command", func() bool { return strings.Contains(out.text(), "mend fix "+claude.Session) })
		if string(c.Read(claude.Session)) != before {
			t.Error("the transcript was changed without a question")
		}
		c.mend("fix", claude.Session, "--yes")
		r := c.Prompt(claude.Session, "hello there", true)
		if !r.Answered || !slices.ContainsFunc(r.Blocks, func(b string) bool { return strings.Contains(b, "P1first") }) {
			t.Errorf("after the repair: %+v", r)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		c := newClaudeTrial(t, "none")
		out := c.watch()
		api := endpoint.New(claude.Script)
		t.Cleanup(api.Close)
		g := &gate{}
		message := "" // Claude Code retries without the image, which does not help here
		g.set(func(body string) string {
			message = cmp.Or(message, refuseImage(body))
			return message
		})
		g.open(t, api)
		if err := c.Start(t.Context(), api.URL, claude.Session, "hello there", true).Wait(); err == nil {
			t.Fatal("the prompt was answered")
		}
		c.WaitEnded()
		log := filepath.Join(filepath.Dir(c.Root()), ".local", "state", "mend", "hook.log")
		waitFor(t, "the look", func() bool { return strings.Contains(readFile(t, log), "left alone") })
		g.set(refuseImage)
		if err := c.Start(t.Context(), api.URL, claude.Session, "hello again", true).Wait(); err != nil {
			t.Errorf("the next prompt: %v", err)
		}
		if strings.Contains(out.text(), "Repaired") {
			t.Error("watch repaired what Claude Code had repaired itself")
		}
	})
}

// TestLiveWatchClaudeOpen: a damaged session that Claude Code has open is only reported, and is repaired after Claude
// Code has ended.
func TestLiveWatchClaudeOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("types into a terminal")
	}
	t.Parallel()
	c := newClaudeTrial(t, "empty prompt")
	api := endpoint.New(claude.Script)
	t.Cleanup(api.Close)
	term := c.Open(api.URL, "--resume", claude.Session)
	term.Wait("Done 13.")
	before := string(c.Read(claude.Session))
	out := c.watch()
	waitFor(t, "the report", func() bool { return strings.Contains(out.text(), ") has it open") })
	if string(c.Read(claude.Session)) != before {
		t.Error("the transcript was changed")
	}
	term.Close()
	c.WaitEnded()
	waitFor(t, "the repair", func() bool { return strings.Contains(out.text(), "Repaired") })
}
