package ui

import (
	"context"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

func bind(help, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, does))
}

// The keys.
var (
	keyUp       = bind("↑", "up", "up", "k")
	keyDown     = bind("↓", "down", "down", "j")
	keyPageUp   = bind("PgUp", "page up", "pgup", "b")
	keyPageDown = bind("PgDn", "page down", "pgdown", "space")
	keyFirst    = bind("Home", "first", "home", "g")
	keyLast     = bind("End", "last", "end", "G")
	keyOpen     = bind("Enter", "open", "enter")
	keyBack     = bind("Esc", "back", "esc", "backspace")
	keyFilter   = bind("/", "filter", "/")
	keyPane     = bind("Tab", "pane", "tab", "right")
	keyPaneBack = bind("Shift+Tab", "pane before", "shift+tab", "left")
	keyNext     = bind("n", "next ▲", "n")
	keyRepair   = bind("r", "repair", "r")
	keyUndo     = bind("u", "undo", "u")
	keyRedo     = bind("R", "redo", "R")
	keyJournal  = bind("l", "journal", "l")
	keyExplain  = bind("e", "explain", "e")
	keyScan     = bind("s", "scan again", "s")
	keyHelp     = bind("?", "help", "?")
	keyQuit     = bind("q", "quit", "q")
	keyYes      = bind("y", "yes", "y")
	keyNo       = bind("n", "no", "n", "esc", "q")
)

// shortHelp returns the keys that the last line shows. The last of them is shown always.
func (m *model) shortHelp() []key.Binding {
	switch {
	case m.asking != nil:
		return []key.Binding{keyYes, keyNo, keyUp, keyDown}
	case m.filter.typing:
		return []key.Binding{bind("Enter", "keep the filter"), bind("Esc", "no filter")}
	case m.at == atDetail:
		return []key.Binding{keyPane, keyNext, keyRepair, keyUndo, keyExplain, keyJournal, keyBack, keyHelp}
	case m.at == atJournal:
		return []key.Binding{keyOpen, keyUndo, keyRedo, keyBack, keyHelp}
	case m.at == atText:
		return []key.Binding{keyUp, keyDown, keyBack}
	}
	return []key.Binding{keyOpen, keyFilter, keyRepair, keyUndo, keyJournal, keyExplain, keyQuit, keyHelp}
}

// helpRows are the rows of the help: keys, and what they do.
func helpRows() [][2]string {
	rows := [][2]string{}
	for _, b := range []key.Binding{
		keyOpen, keyBack, keyUp, keyDown, keyPageUp, keyPageDown, keyFirst, keyLast, keyFilter, keyPane, keyPaneBack, keyNext,
		keyRepair, keyUndo, keyRedo, keyJournal, keyExplain, keyScan, keyHelp, keyQuit,
	} {
		does := b.Help().Desc
		if b.Help() == keyNext.Help() {
			does = "next broken block (▲)"
		}
		rows = append(rows, [2]string{b.Help().Key, does})
	}
	return rows
}

// press answers a key.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case k.String() == "ctrl+c":
		return m.quit()
	case m.asking != nil:
		return m.pressAsking(k)
	case m.filter.typing:
		return m.pressFilter(k)
	}
	m.message = "" // the user has gone on
	if m.scroll(k) {
		return nil
	}
	switch {
	case key.Matches(k, keyQuit):
		return m.quit()
	case key.Matches(k, keyBack) && m.running != "" && !m.writing:
		m.cancel()
		m.job, m.running = m.job+1, ""
	case key.Matches(k, keyBack):
		if m.at == atSessions {
			m.setFilter("")
		}
		m.goBack()
	case key.Matches(k, keyHelp):
		m.showText("Keys", helpText())
	case key.Matches(k, keyJournal):
		return m.start("reading the journal", m.loadJournal())
	case key.Matches(k, keyUndo):
		return m.planUndo(false)
	case key.Matches(k, keyRedo):
		return m.planUndo(true)
	case m.at == atJournal:
		return m.pressJournal(k)
	case m.at == atSessions, m.at == atDetail:
		return m.pressSession(k)
	}
	return nil
}

// quit closes the screen, or lets it close when the change that is written is done.
func (m *model) quit() tea.Cmd {
	if m.writing {
		m.closing = true
		m.say("The change is finished first, then mend ends.")
		return nil
	}
	return tea.Quit
}

func (m *model) pressAsking(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(k, keyYes):
		return m.apply()
	case key.Matches(k, keyNo):
		m.asking = nil
		m.say("Nothing was changed.")
	default:
		m.scroll(k)
	}
	return nil
}

func (m *model) pressFilter(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter", "up", "down":
		m.filter.typing = false
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
	return nil
}

// pressSession answers a key for the selected session.
func (m *model) pressSession(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(k, keyFilter) && m.at == atSessions:
		m.filter.typing = true
		return nil
	case key.Matches(k, keyScan) && !m.scanning && m.at == atSessions:
		return m.scan()
	case m.at == atDetail && key.Matches(k, keyPane):
		m.pane = (m.pane + 1) % len(panes)
		return nil
	case m.at == atDetail && key.Matches(k, keyPaneBack):
		m.pane = (m.pane + len(panes) - 1) % len(panes)
		return nil
	case m.at == atDetail && key.Matches(k, keyNext):
		m.pane = paneRequest
		m.texts[paneRequest].seek(isViolation, m.bodyHeight())
		return nil
	}
	s, ok := m.selected()
	switch {
	case !ok:
	case key.Matches(k, keyOpen) && m.at == atSessions:
		return m.start("reading the session", m.loadDetail(s))
	case key.Matches(k, keyRepair):
		return m.start("planning the repair", func(ctx context.Context) tea.Msg {
			c, err := m.backend.Repair(ctx, s)
			return changeDone{c, err}
		})
	case key.Matches(k, keyExplain):
		return m.start("explaining", func(ctx context.Context) tea.Msg {
			lines, err := m.backend.Explain(ctx, s)
			return textDone{"What is wrong with " + s.Title, lines, err}
		})
	}
	return nil
}

func (m *model) pressJournal(k tea.KeyPressMsg) tea.Cmd {
	if m.entryCursor.at >= len(m.entries) || !key.Matches(k, keyOpen) {
		return nil
	}
	id := m.entries[m.entryCursor.at].ID
	return m.start("reading the journal", func(ctx context.Context) tea.Msg {
		lines, err := m.backend.Show(ctx, id)
		return textDone{"Repair " + id, lines, err}
	})
}

// scroll moves the list or the text that is shown, and reports whether the key does that.
func (m *model) scroll(k tea.KeyPressMsg) bool {
	const far = 1 << 40
	by := 0
	page := max(m.bodyHeight()-1, 1)
	switch {
	case key.Matches(k, keyUp):
		by = -1
	case key.Matches(k, keyDown):
		by = 1
	case key.Matches(k, keyPageUp):
		by = -page
	case key.Matches(k, keyPageDown):
		by = page
	case key.Matches(k, keyFirst):
		by = -far
	case key.Matches(k, keyLast):
		by = far
	default:
		return false
	}
	switch {
	case m.asking != nil:
		m.diff.move(by, m.bodyHeight())
	case m.at == atSessions:
		m.list.move(by, len(m.fitting()))
	case m.at == atJournal:
		m.entryCursor.move(by, len(m.entries))
	case m.at == atDetail:
		m.texts[m.pane].move(by, m.bodyHeight())
	case m.at == atText:
		m.text.move(by, m.bodyHeight())
	}
	return true
}
