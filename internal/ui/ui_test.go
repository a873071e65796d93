package ui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"mend/internal/test/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

var now = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// A fakeBackend has sessions in memory.
type fakeBackend struct {
	sessions []Session
	notes    []string
	applied  []string
	fail     error
	reads    int // of a conversation
}

func (b *fakeBackend) Scan(_ context.Context, report func(Progress)) error {
	for i := 0; i < len(b.sessions); i += 7 {
		report(Progress{slices.Clone(b.sessions[i:min(i+7, len(b.sessions))]), min(i+7, len(b.sessions)), len(b.sessions)})
	}
	return b.fail
}

func (b *fakeBackend) Conversation(_ context.Context, s Session) ([]Line, error) {
	b.reads++
	lines := []Line{
		who("You"), text("Please fix the login page: it does not show an error when the password is wrong. It should say so below the field."),
		who("OpenCode"),
		{Text: "The user wants an error below the field. Let me look at the form first, then at the handler.", Style: Faint, Indent: 2, Most: 12},
		text("I look at the form first."),
		text("**bash**"),
		{Text: "command: npm test -- --run login && echo a very long command that goes on", Style: Faint, Indent: 4, Most: 4},
		{Text: strings.Repeat("ok\n", 9), Style: Faint, Indent: 4, Most: 4},
	}
	for i := range 6 {
		lines = append(lines, who("You"), text(fmt.Sprintf("And step %d?", i+1)), who("OpenCode"), text(strings.Repeat("It is done, and the test passes.\n", 4*i)))
	}
	if s.Severity == "broken" {
		lines = append(
			lines, Line{Head: "▲ ", Text: "The tool call has no result, so the provider refuses the conversation.", Style: Bad, Indent: 2, Mark: true},
			Line{Text: "fix: It ends with an error, as if the user had cancelled it. Nothing is lost.", Indent: 4},
			text("**edit**"), Line{Text: "path: src/login.tsx", Style: Faint, Indent: 4, Most: 4},
		)
	}
	return append(lines, who("You"), text("Thanks!")), b.fail
}

func who(name string) Line { return Line{Text: name, Style: Bold} }

func text(t string) Line { return Line{Text: t, Indent: 2, Most: 12} }

func (b *fakeBackend) change(name string, about ...Session) (Change, error) {
	return Change{Question: name + "?", Lines: []Line{{Text: "Change 1 of 1: change", Style: Bold}}, About: about, Apply: func(context.Context) (string, error) {
		b.applied = append(b.applied, name)
		return name + " is done.", b.fail
	}}, b.fail
}

func (b *fakeBackend) Repair(_ context.Context, all []Session) (Change, error) {
	var ids []string
	for _, s := range all {
		if s.Severity != "healthy" || s.Lost {
			ids = append(ids, s.ID)
		}
	}
	if ids == nil {
		return Change{Question: "There is nothing to repair."}, b.fail
	}
	c, err := b.change("repair "+strings.Join(ids, " "), all...)
	apply := c.Apply
	c.Apply = func(ctx context.Context) (string, error) {
		for i := range b.sessions {
			if o := &b.sessions[i]; slices.Contains(ids, o.ID) {
				o.Severity, o.What, o.Lost, o.State = "healthy", "", false, ""
			}
		}
		return apply(ctx)
	}
	return c, err
}

func (b *fakeBackend) Revert(_ context.Context, s Session, redo bool) (Change, error) {
	name := "undo "
	if redo {
		name = "redo "
	}
	return b.change(name+strings.TrimSpace("newest of "+s.ID), s)
}

func (b *fakeBackend) Continue(_ context.Context, s Session) (string, error) {
	return "To continue it: agent " + s.ID, nil
}

func (b *fakeBackend) Notes() []string { return b.notes }

// fakeSessions returns n sessions of several agents: broken, at risk, lost and healthy.
func fakeSessions(n int) []Session {
	titles := []string{"Fix the login page", "家族 👩‍👩‍👧 写真", "שלום עולם", "a \x1b]0;title\x07\x1b[31mred\u202e", strings.Repeat("a long title ", 20), ""}
	var all []Session
	for i := range n {
		s := Session{
			ID: fmt.Sprintf("ses_%03d", i), Store: "/store", Agent: [...]string{"OpenCode", "Claude Code", "Codex"}[i%3], Time: now.Add(-time.Duration(i*i) * time.Hour),
			Title: titles[i%len(titles)], Folder: "~/project", Severity: "healthy",
		}
		switch i % 5 {
		case 1:
			s.Severity, s.What = "broken", "tool result missing"
		case 2:
			s.Severity, s.What = "at risk", "missing fields"
		case 4:
			s.Lost, s.State, s.Severity, s.What = true, "deleted", "", "0 messages, kept 12"
		}
		all = append(all, s)
	}
	return all
}

// A driver runs a model without a terminal. It runs each command of the model until the command ends.
type driver struct {
	*testing.T
	m    *model
	quit bool
}

func newDriver(t *testing.T, b Backend, width, height int) *driver {
	d := &driver{T: t, m: newModel(t.Context(), b)}
	d.m.now = func() time.Time { return now }
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

// press presses keys, each given by its name or as text that is typed.
func (d *driver) press(keys ...string) {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "down": tea.KeyDown, "up": tea.KeyUp, "end": tea.KeyEnd, "home": tea.KeyHome,
		"pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace, "left": tea.KeyLeft, "right": tea.KeyRight,
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
		d.check()
	}
}

func (d *driver) screen() string { return ansi.Strip(d.m.View().Content) }

func (d *driver) wantShown(text string) {
	d.Helper()
	if !strings.Contains(d.screen(), text) {
		d.Errorf("the screen does not show %q:\n%s", text, d.screen())
	}
}

func (d *driver) wantHidden(text string) {
	d.Helper()
	if strings.Contains(d.screen(), text) {
		d.Errorf("the screen shows %q:\n%s", text, d.screen())
	}
}

// check checks that the screen fits the terminal, and that styles are its only control sequences.
func (d *driver) check() {
	d.Helper()
	lines := strings.Split(d.m.View().Content, "\n")
	if len(lines) != d.m.height {
		d.Errorf("%d lines on a terminal of %d", len(lines), d.m.height)
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n > d.m.width {
			d.Errorf("%d columns on a terminal of %d: %q", n, d.m.width, line)
		}
		if strings.ContainsFunc(ansi.Strip(line), isUnsafe) {
			d.Errorf("a character that is unsafe for a terminal: %q", line)
		}
	}
}

// TestScreens compares each view, on terminals of three sizes, with its golden file.
func TestScreens(t *testing.T) {
	for _, c := range []struct {
		name     string
		sessions int
		keys     []string
	}{
		{"none", 0, nil},
		{"list", 20, nil},
		{"end", 300, []string{"end"}},
		{"filter", 20, []string{"/", "login healthy"}},
		{"filter-none", 20, []string{"/", "xyz", "enter"}},
		{"talk", 20, []string{"enter", "pgdown"}},
		{"lost", 20, []string{"/", "deleted", "enter"}},
		{"repair", 20, []string{"a"}},
		{"repaired", 20, []string{"r", "y"}},
		{"continue", 20, []string{"c"}},
		{"help", 20, []string{"?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all strings.Builder
			for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 24}} {
				d := newDriver(t, &fakeBackend{sessions: fakeSessions(c.sessions)}, size[0], size[1])
				d.press(c.keys...)
				d.check()
				fmt.Fprintf(&all, "# %d x %d\n", size[0], size[1])
				for line := range strings.Lines(d.screen()) {
					fmt.Fprintln(&all, strings.TrimRight(line, " \n"))
				}
			}
			path := filepath.Join("testdata", c.name+".golden")
			storetest.Golden(t, path, all.String(), *update)
		})
	}
}

// TestKeys: keys cause exactly these changes.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want []string // changes
	}{
		{[]string{"r", "y"}, []string{"repair ses_001"}},
		{[]string{"r", "n"}, nil},
		{[]string{"r", "esc", "y"}, nil},
		{[]string{"r", "x", "enter", "r"}, nil},
		{[]string{"a", "y"}, []string{"repair ses_001 ses_006 ses_011 ses_016"}},
		{[]string{"a", "q", "y"}, nil},
		{[]string{"a", "y", "a", "y"}, []string{"repair ses_001 ses_006 ses_011 ses_016"}}, // nothing is broken after the first
		{[]string{"/", "codex broken", "enter", "a", "y"}, []string{"repair ses_011"}},
		{[]string{"/", "deleted", "enter", "r", "y"}, []string{"repair ses_004"}},
		{[]string{"enter", "r", "y"}, []string{"repair ses_001"}},
		{[]string{"enter", "r", "y", "u", "y"}, []string{"repair ses_001", "undo newest of ses_001"}},
		{[]string{"r", "y", "home", "U", "y"}, []string{"repair ses_001", "undo newest of"}},
		{[]string{"down", "u", "y", "R", "y"}, []string{"undo newest of ses_006", "redo newest of ses_006"}},
		{[]string{"end", "r", "y"}, nil}, // the session is healthy
		{[]string{"/", "ses_006", "enter", "r", "y"}, []string{"repair ses_006"}},
		{[]string{"/", "ry", "esc"}, nil},
		{[]string{"?", "r", "y", "esc", "q"}, nil},
	} {
		for _, width := range []int{80, 40} {
			b := &fakeBackend{sessions: fakeSessions(20)}
			d := newDriver(t, b, width, 24)
			d.press(c.keys...)
			if diff := cmp.Diff(c.want, b.applied); diff != "" {
				t.Errorf("keys %q at %d columns: changes (-want +got):\n%s", c.keys, width, diff)
			}
		}
	}
}

// TestViews: on a narrow terminal, keys lead from the list to the conversation, and back.
func TestViews(t *testing.T) {
	d := newDriver(t, &fakeBackend{sessions: fakeSessions(20)}, 40, 24)
	d.wantShown("broken (4)")
	d.wantHidden("Thanks!")
	d.press("enter")
	d.wantShown("Thanks!")
	d.wantShown("▲ The tool call has no result")
	d.wantHidden("broken (4)")
	d.press("home")
	d.wantShown("command: npm test")
	d.wantHidden("▲ The")
	d.press("n")
	d.wantShown("▲ The tool call has no result")
	d.wantShown("8 more lines (Enter)")
	d.press("enter", "home", "enter", "esc")
	d.wantShown("broken (4)")
	d.press("right")
	d.wantHidden("broken (4)")
	d.press("left", "esc", "q")
	if !d.quit {
		t.Error("q does not end the screen")
	}
}

// TestErrors: an error is shown without control characters, and keys still work.
func TestErrors(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(3), notes: []string{"note: a note"}}
	d := newDriver(t, b, 80, 24)
	d.wantShown("note: a note")
	d.press("down")
	d.wantHidden("a note")
	d.press("?") // the help has the notes
	d.wantShown("note: a note")
	d.press("esc")
	b.fail = errors.New("the disk \x1b[2J is full")
	for _, keys := range [][]string{{"r"}, {"u"}, {"U"}, {"R"}, {"a"}, {"c"}, {"s"}} {
		d.press(keys...)
		d.wantShown("the disk ·[2J is full")
		d.press("up")
	}
}

// TestWorkInBackground: keys work while a task runs, a new task replaces the running one, and the screen stays open
// until a change is written.
func TestWorkInBackground(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(20)}
	d := newDriver(t, b, 80, 24)
	_, work := d.m.Update(tea.KeyPressMsg{Code: 'r', Text: "r"})
	d.wantShown("planning the repair …")
	d.press("down", "u")
	if d.run(work); d.m.asking == nil || d.m.asking.Question != "undo newest of ses_006?" {
		t.Errorf("after keys while a task runs:\n%s", d.screen())
	}
	d.press("n")
	_, work = d.m.Update(tea.KeyPressMsg{Code: 'u', Text: "u"})
	d.press("esc")
	if d.run(work); d.m.asking != nil || d.m.running != "" {
		t.Errorf("after Esc while a task runs:\n%s", d.screen())
	}
	d.press("r")
	_, write := d.m.Update(tea.KeyPressMsg{Code: 'y', Text: "y"})
	d.press("u", "down", "q", "ctrl+c")
	d.wantShown("checking and writing")
	if d.quit || d.m.asking != nil {
		t.Errorf("after keys while a change is written:\n%s", d.screen())
	}
	d.run(write)
	if !d.quit || len(b.applied) != 1 {
		t.Errorf("after the change: quit %v, changes %q", d.quit, b.applied)
	}
}

// TestSelectionIsRead: the right side shows only the selected session, even if another one is read late.
func TestSelectionIsRead(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(20)}
	d := newDriver(t, b, 80, 24)
	d.wantShown("▲")
	_, late := d.m.Update(tea.KeyPressMsg{Code: tea.KeyEnd}) // selects a healthy session
	d.wantShown("reading …")
	d.wantHidden("▲")
	d.press("home")
	d.run(late)
	d.wantShown("▲")
	_, late = d.m.Update(tea.KeyPressMsg{Code: tea.KeyEnd})
	d.press("/", "nothing fits this")
	d.run(late)
	d.wantHidden("Thanks!")
}

// TestResize: each view fits a terminal of any size.
func TestResize(t *testing.T) {
	d := newDriver(t, &fakeBackend{sessions: fakeSessions(20)}, 80, 24)
	for _, keys := range []string{"", "enter", "esc", "r", "n", "?"} {
		d.press(strings.Fields(keys)...)
		for width := 4; width < 130; width += 9 {
			for height := 4; height < 50; height += 9 {
				d.send(tea.WindowSizeMsg{Width: width, Height: height})
				d.check()
			}
		}
	}
}

// TestScanAgain: a scan shows what another program has changed, added and removed; until it ends, the sessions stay.
func TestScanAgain(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(20)}
	d := newDriver(t, b, 80, 24)
	reads := b.reads
	b.sessions[6].Severity, b.sessions[6].What = "healthy", ""
	b.sessions = append(b.sessions[1:], Session{ID: "new", Store: "/store", Title: "A new session", Severity: "at risk", Time: now})
	_, scan := d.m.Update(tea.KeyPressMsg{Code: 's', Text: "s"})
	d.wantShown("broken (4)")
	d.run(scan)
	d.wantShown("broken (3)")
	d.wantShown("A new session")
	d.wantShown("1/20")
	if b.reads == reads {
		t.Error("the conversation is not read again")
	}
}

// A damagedBackend has a store that a scan finds damaged.
type damagedBackend struct{ *fakeBackend }

func (b damagedBackend) Scan(ctx context.Context, report func(Progress)) error {
	return errors.Join(b.fakeBackend.Scan(ctx, report), errors.New("a store is damaged"))
}

// TestResultStays: the scan after a change does not replace its result by an error that was shown before.
func TestResultStays(t *testing.T) {
	d := newDriver(t, damagedBackend{&fakeBackend{sessions: fakeSessions(3)}}, 80, 24)
	d.wantShown("a store is damaged")
	d.press("r", "y")
	d.wantShown("is done.")
	d.press("s")
	d.wantShown("a store is damaged")
}

// TestMessages: any key clears a message.
func TestMessages(t *testing.T) {
	for _, key := range []string{"down", "enter", "/", "?"} {
		d := newDriver(t, &fakeBackend{sessions: fakeSessions(20)}, 80, 24)
		d.press("r", "y")
		d.wantShown("is done.")
		d.press(key)
		d.wantHidden("is done.")
	}
}

// TestCursorFollows: the cursor moves to the session that was repaired.
func TestCursorFollows(t *testing.T) {
	b := &fakeBackend{sessions: fakeSessions(20)}
	b.sessions = b.sessions[:6] // only one of them is broken
	d := newDriver(t, b, 80, 24)
	d.press("end", "a", "y", "u", "y")
	if diff := cmp.Diff([]string{"repair ses_001", "undo newest of ses_001"}, b.applied); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
