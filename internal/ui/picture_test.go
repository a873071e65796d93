package ui

import (
	"context"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A demoBackend has the sessions of the pictures in docs/faults.md.
type demoBackend struct{ fakeBackend }

func newDemo() *demoBackend {
	session := func(agent, title, folder string, age time.Duration, severity, what string) Session {
		return Session{ID: title, Store: agent, Agent: agent, Title: title, Folder: folder, Time: now.Add(-age), Severity: severity, What: what}
	}
	b := &demoBackend{fakeBackend{sessions: []Session{
		session("OpenCode", "Fix the login page", "~/shop", 7*time.Minute, "broken", "tool result missing"),
		session("Claude Code", "Dark mode for the editor", "~/notes", 26*time.Hour, "broken", "missing history"),
		session("OpenCode", "Upgrade to Go 1.26", "~/shop", 4*time.Hour, "at risk", "missing fields"),
		session("Claude Code", "Release notes", "~/shop", 3*time.Hour, "healthy", ""),
		session("Codex", "Write a parser for invoices", "~/invoices", 28*time.Hour, "healthy", ""),
		session("Kilo", "Rename the config file", "~/notes", 50*time.Hour, "healthy", ""),
		session("OpenCode", "Why is the build slow?", "~/shop", 9*24*time.Hour, "healthy", ""),
	}}}
	lost := session("Claude Code", "Move the tests to CI", "~/shop", 31*24*time.Hour, "", "0 messages, kept 84")
	lost.Lost, lost.State = true, "deleted"
	b.sessions = append(b.sessions, lost)
	return b
}

func (b *demoBackend) Conversation(context.Context, Session) ([]Item, error) {
	return []Item{
		{Who: "you", Text: "The login page shows nothing when the password is wrong. Please show an error below the field."},
		{Who: "OpenCode", Kind: Thought, Text: "The form is probably in src/login.tsx. Let me read it before I change anything, and look for a test of it."},
		{Who: "OpenCode", Text: "I read the form first, then I run its tests."},
		{Who: "OpenCode", Kind: Tool, Name: "read", State: "done", Text: "src/login.tsx"},
		{Who: "OpenCode", Kind: Tool, Name: "bash", State: "failed", Text: "npm test -- login"},
		{Who: "OpenCode", Text: "One test fails already. I add the message."},
		{Who: "OpenCode", Kind: Tool, Name: "edit", State: "no result", Text: "src/login.tsx", Faults: []Fault{{
			Broken: true, Why: "The tool call has no result, so the provider refuses the conversation.",
			Fix: "fix: It ends with an error, as if you had cancelled it. Nothing is lost.",
		}}},
		{Who: "you", Text: "Is it done?"},
	}, nil
}

func (b *demoBackend) Changes(context.Context, Session) ([]Line, error) {
	return []Line{
		{Head: "wrong  ", Text: "The tool call has no result"},
		{Head: "fix    ", Text: "It ends with an error, as if you had cancelled it"},
		{Head: "lost   ", Text: "nothing"},
		{Head: "then   ", Text: "It works with OpenCode 1.18.34, thinking on and off."},
		{},
		{Text: "Change 1 of 1", Style: Bold},
		{Head: "- ", Text: `state.status: "running"`, Style: Bad, Indent: 1},
		{Head: "+ ", Text: `state.status: "error"`, Style: Good, Indent: 1},
		{Head: "+ ", Text: `state.error: "Operation cancelled by user (ESC pressed)"`, Style: Good, Indent: 1},
	}, nil
}

// TestPictures checks that the pictures in docs show the present screen. -update writes them.
func TestPictures(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := newDriver(t, newDemo(), size[0], size[1])
		d.check()
		path := filepath.Join("../../docs", fmt.Sprintf("ui-%dx%d.svg", size[0], size[1]))
		got := picture(d.m.View().Content, size[0], size[1])
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != got {
			t.Errorf("%s is not the screen: run go test ./internal/ui -update (%v)", path, err)
		}
	}
}

// picture returns a screen as SVG, as a terminal with a dark background draws it.
func picture(screen string, width, height int) string {
	const cell, line, size, margin = 8.4, 17, 14, 12
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="%d">`+"\n", float64(width)*cell+2*margin, height*line+2*margin, size)
	fmt.Fprint(&b, `<rect width="100%" height="100%" rx="8" fill="#1b1d23"/>`+"\n")
	escape := regexp.MustCompile(`\x1b\[([0-9;]*)m`)
	for y, text := range strings.Split(screen, "\n") {
		x, style := 0, ""
		at := 0
		for _, m := range append(escape.FindAllStringSubmatchIndex(text, -1), []int{len(text), len(text), len(text), len(text)}) {
			run := text[at:m[0]]
			n := ansi.StringWidth(run)
			codes := strings.Split(style, ";")
			fill, more := "#d5d8de", ""
			for code, colour := range map[string]string{"31": "#ff6b6b", "32": "#7bd88f", "33": "#f3c969", "2": "#8a8f99"} {
				if slices.Contains(codes, code) {
					fill = colour
				}
			}
			if slices.Contains(codes, "1") {
				more = ` font-weight="bold"`
			}
			if slices.Contains(codes, "7") {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#d5d8de"/>`+"\n", margin+float64(x)*cell, margin+y*line, float64(n)*cell, line)
				fill = "#1b1d23"
			}
			if bare := strings.TrimRight(run, " "); strings.TrimSpace(run) != "" {
				fmt.Fprintf(&b, `<text xml:space="preserve" x="%.1f" y="%d" textLength="%.1f" fill="%s"%s>%s</text>`+"\n",
					margin+float64(x)*cell, margin+y*line+size, float64(ansi.StringWidth(bare))*cell, fill, more, html.EscapeString(bare))
			}
			x, at = x+n, m[1]
			style = text[m[2]:m[3]]
		}
	}
	return b.String() + "</svg>\n"
}
