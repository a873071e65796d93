package main

import (
	"strings"
	"time"

	"mend/change"
	"mend/internal/term"
	"mend/repair"
)

// severityWord returns the severity in its colour.
func severityWord(s repair.Severity) string {
	switch s {
	case repair.Broken:
		return term.Bad(s)
	case repair.Latent:
		return term.Warn(s)
	case 0:
		return term.Good("healthy")
	default:
		return term.Faint(s)
	}
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
		parts = append(parts, term.OneLine(h.Directory, 80))
	}
	if t := max(h.Updated, h.Created); t > 0 {
		parts = append(parts, term.Faint(term.Age(time.Since(time.UnixMilli(t)))))
	}
	return strings.Join(parts, "  ")
}
