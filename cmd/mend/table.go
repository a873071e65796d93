package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mend/change"
	"mend/internal/mend"
)

// alignRows returns a line for each row: its cells in columns two blanks apart, cut to width, or
// not cut if width is 0. Cells may have colours. Columns without text are left out. The last
// column is not padded: a title that a terminal draws from right to left moves no other cell.
func alignRows(rows [][]string, width int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			if i == len(row)-1 {
				line.WriteString(cell)
				break
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2))
		}
		lines[n] = cutLine(strings.TrimRight(line.String(), " "), width)
	}
	return lines
}

// cutLine returns the line with at most width columns, or the whole line if width is 0.
func cutLine(line string, width int) string {
	if width <= 0 || ansi.StringWidth(line) <= width {
		return line
	}
	return ansi.Truncate(line, width, "…")
}

// printRows prints rows with aligned columns.
func (a *app) printRows(rows [][]string, indent string) {
	width := a.width
	if width > 0 {
		width -= len(indent)
	}
	for _, line := range alignRows(rows, width) {
		a.printf("%s%s\n", indent, line)
	}
}

// say prints a sentence, wrapped to the terminal.
func (a *app) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.width > 0 {
		text = wordWrap(text, a.width)
	}
	a.printf("%s\n", strings.ReplaceAll(text, hardBlank, " "))
}

// hardBlank is a blank at which [app.say] does not wrap.
const hardBlank = "\u00a0"

// command returns a command as a sentence shows it: bold, and on one line.
func command(text string) string { return bold(strings.ReplaceAll(text, " ", hardBlank)) }

// sayIndented prints a sentence about a finding, wrapped to the terminal.
func (a *app) sayIndented(text string) { a.sayAt(6, text) }

// sayAt prints a sentence that begins at a column, wrapped to the terminal.
func (a *app) sayAt(column int, text string) {
	if a.width > 0 {
		text = indentWrapped(text, column, a.width)
	}
	a.printf("%*s%s\n", column, "", text)
}

// printHeader prints a session in one line, cut to the terminal.
func (a *app) printHeader(h change.Head) { a.printf("%s\n", cutLine(a.sessionLine(h), a.width)) }

// workingFolder returns the folder in which mend was started, as the agent stores it, or "".
func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// shortIDs returns for each session the id that is shown: on a terminal as much of it as names
// the session, else all of it.
func (a *app) shortIDs(heads []change.Head) map[string]string {
	short := make(map[string]string, len(heads))
	ids := make([]string, 0, len(heads))
	for _, h := range heads {
		short[h.ID] = h.ID
		ids = append(ids, h.ID)
	}
	if a.width == 0 {
		return short
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for i, id := range ids {
		n := minShortID
		if i > 0 {
			n = max(n, commonPrefix(id, ids[i-1])+1)
		}
		if i+1 < len(ids) {
			n = max(n, commonPrefix(id, ids[i+1])+1)
		}
		if n < len(id) {
			short[id] = id[:n]
		}
	}
	return short
}

// minShortID is the least number of characters of a shown id.
const minShortID = 12

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// wideTerminal is the number of columns from which tables show folders.
const wideTerminal = 100

// sessionCells returns the age, the folder if there is room, and the title of a session.
func (a *app) sessionCells(h change.Head) []string {
	return []string{faint(a.ageCell(ageOf(h))), a.folderCell(h), titleOf(h)}
}

// folderCell returns the folder of the session if there is room for it.
func (a *app) folderCell(h change.Head) string {
	switch dir := shortenHome(h.Directory); {
	case a.width == 0:
		return faint(escape(dir))
	case a.isNarrow() || dir == "":
		return ""
	default:
		return faint(oneLine(dir, 40))
	}
}

// titleOf returns the title of a session in quotes, or what is shown instead.
func titleOf(h change.Head) string {
	if strings.TrimSpace(h.Title) == "" {
		return faint("(no title)")
	}
	return oneLine(h.Title, 200)
}

// ageOf returns how long ago the session was used, "" if that is not known.
func ageOf(h change.Head) string {
	if t := max(h.Updated, h.Created); t > 0 {
		return age(time.Since(time.UnixMilli(t)))
	}
	return ""
}

// isNarrow reports whether a table has to be short.
func (a *app) isNarrow() bool { return a.width > 0 && a.width < wideTerminal }

// ageCell returns an age as in "3 days ago", in a narrow terminal as in "3d".
func (a *app) ageCell(text string) string {
	if !a.isNarrow() || text == "" {
		return text
	}
	var n int
	var unit string
	if _, err := fmt.Sscan(text, &n, &unit); err != nil {
		return "now"
	}
	short := map[byte]string{'y': "y", 'm': "mo", 'd': "d", 'h': "h"}[unit[0]]
	if strings.HasPrefix(unit, "minute") {
		short = "min"
	}
	return fmt.Sprint(n) + short
}

// sessionRows returns rows that name sessions, for lists from which a user chooses.
func (a *app) sessionRows(heads []change.Head, all []change.Head) [][]string {
	short := a.shortIDs(all)
	rows := make([][]string, len(heads))
	for i, h := range heads {
		rows[i] = append([]string{bold(short[h.ID])}, a.sessionCells(h)...)
	}
	return rows
}

// hereFirst sorts the sessions of the working folder before the others.
func hereFirst(heads []change.Head) {
	firstIf(heads, mend.Here(heads, workingFolder()))
}

// firstIf moves the items that are first to the front. The order is otherwise unchanged.
func firstIf[T any](all []T, first func(T) bool) {
	var front []T
	end := len(all)
	for i, item := range slices.Backward(all) {
		if first(item) {
			front = append(front, item)
		} else if end--; end != i {
			all[end] = item
		}
	}
	slices.Reverse(front)
	copy(all, front)
}
