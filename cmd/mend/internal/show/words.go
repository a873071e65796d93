package show

import (
	"strings"
	"time"

	"mend/change"
	"mend/internal/term"
	"mend/repair"
)

// SentenceCase returns a text as a sentence.
func SentenceCase(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// AtRisk is the word for the severity Latent in output.
const AtRisk = "at risk"

// SeverityWord returns the severity in its colour.
func SeverityWord(s repair.Severity) string {
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

// SessionLine returns the id, title, folder and age of a session.
func SessionLine(h change.Head) string {
	parts := []string{term.Bold(h.ID)}
	if h.ID == "" {
		parts[0] = term.Faint("(of no session)")
	}
	if h.Title != "" {
		parts = append(parts, `"`+term.OneLine(h.Title, 60)+`"`)
	}
	if h.Directory != "" {
		parts = append(parts, term.OneLine(term.ShortenHome(h.Directory), 80))
	}
	if t := max(h.Updated, h.Created); t > 0 {
		parts = append(parts, term.Faint(term.Age(time.Since(time.UnixMilli(t)))))
	}
	return strings.Join(parts, "  ")
}

// QuotedTitle returns the name of a session in a sentence: its title, or else its id.
func QuotedTitle(title, id string) string {
	if strings.TrimSpace(title) == "" {
		return term.Escape(id)
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
