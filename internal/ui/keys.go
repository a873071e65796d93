package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// helpRows are all keys, with longer descriptions than there is room for on the last line.
var helpRows = [][2]string{
	{"↑ ↓ k j", "up and down; PgUp PgDn b f a page; Home End g G first and last"},
	{"Enter →", "read the conversation; there Enter shows long texts in full"},
	{"Esc ←", "back to the list; Esc also cancels the plan"},
	{"n N", "the next broken message (▲), the previous one"},
	{"/", "filter by words: title, folder, agent, state, what is wrong, id"},
	{"r", "repair the session, or bring it back"},
	{"a", "repair all broken sessions that the filter shows"},
	{"u", "undo the newest repair of the session, or else the newest of all sessions"},
	{"U", "undo the newest operation of all sessions; mend log lists older ones"},
	{"R", "redo what u undid"},
	{"c", "show the command that continues the session"},
	{"s", "scan again, to see what agents changed since"},
	{"q", "quit; a change that is being written is finished first"},
}

func (m *model) helpLines() (lines []Line) {
	for _, note := range m.backend.Notes() {
		lines = append(lines, Line{Text: note, Style: Warn})
	}
	for _, r := range helpRows {
		lines = append(lines, Line{Head: pad(r[0], 9), Text: r[1]})
	}
	return append(lines, Line{}, Line{Text: "Nothing is written before you have seen it and pressed y. It is written to the journal first, and can be undone."})
}

// shortHelp returns the keys for the last line of the screen. The last of these keys is always shown.
func (m *model) shortHelp() []string {
	repair := "r repair"
	switch s, ok := m.selectedSession(); {
	case ok && s.Lost:
		repair = "r bring back"
	case ok && s.group() == groupHealthy:
		repair = "c continue"
	}
	switch {
	case m.asking != nil:
		return []string{"y yes", "n no", "↓ down", "↑ up"}
	case m.filter.typing:
		return []string{"Enter keep the filter", "Esc no filter"}
	case m.helping:
		return []string{"↓ down", "↑ up", "Esc back"}
	case m.right:
		return slices.Compact([]string{"n next ▲", repair, "c continue", "u undo", "Esc back", "? help"})
	case len(m.sessions) == 0:
		return []string{"s scan", "q quit", "? help"}
	}
	return []string{"Enter read", repair, "a repair all", "u undo", "/ filter", "s scan", "q quit", "? help"}
}

func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	switch {
	case key == "ctrl+c":
		return m.quit()
	case m.asking != nil:
		return m.pressAsking(key)
	case m.filter.typing:
		m.pressFilter(k)
		return nil
	}
	m.message = "" // the message was about the previous step
	switch {
	case m.scroll(key):
	case key == "esc", key == "backspace", key == "q" && m.helping:
		m.goBack()
	case key == "q":
		return m.quit()
	case m.helping: // the other keys are for the list
	case key == "?":
		m.helping, m.text = true, scroller{text: m.helpLines()}
	case key == "enter" && m.right:
		m.whole = !m.whole
	case key == "enter", key == "right":
		m.right = m.shownKey != ""
	case key == "left":
		m.right = false
	case key == "u", key == "R", key == "U":
		return m.revert(key)
	case key == "s":
		return m.scan()
	default:
		return m.pressSession(key)
	}
	return nil
}

// goBack cancels the work in progress, or else leaves the text or the right side, or clears the filter.
func (m *model) goBack() {
	switch {
	case m.running != "" && !m.writing:
		m.work.next(m.ctx)
		m.running = ""
	case m.helping:
		m.helping = false
	case m.right:
		m.right = false
	default:
		m.setFilter("")
	}
}

// revert plans to undo the newest change of the selected session, with U of all sessions; with R, to apply it again.
func (m *model) revert(key string) tea.Cmd {
	s, _ := m.selectedSession()
	what := "planning the undo"
	switch key {
	case "R":
		what = "planning the redo"
	case "U":
		s = Session{}
	}
	return m.plan(what, func(ctx context.Context) (Change, error) { return m.backend.Revert(ctx, s, key == "R") })
}

// quit closes the screen. If a change is being written, it does so after the change.
func (m *model) quit() tea.Cmd {
	if m.writing {
		m.closing = true
		m.say("The change is finished first, then mend ends.", nil)
		return nil
	}
	return tea.Quit
}

func (m *model) pressAsking(key string) tea.Cmd {
	switch key {
	case "y":
		return m.apply()
	case "n", "esc", "q":
		m.asking = nil
		m.say("Nothing was changed.", nil)
	default:
		m.scroll(key)
	}
	return nil
}

func (m *model) pressFilter(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		m.filter.typing = false
	case "up", "down":
		m.filter.typing = false
		m.scroll(k.String())
	case "esc":
		m.filter.typing = false
		m.setFilter("")
	case "backspace":
		if text := []rune(m.filter.text); len(text) > 0 {
			m.setFilter(string(text[:len(text)-1]))
		}
	case "ctrl+u", "ctrl+w":
		m.setFilter("")
	default:
		if k.Text != "" {
			m.setFilter(m.filter.text + k.Text)
		}
	}
}

func (m *model) pressSession(key string) tea.Cmd {
	s, ok := m.selectedSession()
	switch {
	case key == "/":
		m.filter.typing, m.right = true, false
	case key == "a":
		return m.repairAll()
	case !ok:
	case key == "n", key == "N":
		if !m.pane.seek(map[string]int{"n": 1, "N": -1}[key], m.bodyHeight()) {
			m.say("Nothing is broken here.", nil)
		}
	case key == "r":
		return m.repair([]Session{s})
	case key == "c":
		return m.start("looking for the session", func(ctx context.Context) func() tea.Cmd {
			text, err := m.backend.Continue(ctx, s)
			return func() tea.Cmd {
				m.say(text, err)
				return nil
			}
		})
	}
	return nil
}

// repairAll plans the repair of all sessions that are listed as broken.
func (m *model) repairAll() tea.Cmd {
	var all []Session
	for _, s := range m.matchingSessions() {
		if s.group() == groupBroken {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		m.say("Nothing is broken.", nil)
		return nil
	}
	return m.repair(all)
}

func (m *model) repair(all []Session) tea.Cmd {
	what := "planning the repair"
	if len(all) > 1 {
		what = fmt.Sprintf("planning the repair of %d sessions", len(all))
	}
	return m.plan(what, func(ctx context.Context) (Change, error) { return m.backend.Repair(ctx, all) })
}

// scroll moves the list or the text that has the focus, and reports whether the key is one that scrolls.
func (m *model) scroll(key string) bool {
	const far = 1 << 40
	page := max(m.bodyHeight()-1, 1)
	by := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "b": -page, "pgdown": page, "f": page, "home": -far, "g": -far, "end": far, "G": far,
	}[key]
	switch {
	case by == 0:
	case m.asking != nil, m.helping:
		m.text.move(by, m.bodyHeight())
	case m.right:
		m.pane.move(by, m.bodyHeight())
	default:
		m.list.move(by, len(m.matchingSessions()))
	}
	return by != 0
}
