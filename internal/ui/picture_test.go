package ui

import (
	"context"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mend/internal/test/storetest"
)

// A demoBackend has the sessions of the picture in docs/faults.md.
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

func (b *demoBackend) Conversation(context.Context, Session) ([]Line, error) {
	input := func(t string) Line { return Line{Text: t, Style: Faint, Indent: 4, Most: 4} }
	return []Line{
		who("You"), text("The login page shows nothing when the password is wrong. Please show an error below the field."),
		{},
		who("OpenCode"), text("I run the tests first."), text("**bash**"), input("command: npm test -- login"), input("FAIL login.test.tsx: 1 of 12"),
		text("One test fails already. I add the message."),
		{Head: "▲ ", Text: "The tool call has no result, so the provider refuses the conversation.", Style: Bad, Indent: 2, Mark: true},
		{Text: "fix: It ends with an error, as if you had cancelled it. Nothing is lost.", Indent: 4},
		text("**edit**"), input("filePath: src/login.tsx"), text("No result."),
		{},
		who("You"), text("Is it done?"),
	}, nil
}

// TestPicture: the picture in docs shows the current screen.
func TestPicture(t *testing.T) {
	d := newDriver(t, newDemo(), 80, 24)
	d.check()
	storetest.Golden(t, "../../docs/ui-80x24.svg", picture(d.m.View().Content, 80, 24), *update)
}

// picture returns a screen as SVG, as a terminal with a dark background draws it.
func picture(screen string, width, height int) string {
	const cell, line, margin = 8.4, 17, 12
	tags := strings.NewReplacer("\x1b[m", "</tspan>", "\x1b[1m", `<tspan font-weight="bold">`, "\x1b[2m", `<tspan fill="#8a8f99">`, "\x1b[7m", `<tspan font-weight="bold" text-decoration="underline">`,
		"\x1b[1;31m", `<tspan fill="#ff6b6b" font-weight="bold">`, "\x1b[32m", `<tspan fill="#7bd88f">`, "\x1b[33m", `<tspan fill="#f3c969">`)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="#d5d8de">`+"\n", float64(width)*cell+2*margin, height*line+2*margin)
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#1b1d23"/>` + "\n")
	for y, text := range strings.Split(screen, "\n") {
		fmt.Fprintf(&b, `<text xml:space="preserve" x="%d" y="%d" textLength="%.1f">%s</text>`+"\n", margin, margin+y*line+14, float64(ansi.StringWidth(text))*cell, tags.Replace(html.EscapeString(text)))
	}
	return b.String() + "</svg>\n"
}
