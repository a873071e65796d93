package ui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

// A fakeBackend has sessions and a journal in memory.
type fakeBackend struct {
	sessions []Session
	entries  []Entry
	notes    []string
	applied  []string
	fail     error
	heals    bool // a repair makes a session healthy, which moves it in the list
}

func (b *fakeBackend) Scan(_ context.Context, report func(Progress)) error {
	for i := 0; i < len(b.sessions); i += 7 {
		report(Progress{b.sessions[i:min(i+7, len(b.sessions))], min(i+7, len(b.sessions)), len(b.sessions)})
	}
	return b.fail
}

func (b *fakeBackend) Examine(_ context.Context, s Session) (Session, error) {
	for _, o := range b.sessions {
		if o.key() == s.key() {
			return o, b.fail
		}
	}
	return s, b.fail
}

func (b *fakeBackend) Detail(_ context.Context, s Session) (Detail, error) {
	d := Detail{Findings: []string{"broken " + s.ID, "    The call has no result."}, Changes: []string{
		"  ~ change part prt_1", `      -  "text": " "`, `      +  "text": "[user interrupted] ` + strings.Repeat("a long text ", 12) + `"`, "       }",
	}}
	for n := range 40 {
		d.Request = append(d.Request, fmt.Sprintf("messages.%d user", n), fmt.Sprintf("  content.0 text  %q  prt_%d", strings.Repeat("words ", 20), n))
		if n == 20 || n == 30 {
			d.Request = append(d.Request, "    ▲ R1 messages."+fmt.Sprint(n)+": `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1", "      The call has no result.")
		}
	}
	return d, b.fail
}

func (b *fakeBackend) change(name string) (Change, error) {
	return Change{Question: name + "?", Lines: []string{"  ~ change part prt_1"}, Hint: "u undoes it.", Apply: func(context.Context) (string, error) {
		b.applied = append(b.applied, name)
		return name + " is done.", b.fail
	}}, b.fail
}

func (b *fakeBackend) Repair(_ context.Context, s Session) (Change, error) {
	if s.Severity == "healthy" {
		return Change{Question: "There is nothing to repair."}, nil
	}
	c, err := b.change("repair " + s.ID)
	apply := c.Apply
	c.Apply = func(ctx context.Context) (string, error) {
		for i := range b.sessions {
			if o := &b.sessions[i]; b.heals && o.key() == s.key() {
				o.Severity, o.Class, o.Rank = "healthy", "", 5000
			}
		}
		return apply(ctx)
	}
	return c, err
}

func (b *fakeBackend) Newest(_ context.Context, s Session, undone bool) (string, error) {
	return fmt.Sprintf("newest of %s, undone %v", s.ID, undone), b.fail
}

func (b *fakeBackend) Undo(_ context.Context, id string) (Change, error) {
	return b.change("undo " + id)
}

func (b *fakeBackend) Redo(_ context.Context, id string) (Change, error) {
	return b.change("redo " + id)
}

func (b *fakeBackend) Journal(context.Context) ([]Entry, error) { return b.entries, b.fail }
func (b *fakeBackend) Show(_ context.Context, id string) ([]string, error) {
	return []string{"repair " + id}, b.fail
}

func (b *fakeBackend) Explain(_ context.Context, s Session) ([]string, error) {
	return []string{"R1 says: " + s.ID}, b.fail
}

func (b *fakeBackend) Notes() []string { return b.notes }

// fakeSessions returns n sessions, broken, latent and healthy ones.
func fakeSessions(n int) []Session {
	titles := []string{"Fix the login page", "家族 👩‍👩‍👧 写真", "שלום עולם", "a \x1b]0;title\x07\x1b[31mred\u202e", strings.Repeat("a long title ", 20), ""}
	var all []Session
	for i := range n {
		s := Session{ID: fmt.Sprintf("ses_%03d", i), Store: "/store", Age: "3 days ago", Title: titles[i%len(titles)], Place: "~/project", Severity: "healthy", Rank: 3000 - i}
		switch i % 3 {
		case 1:
			s.Severity, s.Class, s.Rank = "broken", "tool_result_missing", 1000-i
		case 2:
			s.Severity, s.Class, s.Rank = "latent", "incomplete_record", 2000-i
		}
		all = append(all, s)
	}
	return all
}

// A driver runs a model without a terminal: each command of the model is run to its end.
type driver struct {
	*testing.T
	m    *model
	quit bool
}

func newDriver(t *testing.T, b Backend, width, height int) *driver {
	d := &driver{T: t, m: newModel(t.Context(), b)}
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
	d.run(d.m.Init())
	return d
}

func (d *driver) send(msg tea.Msg) {
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		d.quit = true
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	default:
		d.send(msg)
	}
}

// press presses keys: letters, or names of keys.
func (d *driver) press(keys ...string) {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "down": tea.KeyDown, "up": tea.KeyUp, "end": tea.KeyEnd, "home": tea.KeyHome,
		"pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace,
	}
	for _, k := range keys {
		switch code, ok := special[k]; {
		case ok:
			d.send(tea.KeyPressMsg{Code: code})
		case k == "ctrl+c":
			d.send(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
		default:
			for _, c := range k {
				d.send(tea.KeyPressMsg{Code: c, Text: string(c)})
			}
		}
	}
}

// screen returns what the terminal shows, without colours.
func (d *driver) screen() string { return ansi.Strip(d.m.View().Content) }

// check checks that the screen has exactly the size of the terminal, and nothing that a terminal obeys but
// colours.
func (d *driver) check() {
	d.Helper()
	lines := strings.Split(d.m.View().Content, "\n")
	if len(lines) != d.m.height {
		d.Errorf("%d lines on a screen of %d", len(lines), d.m.height)
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n > d.m.width {
			d.Errorf("%d columns on a screen of %d: %q", n, d.m.width, line)
		}
		if strings.ContainsFunc(ansi.Strip(line), isUnsafe) {
			d.Errorf("not safe for a terminal: %q", line)
		}
	}
}

// TestScreens compares screens with golden files, on several terminals.
func TestScreens(t *testing.T) {
	entries := []Entry{{"qevajo", "2026-01-02 15:04  done  repair, 1 change"}, {"bakoqu", "2026-01-01 15:04  undone  repair, 3 changes"}}
	for _, c := range []struct {
		name          string
		sessions      int
		width, height int
		keys          []string
	}{
		{"none", 0, 80, 24, nil},
		{"one", 1, 80, 24, nil},
		{"20", 20, 80, 24, []string{"down", "down"}},
		{"300-wide", 300, 120, 30, []string{"end"}},
		{"filter", 20, 80, 24, []string{"/", "login healthy"}},
		{"filter-none", 20, 80, 24, []string{"/", "xyz", "enter"}},
		{"detail", 20, 80, 24, []string{"enter"}},
		{"detail-next", 20, 80, 24, []string{"enter", "n"}},
		{"changes", 20, 80, 24, []string{"enter", "tab"}},
		{"findings", 20, 80, 24, []string{"enter", "tab", "tab"}},
		{"repair", 20, 80, 24, []string{"r"}},
		{"repaired", 20, 80, 24, []string{"enter", "r", "y"}},
		{"journal", 20, 80, 24, []string{"l", "down"}},
		{"show", 20, 80, 24, []string{"l", "enter"}},
		{"explain", 20, 80, 24, []string{"e"}},
		{"help", 20, 80, 30, []string{"?"}},
		{"tiny", 20, 20, 5, []string{"enter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDriver(t, &fakeBackend{sessions: fakeSessions(c.sessions), entries: entries}, c.width, c.height)
			d.press(c.keys...)
			d.check()
			got := strings.Join(trimLines(d.screen()), "\n") + "\n"
			path := filepath.Join("testdata", c.name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the screen is not that of %s (-want +got):\n%s", path, diff)
			}
		})
	}
}

func trimLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// TestKeys checks which changes keys make.
func TestKeys(t *testing.T) {
	entries := []Entry{{ID: "qevajo"}, {ID: "bakoqu"}}
	for _, c := range []struct {
		keys []string
		want []string // the changes
	}{
		{[]string{"r", "y"}, []string{"repair ses_019"}},
		{[]string{"r", "n"}, nil},
		{[]string{"r", "esc", "y"}, nil},
		{[]string{"r", "x", "enter", "r"}, nil},
		{[]string{"enter", "r", "y"}, []string{"repair ses_019"}},
		{[]string{"enter", "r", "y", "u", "y"}, []string{"repair ses_019", "undo newest of ses_019, undone false"}},
		{[]string{"down", "u", "y", "R", "y"}, []string{"undo newest of ses_016, undone false", "redo newest of ses_016, undone true"}},
		{[]string{"l", "down", "u", "y"}, []string{"undo bakoqu"}},
		{[]string{"l", "R", "y"}, []string{"redo qevajo"}},
		{[]string{"l", "enter", "u", "y"}, nil},
		{[]string{"end", "r", "y"}, nil}, // it is healthy
		{[]string{"/", "ses_004", "enter", "r", "y"}, []string{"repair ses_004"}},
		{[]string{"/", "ry", "esc"}, nil},
		{[]string{"?", "r", "y", "esc", "q"}, nil},
	} {
		b := &fakeBackend{sessions: fakeSessions(20), entries: entries}
		d := newDriver(t, b, 80, 24)
		d.press(c.keys...)
		if diff := cmp.Diff(c.want, b.applied); diff != "" {
			t.Errorf("keys %q: changes (-want +got):\n%s", c.keys, diff)
		}
		d.check()
	}
}

// TestErrors checks that errors are shown and that keys go on.
func TestErrors(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(3), notes: []string{"a note"}}
	d := newDriver(t, b, 80, 24)
	if !strings.Contains(d.screen(), "note: a note") {
		t.Errorf("no note:\n%s", d.screen())
	}
	b.fail = errors.New("the disk \x1b[2J is full")
	for _, keys := range [][]string{{"enter"}, {"r"}, {"u"}, {"R"}, {"l"}, {"e"}, {"s"}} {
		d.press(keys...)
		if !strings.Contains(d.screen(), "the disk ·[2J is full") {
			t.Errorf("keys %q: no error:\n%s", keys, d.screen())
		}
		d.check()
		d.press("down")
	}
}

// TestWorkInBackground checks that keys are answered while work runs, that other work takes its place, and
// that the screen stays until a change is written.
func TestWorkInBackground(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(20), entries: []Entry{{ID: "qevajo"}}}
	d := newDriver(t, b, 80, 24)
	_, work := d.m.Update(tea.KeyPressMsg{Code: 'r', Text: "r"})
	if !strings.Contains(d.screen(), "planning the repair …") {
		t.Errorf("the screen does not say what runs:\n%s", d.screen())
	}
	d.press("down", "l")
	if d.run(work); d.m.at != atJournal || d.m.list.at != 1 || d.m.asking != nil {
		t.Errorf("keys while work runs:\n%s", d.screen())
	}
	d.press("esc", "r")
	_, write := d.m.Update(tea.KeyPressMsg{Code: 'y', Text: "y"})
	d.press("l", "down", "q", "ctrl+c")
	if d.quit || !strings.Contains(d.screen(), "is finished first") || d.m.at != atSessions {
		t.Errorf("keys while a change is written:\n%s", d.screen())
	}
	d.run(write)
	if !d.quit || len(b.applied) != 1 {
		t.Errorf("after the change: quit %v, changes %q", d.quit, b.applied)
	}
}

// TestEscAfterChange checks that the list shows what became of a session, also if Esc ends the
// reading after the change.
func TestEscAfterChange(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(2)} // the first one in the list is broken
	d := newDriver(t, b, 80, 24)
	d.press("enter", "r")
	_, write := d.m.Update(tea.KeyPressMsg{Code: 'y', Text: "y"})
	b.sessions[1].Severity = "healthy"
	_, read := d.m.Update(write())
	d.m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	d.press("esc")
	if d.run(read); d.m.at != atSessions || !strings.Contains(d.screen(), "0 broken") {
		t.Errorf("after a repair and Esc:\n%s", d.screen())
	}
}

// TestResize checks every size of a terminal.
func TestResize(t *testing.T) {
	d := newDriver(t, &fakeBackend{sessions: fakeSessions(20)}, 80, 24)
	for _, keys := range []string{"", "enter", "tab", "tab", "r", "n", "?"} {
		d.press(keys)
		for width := 4; width < 130; width += 9 {
			for height := 4; height < 50; height += 9 {
				d.send(tea.WindowSizeMsg{Width: width, Height: height})
				d.check()
			}
		}
	}
}

// TestHint checks that a message about a key is true: after a repair has moved the session in the
// list, u undoes that repair; and a message goes when the user does.
func TestHint(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(20), heals: true}
	d := newDriver(t, b, 80, 24)
	d.press("r", "y")
	repaired := strings.TrimPrefix(b.applied[0], "repair ")
	if s, _ := d.m.selected(); s.ID != repaired || !strings.Contains(d.screen(), "repair "+repaired+" is done. u undoes it.") {
		t.Fatalf("after the repair of %s %s is selected:\n%s", repaired, s.ID, d.screen())
	}
	d.press("u")
	if want := "undo newest of " + repaired; !strings.Contains(d.screen(), want) {
		t.Errorf("u does not ask %q:\n%s", want, d.screen())
	}
	d.press("y", "up")
	if strings.Contains(d.screen(), "is done") {
		t.Errorf("the message of a change stays when the user has gone on:\n%s", d.screen())
	}
	d.press("/", "broken", "enter", "r", "y") // the filter hides what was repaired
	if !strings.Contains(d.screen(), "is done.") || strings.Contains(d.screen(), "u undoes it") {
		t.Errorf("the hint is about another session than the selected one:\n%s", d.screen())
	}
}
