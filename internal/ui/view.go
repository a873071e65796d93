package ui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// The styles. Everything that a colour says is also said by a word or a mark.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true)
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	chosen = lipgloss.NewStyle().Reverse(true)
)

var severityStyles = map[string]lipgloss.Style{"broken": red, "at risk": yellow, "healthy": green, "note": faint}

// frame is the number of lines besides the body: title, status and keys.
const frame = 3

func (m *model) bodyHeight() int { return max(m.height-frame, 1) }

// View implements [tea.Model].
func (m *model) View() tea.View {
	title, body := m.page()
	lines := []string{bold.Render(m.cut(title))}
	for i := range m.bodyHeight() {
		line := ""
		if i < len(body) {
			line = body[i]
		}
		lines = append(lines, line)
	}
	lines = append(lines, m.status(), m.keys())
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "mend"
	return v
}

// page returns the title and the lines of what is shown.
func (m *model) page() (title string, body []string) {
	height := m.bodyHeight()
	switch {
	case m.asking != nil:
		return m.asking.Question, m.diffLines(m.diff.window(height))
	case m.at == atDetail:
		return m.detailTitle(), m.paneLines(height)
	case m.at == atJournal:
		return fmt.Sprintf("Journal: %s", plural(len(m.entries), "entry", "entries")), m.journalLines(height)
	case m.at == atText:
		return m.title, m.diffLines(m.text.window(height))
	}
	return "mend: " + m.counts(), m.sessionLines(height)
}

func (m *model) sessionLines(height int) (lines []string) {
	fit := m.fitting()
	if len(fit) == 0 && !m.scanning {
		return []string{"", "  No session" + map[bool]string{true: " fits the filter", false: " found"}[len(m.sessions) > 0] + "."}
	}
	from, to := m.list.window(len(fit), height)
	classWidth := 0
	for _, s := range fit[from:to] {
		classWidth = max(classWidth, ansi.StringWidth(s.Class))
	}
	classWidth = min(classWidth, m.width/3)
	for i, s := range fit[from:to] {
		line := fmt.Sprintf("%-8s %s  %-14s %s", s.Severity, pad(clean(s.Class), classWidth), clean(s.Age), clean(s.Title))
		if s.Place != "" && m.width >= 100 {
			line = m.withRight(line, clean(s.Place))
		}
		lines = append(lines, m.row(line, from+i == m.list.at, severityStyles[s.Severity], len(s.Severity)))
	}
	return lines
}

// withRight returns the line with a text at the right, if there is room for it.
func (m *model) withRight(line, right string) string {
	room := m.width - 2 - ansi.StringWidth(right)
	if room < 60 {
		return line
	}
	return pad(ansi.Truncate(line, room-2, "…"), room) + right
}

// row returns a row of a list. The first n bytes have the style.
func (m *model) row(line string, selected bool, style lipgloss.Style, n int) string {
	if selected {
		return chosen.Render(pad(m.cut("> "+line), m.width))
	}
	line = m.cut("  " + line)
	if end := 2 + n; len(line) >= end {
		return line[:2] + style.Render(line[2:end]) + line[end:]
	}
	return line
}

func (m *model) detailTitle() string {
	var tabs []string
	for i, name := range panes {
		if i == m.pane {
			name = "[" + name + "]"
		}
		tabs = append(tabs, name)
	}
	right := strings.Join(tabs, "  ")
	room := max(m.width-ansi.StringWidth(right)-2, 10)
	return pad(ansi.Truncate(m.session.Severity+"  "+clean(m.session.Title), room-2, "…"), room) + right
}

func (m *model) paneLines(height int) []string {
	s := &m.texts[m.pane]
	if len(s.lines) == 0 {
		return []string{"", "  " + [...]string{"Nothing is wrong with this session.", "The next request is not known.", "A repair would change nothing."}[m.pane]}
	}
	return m.diffLines(s.window(height))
}

func (m *model) journalLines(height int) (lines []string) {
	if len(m.entries) == 0 {
		return []string{"", "  Nothing was repaired yet."}
	}
	from, to := m.entryCursor.window(len(m.entries), height)
	for i, e := range m.entries[from:to] {
		lines = append(lines, m.row(clean(e.ID)+"  "+clean(e.Text), from+i == m.entryCursor.at, bold, len(e.ID)))
	}
	return lines
}

// diffLines styles lines by their first character: those of a diff, and violations.
func (m *model) diffLines(lines []string) []string {
	styled := make([]string, len(lines))
	for i, line := range lines {
		switch text := strings.TrimSpace(line); {
		case strings.HasPrefix(text, "▲"), strings.HasPrefix(text, "broken"):
			line = red.Render(line)
		case strings.HasPrefix(text, "+"):
			line = green.Render(line)
		case strings.HasPrefix(text, "-"):
			line = red.Render(line)
		}
		styled[i] = line
	}
	return styled
}

// status returns the line with what runs and what was done last.
func (m *model) status() string {
	if m.filter.typing || m.at == atSessions && m.filter.text != "" && m.asking == nil && m.message == "" && m.running == "" {
		return m.cut("Filter: " + clean(m.filter.text) + map[bool]string{true: "_"}[m.filter.typing])
	}
	var parts []string
	switch {
	case m.asking != nil:
		parts = append(parts, "Make this change? y/n")
	case m.running != "":
		parts = append(parts, m.running+" …")
	}
	if m.message != "" && m.asking == nil {
		parts = append(parts, clean(m.message+m.hint()))
	} else if notes := m.backend.Notes(); len(notes) > 0 && len(parts) == 0 {
		parts = append(parts, "note: "+clean(notes[len(notes)-1]))
	}
	if m.scanning && m.progress.Total > 0 {
		parts = append(parts, fmt.Sprintf("scanning %d/%d", m.progress.Done, m.progress.Total))
	} else if m.scanning {
		parts = append(parts, "scanning")
	}
	line := m.cut(strings.Join(parts, "  "))
	switch {
	case m.failed && m.message != "" && m.asking == nil:
		return red.Render(line)
	case m.asking != nil:
		return bold.Render(line)
	}
	return line
}

// keys returns the last line. Keys that do not fit before the last are left out; the help has all.
func (m *model) keys() string {
	var items []string
	for _, b := range m.shortHelp() {
		items = append(items, b.Help().Key+" "+b.Help().Desc)
	}
	last := items[len(items)-1]
	line, room := "", m.width-ansi.StringWidth(last)
	for _, item := range items[:len(items)-1] {
		if item += "  "; ansi.StringWidth(line+item) > room {
			break
		}
		line += item
	}
	return faint.Render(m.cut(line + last))
}

func helpText() []string {
	lines := []string{""}
	for _, row := range helpRows() {
		lines = append(lines, "  "+pad(row[0], 10)+" "+row[1])
	}
	return append(lines, "",
		"  Everything here can be done with commands too: scan, repair, undo, redo, log,",
		"  show, explain. A repair is written to the journal first and can be undone.")
}

func (m *model) cut(line string) string { return ansi.Truncate(line, m.width, "…") }

func pad(s string, width int) string {
	if n := width - ansi.StringWidth(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return ansi.Truncate(s, width, "…")
}

// clean replaces what a terminal would obey. Texts are escaped before they come here.
func clean(s string) string {
	if strings.ContainsFunc(s, isUnsafe) || strings.Contains(s, "\ufffd") {
		return strings.Map(func(c rune) rune {
			if isUnsafe(c) {
				return '·'
			}
			return c
		}, strings.ToValidUTF8(s, "·"))
	}
	return s
}

func isUnsafe(c rune) bool { return !strconv.IsPrint(c) && c != '\u200d' }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
