package provider

import (
	"slices"
	"strings"
	"testing"
)

// TestReadingsOfPastedText: an error is recognised in every form in which users paste it.
func TestReadingsOfPastedText(t *testing.T) {
	const want = "messages.12: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01AbC"
	const body = `{"type":"error","error":{"type":"invalid_request_error","message":"` + want + `"}}`
	p := NewErrorParser(ErrorTexts{
		Kinds: []ErrorKind{{Any: []string{"tool_use … tool_result"}, Class: "tool_result_missing"}},
		Rules: []Rule{{Code: "R1", Words: []string{"tool_use … without … tool_result"}, Kind: &ToolResultMissing}},
		Place: `messages\.(\d+)`, Calls: []string{"toolu"},
	})
	wrap := func(s string, n int, before, after string) string {
		var b strings.Builder
		for i := 0; i < len(s); i += n {
			b.WriteString(before + s[i:min(i+n, len(s))] + after + "\n")
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"unchanged":             want,
		"after a prefix":        "AI_APICallError: " + want,
		"a body":                body,
		"a body after a prefix": "ERROR 2026-11-22T10:00:00 +5ms service=session.processor error=" + body + " process",
		"in quotes":             `"` + want + `"`,
		"a body in quotes":      `'` + body + `'`,
		"escaped":               strings.ReplaceAll(body, `"`, `\"`),
		"escaped, in quotes":    `"` + strings.ReplaceAll(body, `"`, `\"`) + `"`,
		"coloured":              "\x1b[31mError:\x1b[0m " + strings.ReplaceAll(want, "ids", "\x1b[1mids\x1b[22m"),
		"wrapped at blanks":     strings.ReplaceAll(want, " ", "\n"),
		"wrapped by a terminal": wrap(want, 17, "", ""),
		"framed":                wrap(want, 40, "┃  ", "  ┃"),
		"quoted in a mail":      "> " + strings.ReplaceAll(want, " were", "\n> were"),
		"a wrapped body":        wrap(body, 31, "", "\r"),
		"a framed body":         wrap(body, 40, "│ ", " │"),
		"from Markdown":         strings.ReplaceAll(want, "_", `\_`),
		"on the screen":         "\x1b[0m\n> build · claude\n\x1b[0m\n\x1b[91m\x1b[1mError: \x1b[0m" + want,
		"with a command before": "$ opencode run x\n\n" + want + "\n$ ",
		"one of several":        "messages.7: another one\n" + want + "\nmessages.9: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_09X",
		"between blank lines":   "Something else, at messages.7\n\n" + wrap(want, 40, "", "") + "\nand so on: messages.9, toolu_09X",
	} {
		t.Run(name, func(t *testing.T) {
			if first := Readings(text)[0]; strings.Contains(first, "\x1b") {
				t.Errorf("the first reading has escapes: %q", first)
			}
			ok := slices.ContainsFunc(Readings(text), func(r string) bool {
				e := p.Parse([]byte(r))
				return e.Class == "tool_result_missing" && e.Rule == "R1" && e.Index == 12 && slices.Equal(e.Calls, []string{"toolu_01AbC"})
			})
			if !ok {
				t.Errorf("no reading of %q is recognised: %q", text, Readings(text))
			}
			if !SameError(want, text) && !strings.Contains(name, "escaped") && name != "from Markdown" {
				t.Errorf("SameError of the stored error and %q is false", text)
			}
		})
	}
	if SameError("Not Found", "the page was Not Found on the server") {
		t.Error("a short text counts as an error that contains it")
	}
	if SameError("", "x") || SameError("", "") {
		t.Error("an empty text is an error")
	}
	if n := len(Readings(strings.Repeat("{", 1<<16))); n > 8 {
		t.Errorf("%d readings of braces", n)
	}
}
