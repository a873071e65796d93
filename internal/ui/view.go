package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"mend/internal/term"
)

var chosen = lipgloss.NewStyle().Reverse(true)

const (
	frame         = 3  // rows besides the body: heading, status and keys
	minBothSides  = 60 // columns for both sides
	minAgentWidth = 46 // minimum columns of the left side at which it shows the agent
)

func (m *model) bodyHeight() int { return max(m.height-frame, 1) }

// leftWidth returns the columns of the left side, without the bar between the sides.
func (m *model) leftWidth() int {
	if m.width < minBothSides {
		return m.width
	}
	return min(m.width*2/5, 60)
}

// rightWidth returns the columns of the right side.
func (m *model) rightWidth() int {
	if m.width < minBothSides {
		return m.width
	}
	return m.width - m.leftWidth() - 1
}

// textWidth returns the columns of a text, between two blanks.
func textWidth(width int) int { return max(width-2, 1) }

// layout fits the texts to the width of the screen.
func (m *model) layout() {
	m.pane.layout(textWidth(m.rightWidth()), m.whole)
	m.text.layout(textWidth(m.width), true)
}

// View implements [tea.Model].
func (m *model) View() tea.View {
	var lines []string
	switch {
	case m.asking != nil:
		lines = m.textRows("What would be done", "", &m.text, m.width, true)
	case m.helping:
		lines = m.textRows("Keys", "", &m.text, m.width, true)
	case m.width < minBothSides && m.right:
		lines = m.rightSide()
	case m.width < minBothSides:
		lines = m.leftSide()
	default:
		lines = m.leftSide()
		for i, right := range m.rightSide() {
			lines[i] += right
		}
	}
	status := m.status()
	lines = append(append(lines[:len(lines)-len(status)+1], status...), m.keys())
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen, v.WindowTitle = true, "mend"
	return v
}

// heading returns a line with a title, and a text at its right end.
func heading(title, right string, width int, focus bool) string {
	if right != "" {
		right = " " + right + " ─"
	}
	if width-4-ansi.StringWidth(right) < 6 {
		right = ""
	}
	title = cut(clean(title, false), max(width-4-ansi.StringWidth(right), 0))
	line := strings.Repeat("─", max(width-3-ansi.StringWidth(title)-ansi.StringWidth(right), 0))
	style := styles[Plain]
	if focus {
		style = styles[Bold]
	}
	return pad(styles[Faint].Render("─ ")+style.Render(title)+styles[Faint].Render(" "+line+right), width)
}

// textRows returns the rows of a text, after a heading with its title, its name and the position in the text.
func (m *model) textRows(title, name string, s *scroller, width int, focus bool) []string {
	height := m.bodyHeight()
	shown := s.window(height)
	lines := []string{heading(title, strings.TrimSpace(name+" "+s.position(height)), width, focus)}
	for i := range height {
		text := ""
		if i < len(shown) {
			text = " " + styles[shown[i].style].Render(shown[i].text)
		}
		lines = append(lines, pad(text, width))
	}
	return lines
}

// leftSide returns the rows of the list, with the bar between the sides.
func (m *model) leftSide() []string {
	width, height := m.leftWidth(), m.bodyHeight()
	corner, bar := "┬", styles[Faint].Render("│")
	if m.width < minBothSides {
		width, corner, bar = width-1, "─", " "
	}
	fit, listed := m.matchingSessions(), m.listRows()
	title, empty := "Sessions", "No session found."
	switch {
	case m.scanning:
		empty = ""
	case len(m.sessions) > 0:
		empty = "No session matches the filter."
	}
	if m.filter.text != "" || m.filter.typing {
		title = "Filter: " + m.filter.text + map[bool]string{true: "_"}[m.filter.typing]
	}
	place := ""
	if len(fit) > 0 {
		place = fmt.Sprintf("%d/%d", m.list.at+1, len(fit))
	}
	lines := []string{heading(title, place, width, !m.right) + styles[Faint].Render(corner)}
	from, to := m.list.window(max(slices.Index(listed, m.list.at), 0), len(listed), height)
	for i := range height {
		text := ""
		switch {
		case from+i < to && listed[from+i] >= 0:
			at := listed[from+i]
			text = m.sessionRow(fit[at], at == m.list.at, width)
		case from+i < to:
			text = m.groupRow(-1-listed[from+i], fit, width)
		case i == 1 && len(listed) == 0:
			text = "  " + empty
		}
		lines = append(lines, pad(text, width)+bar)
	}
	return lines
}

// listRows returns the rows of the list: the index of a matching session, or for the heading of a group -1 minus the
// group.
func (m *model) listRows() (rows []int) {
	group := -1
	for i, s := range m.matchingSessions() {
		if g := s.group(); g != group {
			group = g
			rows = append(rows, -1-g)
		}
		rows = append(rows, i)
	}
	return rows
}

var groupStyles = [...]Style{groupBroken: Bad, groupRisk: Warn, groupLost: Warn, groupRestorable: Warn, groupHealthy: Good, groupArchived: Faint}

func (m *model) groupRow(group int, fit []Session, width int) string {
	n := 0
	for _, s := range fit {
		if s.group() == group {
			n++
		}
	}
	return styles[groupStyles[group]].Render(cut(fmt.Sprintf("%s (%d)", groupNames[group], n), width))
}

// sessionRow returns the row of a session. The title is last, so a right-to-left title moves no other column. The
// selected row has a mark, and is reversed while the list has the focus.
func (m *model) sessionRow(s Session, selected bool, width int) string {
	text := " " + pad(m.age(s.Time, true), 5) + " "
	if width >= minAgentWidth {
		text += pad(clean(s.Agent, false), 12) + " "
	}
	if s.Lost && s.group() == groupRestorable {
		text += clean(s.State, false) + ": "
	}
	text += titleOf(s)
	if !selected {
		return pad(" "+text, width)
	}
	text = pad(">"+text, width)
	if m.right {
		return styles[Bold].Render(text)
	}
	return chosen.Render(text)
}

func titleOf(s Session) string {
	if title := strings.TrimSpace(clean(s.Title, false)); title != "" {
		return title
	}
	return "(no title)"
}

// age returns how long ago a time is, "" for the zero time.
func (m *model) age(t time.Time, short bool) string {
	if t.IsZero() {
		return ""
	}
	if short {
		return term.ShortAge(m.now().Sub(t))
	}
	return term.Age(m.now().Sub(t))
}

func (m *model) rightSide() []string {
	width := m.rightWidth()
	title, name := "", ""
	if s, ok := m.selectedSession(); ok {
		title, name = titleOf(s), "conversation"
	}
	lines := m.textRows(title, name, &m.pane, width, m.right)
	if m.loading && len(m.pane.text) == 0 {
		lines[1] = pad(styles[Faint].Render("reading …"), width)
	}
	return lines
}

// status returns the rows with the running work and the last result, or else one row with facts about the selected
// session. If there are several rows, they cover the end of the body.
func (m *model) status() (rows []string) {
	var parts []string
	style, most := Plain, 1
	switch {
	case m.asking != nil:
		parts, style, most = []string{clean(m.asking.Question, false) + " y/n"}, Bold, 4
	case m.running != "":
		parts = []string{m.running + " …"}
	case m.message != "":
		parts, most = []string{clean(m.message, false)}, 4
		if m.failed {
			style = Bad
		}
	case m.helping:
	default:
		parts = []string{m.facts()}
	}
	if m.scanning {
		text := "scanning"
		if m.progress.Total > 0 {
			text += fmt.Sprintf(" %d/%d", m.progress.Done, m.progress.Total)
		}
		parts = append([]string{text}, parts...)
	}
	text := strings.Join(parts, "  ")
	if most = min(most, m.height-2); most > 1 {
		text = ansi.Wrap(text, m.width, "")
	}
	all := strings.Split(text, "\n")
	for i, part := range all[:max(min(len(all), most), 1)] {
		if i == most-1 {
			part = strings.Join(all[i:], " ")
		}
		rows = append(rows, styles[style].Render(cut(part, m.width)))
	}
	return rows
}

// facts returns the facts about the selected session.
func (m *model) facts() string {
	s, ok := m.selectedSession()
	if !ok {
		return ""
	}
	what := strings.Trim(s.Severity+": "+s.What, ": ")
	if s.Busy {
		what = "in use, " + what
	}
	facts := slices.DeleteFunc([]string{what, s.State, s.Agent, s.Folder, m.age(s.Time, false)}, func(t string) bool { return t == "" })
	return clean(strings.Join(facts, " · "), false)
}

// keys returns the last line of the screen. It omits keys that do not fit, but not the last one; the help has all keys.
func (m *model) keys() string {
	items := m.shortHelp()
	last := items[len(items)-1]
	line, room := "", m.width-ansi.StringWidth(last)
	for _, item := range items[:len(items)-1] {
		if item += "  "; ansi.StringWidth(line+item) > room {
			break
		}
		line += item
	}
	return styles[Faint].Render(cut(line+last, m.width))
}
