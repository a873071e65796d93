package provider

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Readings returns the texts that may be the error in a text that a user copied from a terminal or a log: the error may
// be wrapped, framed, coloured, quoted, prefixed, or one of several. The unchanged text comes first, unless it contains
// characters that only a terminal shows. Each text is for [ErrorParser.Parse].
func Readings(text string) []string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	lines := cleanLines(text)
	var all []string
	if strings.Join(lines, "\n") == text {
		all = append(all, text)
	}
	// A program breaks a line at a blank; a terminal breaks it anywhere.
	for _, joined := range [...]string{strings.Join(lines, " "), strings.Join(lines, "")} {
		for _, t := range [...]string{joined, unescape(joined)} {
			all = append(all, quotedJSON(t)...)
		}
		all = append(all, joined)
		if at := strings.LastIndex(joined, errorPrefix); at >= 0 {
			all = append(all, joined[at+len(errorPrefix):])
		}
	}
	all = append(all, text)
	for _, piece := range errorPieces(text) {
		all = append(all, strings.Join(piece, " "), strings.Join(piece, ""))
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(t string) bool {
		repeated := seen[t]
		seen[t] = true
		return repeated
	})
}

// errorStart matches the start of the first line of an error.
var errorStart = regexp.MustCompile(`^(?:messages[.:\[]|input\[|contents\[|(?:\w+ ?)?[Ee]rror\b.*?[:=])`)

// maxPieces is how many pieces of a text are parsed as separate errors.
const maxPieces = 16

// errorPieces returns the lines of each error in a text with several errors: an error begins after a blank line, or at
// a line that looks like the start of an error. If there are more than maxPieces it returns the last ones.
func errorPieces(text string) (pieces [][]string) {
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		var piece []string
		for _, line := range cleanLines(paragraph) {
			if errorStart.MatchString(line) && len(piece) > 0 {
				pieces = append(pieces, piece)
				piece = nil
			}
			piece = append(piece, line)
		}
		if len(piece) > 0 {
			pieces = append(pieces, piece)
		}
	}
	return pieces[max(0, len(pieces)-maxPieces):]
}

// errorPrefix is what programs print before an error.
const errorPrefix = "Error: "

var (
	escapes = regexp.MustCompile("\x1b" + `(?:\[[0-?]*[ -/]*[@-~]|\][^` + "\x07\x1b" + `]*(?:` + "\x07|\x1b" +
		`\\)?|[@-Z\\-_])|\^\[\[[0-9;]*m`)
	frames = regexp.MustCompile(`^[\s>|#*│┃┆┊║▌▐▏▕╎╏]+|[\s│┃┆┊║▐▕╎╏]+$`)
)

// cleanLines returns the lines of a text without escapes and frames, omitting blank lines.
func cleanLines(text string) (lines []string) {
	text = strings.ReplaceAll(escapes.ReplaceAllString(text, ""), `\_`, "_") // as copied from Markdown
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line = strings.Map(func(c rune) rune {
			switch {
			case unicode.IsSpace(c):
				return ' '
			case unicode.Is(unicode.C, c):
				return -1
			}
			return c
		}, line)
		if line = frames.ReplaceAllString(line, ""); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// unescape removes the backslashes of a quoted string.
func unescape(text string) string {
	if !strings.Contains(text, `\"`) {
		return text
	}
	if s, err := strconv.Unquote(`"` + strings.Trim(text, `"'`) + `"`); err == nil {
		return s
	}
	return strings.ReplaceAll(text, `\"`, `"`)
}

// maxStarts is how many positions in a text are tried as the start of JSON: each attempt reads to
// the end of the text.
const maxStarts = 8

// quotedJSON returns the first outermost JSON objects in a text.
func quotedJSON(text string) (found []string) {
	for range maxStarts {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
		var v json.RawMessage
		if json.NewDecoder(strings.NewReader(text)).Decode(&v) != nil {
			text = text[1:]
			continue
		}
		found = append(found, string(v))
		text = text[len(v):]
	}
	return found
}

// The minimum lengths, in characters, of an error that is searched for in a longer text.
const (
	minStored = 12
	minCopied = 20
)

// SameError reports whether a stored error is the one that a user copied: white space and a
// terminal's additions between words are ignored, and either may be part of the other.
func SameError(stored, copied string) bool {
	a, b := plainLetters(stored), plainLetters(copied)
	return a != "" && a == b ||
		utf8.RuneCountInString(a) >= minStored && strings.Contains(b, a) ||
		utf8.RuneCountInString(b) >= minCopied && strings.Contains(a, b)
}

// plainLetters returns the text without white space, frames and escapes.
func plainLetters(text string) string {
	return strings.Join(strings.Fields(strings.Join(cleanLines(text), "")), "")
}
