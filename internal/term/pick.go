package term

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// A picker lets a user choose a row: arrows move, letters filter, Enter picks, and
// Esc, or q before a filter, leaves.
type picker struct {
	title  string
	rows   [][]any
	texts  []string // the rows in lower case, for the filter
	fit    []int    // the indexes of the rows that match the filter
	filter string
	cursor int // an index of fit
	top    int // the index in fit of the first visible row
	size   tea.WindowSizeMsg
	picked int // -1 for none
	done   bool
}

// pickerFrame is the number of lines that a picker shows besides the rows.
const pickerFrame = 3

func newPicker(title string, rows [][]any) *picker {
	p := &picker{title: title, rows: rows, picked: -1, size: tea.WindowSizeMsg{Width: 80, Height: 24}}
	for _, row := range rows {
		p.texts = append(p.texts, strings.ToLower(ansi.Strip(fmt.Sprintln(row...))))
	}
	p.setFilter("")
	return p
}

// Pick shows the rows and returns the index of the one that the user picks. The error is from
// [Terminal.MayAsk], or [ErrDeclined] if the user picks none.
func (t *Terminal) Pick(ctx context.Context, title string, rows [][]any) (int, error) {
	if err := t.MayAsk(); err != nil {
		return 0, err
	}
	p := newPicker(title, rows)
	_, err := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Err), tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil && !errors.Is(err, tea.ErrInterrupted):
		return 0, fmt.Errorf("showing the list: %w", err)
	case p.picked < 0:
		return 0, ErrDeclined
	}
	return p.picked, nil
}

// Init implements [tea.Model].
func (p *picker) Init() tea.Cmd { return nil }

// Update implements [tea.Model].
func (p *picker) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.size = msg
	case tea.PasteMsg:
		p.setFilter(p.filter + strings.Join(strings.Fields(msg.Content), " "))
	case tea.KeyPressMsg:
		return p, p.press(msg)
	}
	p.scroll()
	return p, nil
}

func (p *picker) press(key tea.KeyPressMsg) tea.Cmd {
	switch key.String() {
	case "enter":
		if len(p.fit) > 0 {
			p.picked, p.done = p.fit[p.cursor], true
			return tea.Quit
		}
	case "esc", "ctrl+c", "ctrl+d":
		p.done = true
		return tea.Quit
	case "q":
		if p.filter == "" {
			p.done = true
			return tea.Quit
		}
		p.setFilter(p.filter + "q")
	case "up", "ctrl+p", "ctrl+k", "shift+tab":
		p.cursor--
	case "down", "ctrl+n", "ctrl+j", "tab":
		p.cursor++
	case "pgup":
		p.cursor -= p.height()
	case "pgdown":
		p.cursor += p.height()
	case "home":
		p.cursor = 0
	case "end":
		p.cursor = len(p.fit)
	case "backspace":
		if r := []rune(p.filter); len(r) > 0 {
			p.setFilter(string(r[:len(r)-1]))
		}
	case "ctrl+u", "ctrl+w":
		p.setFilter("")
	default:
		if key.Text != "" {
			p.setFilter(p.filter + key.Text)
		}
	}
	p.scroll()
	return nil
}

// setFilter selects the rows that have every word of the filter, in upper or lower case.
func (p *picker) setFilter(text string) {
	p.filter, p.fit, p.cursor = text, p.fit[:0], 0
	words := strings.Fields(strings.ToLower(text))
	for i, t := range p.texts {
		matches := true
		for _, w := range words {
			matches = matches && strings.Contains(t, w)
		}
		if matches {
			p.fit = append(p.fit, i)
		}
	}
}

// height returns how many rows fit on the screen.
func (p *picker) height() int { return max(p.size.Height-pickerFrame, 1) }

// scroll keeps the cursor in the list, and on the screen.
func (p *picker) scroll() {
	p.cursor = max(min(p.cursor, len(p.fit)-1), 0)
	p.top = max(min(p.top, p.cursor), p.cursor-p.height()+1, 0)
}

// View implements [tea.Model].
func (p *picker) View() tea.View {
	if p.done {
		return tea.NewView("")
	}
	lines := []Text{Cut(Bold(p.title), p.size.Width)}
	shown := p.fit[p.top:min(p.top+p.height(), len(p.fit))]
	rows := make([][]any, len(shown))
	for i, at := range shown {
		rows[i] = p.rows[at]
	}
	for i, line := range Align(rows, p.size.Width-2) {
		mark := Text("  ")
		if p.top+i == p.cursor {
			mark, line = Bold("> "), Bold(line)
		}
		lines = append(lines, mark+line)
	}
	lines = append(lines, Cut(Sprintf("Filter: %s_", p.filter), p.size.Width),
		Cut(Faint(fmt.Sprintf("%d of %d  ↑↓ move  Enter pick  q quit", len(p.fit), len(p.rows))), p.size.Width))
	return tea.NewView(string(Join(lines, "\n")))
}
