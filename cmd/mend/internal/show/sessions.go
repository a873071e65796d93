package show

import (
	"os"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/internal/term"
	"mend/repair"
)

// Header prints a session in one line, cut to the terminal.
func Header(t *term.Terminal, h change.Head) {
	t.Printf("%s\n", term.Cut(SessionLine(h), t.Width))
}

// WorkingFolder returns the current folder, or "" if it no longer exists.
func WorkingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// ShortIDs returns the displayed id of each session: on a terminal the shortest start that no other session has, but at
// least minShortID characters; otherwise the whole id.
func ShortIDs(t *term.Terminal, heads []change.Head) map[string]string {
	short := make(map[string]string, len(heads))
	ids := make([]string, 0, len(heads))
	for _, h := range heads {
		short[h.ID] = h.ID
		ids = append(ids, h.ID)
	}
	if t.Width == 0 {
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

// minShortID is the minimum length of a displayed id.
const minShortID = 12

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// SessionCells returns the age, the folder, which is empty if there is no room, and the title of a session.
func SessionCells(t *term.Terminal, h change.Head) []any {
	return []any{AgeCell(t, h), folderCell(t, h), SessionTitle(h)}
}

// folderCell returns the folder of a session, "" on a narrow terminal.
func folderCell(t *term.Terminal, h change.Head) any {
	switch dir := term.ShortenHome(h.Directory); {
	case t.Width == 0:
		return term.Faint(dir)
	case t.IsNarrow() || dir == "":
		return ""
	default:
		return term.Faint(term.OneLine(dir, 40))
	}
}

// SessionTitle returns the title of a session, or "(no title)".
func SessionTitle(h change.Head) term.Text {
	if strings.TrimSpace(h.Title) == "" {
		return term.Faint("(no title)")
	}
	return term.Escape(term.OneLine(h.Title, 200))
}

// AgeCell returns how long ago the session was used, for a cell of a table; "" if unknown.
func AgeCell(t *term.Terminal, h change.Head) term.Text {
	used := max(h.Updated, h.Created)
	if used == 0 {
		return ""
	}
	return term.Faint(t.AgeCell(time.Since(time.UnixMilli(used))))
}

// SessionRows returns a row for each session of heads, with an id that is unambiguous among all.
func SessionRows(t *term.Terminal, heads []change.Head, all []change.Head) [][]any {
	short := ShortIDs(t, all)
	rows := make([][]any, len(heads))
	for i, h := range heads {
		rows[i] = append([]any{term.Bold(short[h.ID])}, SessionCells(t, h)...)
	}
	return rows
}

// SentenceCase returns a text with a capital first letter and a full stop.
func SentenceCase[T ~string](text T) T {
	return T(strings.ToUpper(string(text[:1])) + strings.TrimSuffix(string(text[1:]), ".") + ".")
}

// AtRisk is the word for the severity Latent in output.
const AtRisk = "at risk"

// SeverityWord returns the word for a severity in its colour.
func SeverityWord(s repair.Severity) term.Text {
	switch s {
	case repair.Broken:
		return term.Bad(s)
	case repair.Latent:
		return term.Warn(AtRisk)
	case repair.Lost:
		return term.Warn(s)
	case 0:
		return term.Good("healthy")
	default:
		return term.Faint(s)
	}
}

// ClassWords returns the name of a class as words.
func ClassWords(class string) string {
	switch class {
	case "unreadable_record":
		return "unreadable data"
	case "incomplete_record":
		return "missing fields"
	case "ids_before_clock_wrap":
		return "ids before August 2026"
	}
	return strings.ReplaceAll(class, "_", " ")
}

// SessionLine returns the id, title, folder and age of a session on one line.
func SessionLine(h change.Head) term.Text {
	parts := []term.Text{term.Bold(h.ID)}
	if h.ID == "" {
		parts[0] = term.Faint("(of no session)")
	}
	if h.Title != "" {
		parts = append(parts, term.Sprintf(`"%s"`, term.OneLine(h.Title, 60)))
	}
	if h.Directory != "" {
		parts = append(parts, term.Escape(term.OneLine(term.ShortenHome(h.Directory), 80)))
	}
	if t := max(h.Updated, h.Created); t > 0 {
		parts = append(parts, term.Faint(term.Age(time.Since(time.UnixMilli(t)))))
	}
	return term.Join(parts, "  ")
}

// QuotedTitle returns the name of a session in a sentence: its title, or else its id.
func QuotedTitle(title, id string) string {
	if strings.TrimSpace(title) == "" {
		return id
	}
	return `"` + term.OneLine(title, 60) + `"`
}

// ThinkingText returns the value of --thinking, "" if it is not set.
func ThinkingText(on *bool) string {
	if on == nil {
		return ""
	}
	return OnOrOff(*on)
}

// OnOrOff returns "on" or "off".
func OnOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
