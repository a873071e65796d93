package term

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/fatih/color"
)

// A Text is text for a terminal in which everything is escaped except the colours and line ends of this package.
// Other packages convert only constants to a Text. The printing functions accept any value, and escape it unless it
// is a Text.
type Text string

// The styles. They have an effect if standard output is a terminal and NO_COLOR is not set.
var (
	Bold    = style(color.Bold)
	Faint   = style(color.Faint)
	Bad     = style(color.FgRed, color.Bold)
	Warn    = style(color.FgYellow)
	Good    = style(color.FgGreen)
	Added   = style(color.FgGreen)
	Removed = style(color.FgRed)
)

// style returns a function that formats a value with the attributes.
func style(attributes ...color.Attribute) func(value any) Text {
	c := color.New(attributes...)
	return func(value any) Text { return Text(c.Sprint(toText(value))) }
}

// toText returns the text of a value, escaped unless it is a Text.
func toText(value any) Text {
	if text, ok := value.(Text); ok {
		return text
	}
	return Escape(fmt.Sprint(value))
}

// Sprintf formats as [fmt.Sprintf] does, and escapes each argument that is neither a Text nor a plain number.
func Sprintf(format string, args ...any) Text {
	for i, arg := range args {
		if !isNumber(arg) {
			args[i] = toText(arg)
		}
	}
	return Text(fmt.Sprintf(format, args...))
}

// isNumber reports whether a value is a number or a boolean, and has no method that returns a text.
func isNumber(value any) bool {
	switch value.(type) {
	case nil, error, fmt.Stringer:
		return false
	}
	return reflect.TypeOf(value).Kind() <= reflect.Complex128
}

// Plain returns the text without its colours.
func (t Text) Plain() string { return ansi.Strip(string(t)) }

// Join joins texts as [strings.Join] does.
func Join(texts []Text, separator Text) Text {
	var b strings.Builder
	for i, t := range texts {
		if i > 0 {
			b.WriteString(string(separator))
		}
		b.WriteString(string(t))
	}
	return Text(b.String())
}

// hardBlank is a blank at which text is not wrapped. It is printed as an ordinary blank.
const hardBlank = "\u00a0"

// Command formats a command within a sentence: bold, and on one line.
func Command(command string) Text {
	return Bold(Text(strings.ReplaceAll(string(Escape(command)), " ", hardBlank)))
}

// Escape escapes control characters, line ends and invalid UTF-8 as in a Go string, so that stored text cannot control
// the terminal.
func Escape(s string) Text {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return Text(s)
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
	return Text(b.String())
}

// isJoiner reports whether the rune joins its neighbours, or keeps them apart, as in emoji of
// several people and in Persian words.
func isJoiner(c rune) bool { return c == '\u200d' || c == '\u200c' }

// isJoined reports whether a joiner may be next to the rune.
func isJoined(c rune) bool { return c > unicode.MaxLatin1 && c != utf8.RuneError && strconv.IsPrint(c) }

// runeAt returns the first rune of a string, 0 if it is empty.
func runeAt(s string) rune {
	for _, c := range s {
		return c
	}
	return 0
}

// Lines returns the texts, each on its own line.
func Lines(texts []string) Text {
	lines := make([]Text, len(texts))
	for i, text := range texts {
		lines[i] = Escape(text)
	}
	return Join(lines, "\n")
}

// OneLine returns a text on one line, with at most n characters.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return s
}

// Sentence returns a text on one line, without its final period.
func Sentence(s string) string { return strings.TrimSuffix(OneLine(s, 500), ".") }

// FirstSentence returns the first sentence of a text, without its final period.
func FirstSentence(text string) string {
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, ".")
}

// Capitalize returns the text with a capital first letter.
func Capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// ShortenHome replaces the user's home folder at the start of a path by "~".
func ShortenHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); err == nil && ok {
		return filepath.Join("~", rest)
	}
	return path
}

const day = 24 * time.Hour

var ageUnits = []struct {
	length      time.Duration
	name, short string
}{
	{365 * day, "year", "y"}, {30 * day, "month", "mo"}, {day, "day", "d"}, {time.Hour, "hour", "h"}, {time.Minute, "minute", "min"},
}

// Age formats a duration, such as "3 days ago".
func Age(d time.Duration) string {
	for _, u := range ageUnits {
		if d >= u.length {
			return Count(int(d/u.length), u.name) + " ago"
		}
	}
	return "just now"
}

// ShortAge formats a duration, such as "3d".
func ShortAge(d time.Duration) string {
	for _, u := range ageUnits {
		if d >= u.length {
			return fmt.Sprint(int(d/u.length), u.short)
		}
	}
	return "now"
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
