package main

import (
	"strings"
	"time"

	"mend/change"
	"mend/internal/term"
	"mend/repair"
)

// atRisk is the word for the severity Latent in output.
const atRisk = "at risk"

// severityWord returns the severity in its colour.
func severityWord(s repair.Severity) string {
	switch s {
	case repair.Broken:
		return term.Bad(s)
	case repair.Latent:
		return term.Warn(atRisk)
	case repair.Lost:
		return term.Warn(s)
	case 0:
		return term.Good("healthy")
	default:
		return term.Faint(s)
	}
}

// classWords returns the name of a class as words.
func classWords(class string) string {
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

// sessionLine returns the id, title, folder and age of a session.
func sessionLine(h change.Head) string {
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
