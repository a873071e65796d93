package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fatih/color"

	"mend/change"
	"mend/repair"
)

// Colours are used if standard output is a terminal and NO_COLOR is not set.
var (
	bold    = color.New(color.Bold).SprintFunc()
	faint   = color.New(color.Faint).SprintFunc()
	bad     = color.New(color.FgRed, color.Bold).SprintFunc()
	warn    = color.New(color.FgYellow).SprintFunc()
	good    = color.New(color.FgGreen).SprintFunc()
	added   = color.New(color.FgGreen).SprintFunc()
	removed = color.New(color.FgRed).SprintFunc()
)

// escape escapes control characters and invalid UTF-8 as in a Go string, so that stored text
// cannot control the terminal.
func escape(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for i, c := range s {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(c) || isJoiner(c) && isJoined(before) && isJoined(runeAt(s[i+utf8.RuneLen(c):])):
			b.WriteRune(c)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		}
		before = c
	}
	return b.String()
}

// isJoiner reports whether the rune joins its neighbours, or keeps them apart, as in emoji of
// several people and in Persian words.
func isJoiner(c rune) bool { return c == '\u200d' || c == '\u200c' }

// isJoined reports whether the rune may stand beside a joiner.
func isJoined(c rune) bool { return c > unicode.MaxLatin1 && c != utf8.RuneError && strconv.IsPrint(c) }

// runeAt returns the first rune of a string, 0 if it is empty.
func runeAt(s string) rune {
	for _, c := range s {
		return c
	}
	return 0
}

// oneLine returns escaped text on one line, with at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return escape(s)
}

// shortenHome replaces the user's home folder at the start of a path by "~".
func shortenHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); err == nil && ok {
		return filepath.Join("~", rest)
	}
	return path
}

// severityWord returns the severity in its colour.
func severityWord(s repair.Severity) string {
	switch s {
	case repair.Broken:
		return bad(s)
	case repair.Latent:
		return warn(s)
	case 0:
		return good("healthy")
	default:
		return faint(s)
	}
}

// sessionLine returns the id, title, folder and age of a session.
func (a *app) sessionLine(h change.Head) string {
	parts := []string{bold(h.ID)}
	if h.ID == "" {
		parts[0] = faint("(of no session)")
	}
	if h.Title != "" {
		parts = append(parts, `"`+oneLine(h.Title, 60)+`"`)
	}
	if h.Directory != "" {
		parts = append(parts, oneLine(h.Directory, 80))
	}
	if t := max(h.Updated, h.Created); t > 0 {
		parts = append(parts, faint(age(time.Since(time.UnixMilli(t)))))
	}
	return strings.Join(parts, "  ")
}

// age formats a duration as in "3 days ago".
func age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / u.unit); n >= 1 {
			return count(n, u.name) + " ago"
		}
	}
	return "just now"
}

// count formats a number with its noun: "1 session", "3 sessions".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size formats a number of bytes: "1.5 KiB".
func size(n int64) string {
	for _, u := range []struct {
		unit int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.unit {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.unit), u.name)
		}
	}
	return count(int(n), "byte")
}
