package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A cursor is a position in a list, and the first row of it on the screen.
type cursor struct{ at, top int }

// move moves the cursor in a list of n rows.
func (c *cursor) move(by, n int) {
	c.at += by
	c.keepIn(n)
}

func (c *cursor) keepIn(n int) { c.at = max(min(c.at, n-1), 0) }

// window returns the rows that a screen of that height shows.
func (c *cursor) window(n, height int) (from, to int) {
	c.keepIn(n)
	c.top = max(min(c.top, c.at, n-height), c.at-height+1, 0)
	return c.top, min(c.top+height, n)
}

// A scroller is a text on the screen.
type scroller struct {
	text  []string // safe lines of any length
	lines []string // as they are shown
	top   int
}

// newScroller returns a scroller for lines that are made safe for the terminal.
func newScroller(lines []string, width int, wrap func(string) bool) scroller {
	s := scroller{text: make([]string, len(lines))}
	for i, line := range lines {
		s.text[i] = clean(line)
	}
	s.layout(width, wrap)
	return s
}

// layout wraps the lines for which wrap returns true, and cuts the others.
func (s *scroller) layout(width int, wrap func(string) bool) {
	s.lines = make([]string, 0, len(s.text))
	for _, line := range s.text {
		if ansi.StringWidth(line) <= width || !wrap(line) {
			s.lines = append(s.lines, ansi.Truncate(line, width, "…"))
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if len(indent) > width/2 {
			indent = ""
		}
		mark := "" // keeps the style of a diff and of a violation
		for _, m := range []string{"+ ", "- ", "▲ "} {
			if strings.HasPrefix(line[len(indent):], m) {
				mark = m
			}
		}
		rest := line[len(indent)+len(mark):]
		room := width - ansi.StringWidth(indent+mark)
		for part := range strings.SplitSeq(ansi.Wrap(rest, max(room, 1), " -/"), "\n") {
			s.lines = append(s.lines, ansi.Truncate(indent+mark+part, width, ""))
		}
	}
}

// anyLine and markedLine say which lines of a text are wrapped.
func anyLine(string) bool         { return true }
func markedLine(line string) bool { return isViolation(line) || strings.HasPrefix(line, "      ") }

func (s *scroller) move(by, height int) {
	s.top = max(min(s.top+by, len(s.lines)-height), 0)
}

func (s *scroller) window(height int) []string {
	s.move(0, height)
	return s.lines[s.top:min(s.top+height, len(s.lines))]
}

// seek shows the next line for which is returns true, after the first one of the screen. After the last it
// begins again.
func (s *scroller) seek(is func(string) bool, height int) {
	const above = 3 // lines that are shown before it
	for i := range s.lines {
		n := (s.top + above + 1 + i) % len(s.lines)
		if s.top == 0 {
			n = i
		}
		if is(s.lines[n]) {
			s.top = max(n-above, 0)
			s.move(0, height)
			return
		}
	}
}
