package term

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fatih/color"
)

// Colours are used if standard output is a terminal and NO_COLOR is not set.
var (
	Bold    = color.New(color.Bold).SprintFunc()
	Faint   = color.New(color.Faint).SprintFunc()
	Bad     = color.New(color.FgRed, color.Bold).SprintFunc()
	Warn    = color.New(color.FgYellow).SprintFunc()
	Good    = color.New(color.FgGreen).SprintFunc()
	Added   = color.New(color.FgGreen).SprintFunc()
	Removed = color.New(color.FgRed).SprintFunc()
)

// hardBlank is a blank at which text is not wrapped.
const hardBlank = "\u00a0"

// Command formats a command within a sentence: bold, and on one line.
func Command(text string) string { return Bold(strings.ReplaceAll(text, " ", hardBlank)) }

// Escape escapes control characters and invalid UTF-8 as in a Go string, so that stored text
// cannot control the terminal.
func Escape(s string) string {
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

// kept matches the control sequences that [printable] does not escape: ends of lines, and the colours above.
var kept = regexp.MustCompile("\n|\x1b\\[(?:[012]|22|0;22|31;1|3[123])m")

// printable escapes control characters in everything that is printed, except ends of lines and the colours of
// this package. Escaped text stays unchanged.
func printable(s string) string {
	s = strings.ReplaceAll(s, hardBlank, " ")
	if !strings.Contains(s, "\x1b") && !strings.Contains(s, "\n") {
		return Escape(s)
	}
	own := kept
	if color.NoColor {
		own = lineEnd
	}
	var b strings.Builder
	done := 0
	for _, at := range own.FindAllStringIndex(s, -1) {
		b.WriteString(Escape(s[done:at[0]]) + s[at[0]:at[1]])
		done = at[1]
	}
	return b.String() + Escape(s[done:])
}

var lineEnd = regexp.MustCompile("\n")

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

// OneLine returns escaped text on one line, with at most n characters.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return Escape(s)
}

// Sentence returns escaped text without its final period.
func Sentence(s string) string { return strings.TrimSuffix(OneLine(s, 500), ".") }

// FirstSentence returns the first sentence of a text, without its full stop.
func FirstSentence(text string) string {
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, ".")
}

// Capitalized returns the text with a capital first letter.
func Capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// ShortenHome replaces the user's home folder at the start of a path by "~".
func ShortenHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); err == nil && ok {
		return filepath.Join("~", rest)
	}
	return path
}

// Age formats a duration, such as "3 days ago".
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / u.unit); n >= 1 {
			return Count(n, u.name) + " ago"
		}
	}
	return "just now"
}

// Count formats a number with its noun: "1 session", "3 sessions".
func Count(n int, noun string) string { return CountWords(n, noun, noun+"s") }

// CountWords returns the number with the matching words.
func CountWords(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Thousands returns the number with commas between groups of three digits.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Size formats a number of bytes: "1.5 KiB".
func Size(n int64) string {
	for _, u := range []struct {
		unit int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.unit {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.unit), u.name)
		}
	}
	return Count(int(n), "byte")
}

// Enumerate joins words, such as "a, b and c".
func Enumerate(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
