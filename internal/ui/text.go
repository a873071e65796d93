package ui

import (
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// A Style is the look of a line. It carries no meaning that the text does not have.
type Style int

// The styles of lines.
const (
	Plain Style = iota
	Bold
	Faint
	Bad
	Warn
	Good
)

var styles = [...]lipgloss.Style{
	Plain: lipgloss.NewStyle(),
	Bold:  lipgloss.NewStyle().Bold(true),
	Faint: lipgloss.NewStyle().Faint(true),
	Bad:   lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
	Warn:  lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	Good:  lipgloss.NewStyle().Foreground(lipgloss.Green),
}

// A Line is a paragraph. It is wrapped to the screen, and each newline in it starts a row.
type Line struct {
	Head   string // before the first row; further rows are indented by its width
	Text   string // control characters are replaced
	Style  Style
	Indent int  // columns before each row
	Most   int  // maximum number of rows unless texts are shown in full; 0 for no maximum
	Mark   bool // n and N go to it: it is about damage
}

type row struct {
	text  string
	style Style
	mark  bool
}

type scroller struct {
	text  []Line
	rows  []row
	width int // of the rows
	whole bool
	top   int
}

// layout wraps the text to a width; with whole it shows texts in full. It does nothing if neither has changed.
func (s *scroller) layout(width int, whole bool) {
	if s.width == width && s.whole == whole {
		return
	}
	before := len(s.rows)
	s.rows, s.width, s.whole = nil, width, whole
	defer func() { // keep the position in the text
		if before > 0 {
			s.top = s.top * len(s.rows) / before
		}
	}()
	for _, l := range s.text {
		head := strings.Repeat(" ", min(l.Indent, width/2)) + clean(l.Head, false)
		room := max(width-ansi.StringWidth(head), 1)
		text := ansi.Wrap(clean(strings.TrimRight(l.Text, "\n"), true), room, "")
		for i, part := range strings.Split(text, "\n") {
			if rest := strings.Count(text, "\n") + 1 - i; l.Most > 0 && i == l.Most && rest > 1 && !s.whole {
				s.rows = append(s.rows, row{text: ansi.Truncate(head+fmt.Sprintf("… %d more lines (Enter)", rest), width, "…"), style: Faint})
				break
			}
			s.rows = append(s.rows, row{ansi.Truncate(head+part, width, "…"), l.Style, l.Mark && i == 0})
			if i == 0 {
				head = strings.Repeat(" ", ansi.StringWidth(head))
			}
		}
	}
}

func (s *scroller) move(by, height int) {
	s.top = max(min(s.top+by, len(s.rows)-height), 0)
}

// window returns the rows visible on a screen of that height.
func (s *scroller) window(height int) []row {
	s.move(0, height)
	return s.rows[s.top:min(s.top+height, len(s.rows))]
}

// seek scrolls to the next marked row, or with by = -1 to the previous one, and continues at the other end of the text.
// It reports whether there is a marked row.
func (s *scroller) seek(by, height int) bool {
	const above = 6 // rows shown above the marked one
	at := min(s.top+above, len(s.rows)-1)
	for i := 1; i <= len(s.rows); i++ {
		n := (at + by*i + 2*len(s.rows)) % len(s.rows)
		if s.rows[n].mark {
			s.top = max(n-above, 0)
			s.move(0, height)
			return true
		}
	}
	return false
}

// position returns which part of the text is above the end of the screen, in percent; "" if all of it fits.
func (s *scroller) position(height int) string {
	if len(s.rows) <= height {
		return ""
	}
	return fmt.Sprintf("%d%%", 100*min(s.top+height, len(s.rows))/len(s.rows))
}

// A cursor is a position in a list, with the first row on the screen.
type cursor struct{ at, top int }

// move moves the cursor in a list of n items.
func (c *cursor) move(by, n int) { c.at = max(min(c.at+by, n-1), 0) }

// window returns the range of the n rows of a list that a screen of that height shows if the cursor is at row at.
func (c *cursor) window(at, n, height int) (from, to int) {
	if at == 1 { // show the heading above the first item
		at = 0
	}
	c.top = max(min(c.top, at, n-height), at-height+1, 0)
	return c.top, min(c.top+height, n)
}

// cut returns a text on one row of at most width columns.
func cut(s string, width int) string { return ansi.Truncate(s, width, "…") }

// pad returns a text cut or filled to exactly width columns.
func pad(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(width-ansi.StringWidth(s), 0))
}

// clean replaces control characters. Newlines stay if rows is true.
func clean(s string, rows bool) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\t", "    ")
	if !rows {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	if !strings.ContainsFunc(s, isUnsafe) && !strings.Contains(s, "\ufffd") {
		return s
	}
	return strings.Map(func(c rune) rune {
		if c != '\n' && isUnsafe(c) {
			return '·'
		}
		return c
	}, strings.ToValidUTF8(s, "·"))
}

func isUnsafe(c rune) bool { return !strconv.IsPrint(c) && c != '\u200d' }
