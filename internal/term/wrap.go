package term

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The widths to which text is wrapped.
const (
	defaultWidth = 80
	minWidth     = 40
	maxWidth     = 100 // longer lines are hard to read
)

// A Row is a term and its text: a row of a definition list. Without a term it is a paragraph, and without
// both it is the blank line between two paragraphs.
type Row [2]Text

// listRow matches a row of a definition list: an indented term, two spaces, its meaning.
var listRow = regexp.MustCompile(`^  (\S.*?)(?:  +(\S.*))?$`)

// Rows splits a text into rows. It joins the lines of a paragraph. A line that is indented more than a term continues
// the text of that term.
func Rows(text string) []Row {
	var rows []Row
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n\n") {
		line = strings.TrimRight(line, " \n")
		last := len(rows) - 1
		isRow := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ")
		switch {
		case line == "":
			rows = append(rows, Row{})
		case isRow:
			m := listRow.FindStringSubmatch(line)
			rows = append(rows, Row{Escape(m[1]), Escape(m[2])})
		case last >= 0 && rows[last] != (Row{}):
			rows[last][1] = Escape(strings.TrimSpace(string(rows[last][1]) + " " + strings.TrimSpace(line)))
		default:
			rows = append(rows, Row{"", Escape(strings.TrimSpace(line))})
		}
	}
	return rows[:len(rows)-1]
}

// WrapText wraps a text of paragraphs and definition lists.
func WrapText(text string, width int) Text { return WrapRows(Rows(text), 0, width) }

// WrapRows wraps rows. The texts of a definition list start at a common column, which is at least the given one.
func WrapRows(rows []Row, column, width int) Text {
	for _, r := range rows {
		if n := ansi.StringWidth(string(r[0])); r[0] != "" && n <= width/2-4 {
			column = max(column, n+4)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		if r[0] == "" {
			b.WriteString(string(Wrap(r[1], width)) + "\n")
			continue
		}
		b.WriteString("  " + string(r[0]))
		if r[1] != "" {
			start := ansi.StringWidth(string(r[0])) + 2
			if start > column-2 {
				b.WriteByte('\n')
				start = 0
			}
			b.WriteString(strings.Repeat(" ", column-start))
			b.WriteString(string(WrapAt(r[1], column, width)))
		}
		b.WriteByte('\n')
	}
	return Text(b.String())
}

// WrapAt wraps text that starts at a column. All further lines start there too.
func WrapAt(text Text, column, width int) Text {
	lines := strings.Split(string(Wrap(text, max(width-column, minWidth/2))), "\n")
	return Text(strings.Join(lines, "\n"+strings.Repeat(" ", column)))
}

// Wrap wraps text between words. Unlike [ansi.Wordwrap] it does not break names at a hyphen.
func Wrap(text Text, width int) Text {
	const hyphen = "\u2011"
	wrapped := ansi.Wordwrap(strings.ReplaceAll(string(text), "-", hyphen), width, "")
	return Text(strings.ReplaceAll(wrapped, hyphen, "-"))
}

// Align returns a line for each row: its cells in columns two blanks apart, cut to width, or not cut if width is 0. A
// cell that is not a [Text] is escaped. Columns without text are left out. The last column is not padded, so a
// right-to-left title moves no other cell.
func Align(rows [][]any, width int) []Text {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(string(toText(cell))))
		}
	}
	lines := make([]Text, len(rows))
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			text := string(toText(cell))
			line.WriteString(text)
			if i == len(row)-1 {
				break
			}
			line.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(text)+2))
		}
		lines[n] = Cut(Text(strings.TrimRight(line.String(), " ")), width)
	}
	return lines
}

// Cut returns the line with at most width columns, or the whole line if width is 0.
func Cut(line Text, width int) Text {
	if width <= 0 || ansi.StringWidth(string(line)) <= width {
		return line
	}
	return Text(ansi.Truncate(string(line), width, "…"))
}
