package mend_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	"mend/agent/opencode"
	"mend/internal/culprit"
	"mend/internal/mend"
	"mend/internal/test/storetest"
)

// An errorText is a line of testdata/errors.tsv.
type errorText struct{ kind, source, text string }

func errorTexts(t *testing.T) (all []errorText) {
	t.Helper()
	f, err := os.Open("../../testdata/errors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			kind, rest, _ := strings.Cut(line, "\t")
			source, text, _ := strings.Cut(rest, "\t")
			all = append(all, errorText{kind, source, text})
		}
	}
	return all
}

// kindOf returns the class or the subject of a pasted text, or "" if mend does not know the text.
func kindOf(text string) string {
	o := mend.Options{Agents: []agent.Agent{opencode.Agent{}, claude.Agent{}, codex.Agent{}}}
	e := culprit.Readings(o.Agents, []byte(text))[0]
	if e.Class != "" {
		return string(e.Class)
	}
	return string(e.About)
}

// hardWrap breaks a text after each width characters, and removes the blanks at the ends of lines, as a terminal does
// when text is copied. With an after, lines are filled with blanks instead.
func hardWrap(text string, width int, before, after string) string {
	var b strings.Builder
	for runes := []rune(text); len(runes) > 0; {
		n := min(width, len(runes))
		line := string(runes[:n])
		if after == "" {
			line = strings.TrimRight(line, " ")
		} else {
			line += strings.Repeat(" ", width-n)
		}
		b.WriteString(before + line + after + "\n")
		runes = runes[n:]
	}
	return b.String()
}

var words = regexp.MustCompile(`\S+`)

// wordWrap breaks a text between words and indents the lines after the first.
func wordWrap(text string, width int) string {
	var lines []string
	line := ""
	for _, w := range words.FindAllString(text, -1) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width {
			lines, line = append(lines, line), "     "+w
			continue
		}
		line = strings.TrimPrefix(line+" "+w, " ")
	}
	return strings.Join(append(lines, line), "\n")
}

// TestErrorTexts: every text of testdata/errors.tsv gets its class, in whatever form it is pasted.
func TestErrorTexts(t *testing.T) {
	storetest.Long(t)
	texts := errorTexts(t)
	if len(texts) < 150 {
		t.Fatalf("%d texts, want at least 150", len(texts))
	}
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	forms := map[string]func(string) string{
		"alone":    func(s string) string { return s },
		"a prefix": func(s string) string { return "  ⎿  API Error: 400 " + s },
		"a log": func(s string) string {
			return "ERROR 2026-11-22T10:00:00 +5ms service=session.processor error=" + s + " process"
		},
		"a shell":  func(s string) string { return "$ opencode run next\n\n" + s + "\n$ " },
		"coloured": func(s string) string { return "\x1b[91m\x1b[1mError: \x1b[0m" + strings.ReplaceAll(s, " ", " \x1b[1m") },
		"in JSON": func(s string) string {
			return `{"name":"APIError","data":{"message":` + quote(s) + `,"statusCode":400}}`
		},
		"in a body": func(s string) string {
			return `{"error":{"message":"Bad Request","metadata":{"raw":` + quote(`{"message":`+quote(s)+`}`) + `}}}`
		},
		"in quotes":  quote,
		"in a mail":  func(s string) string { return "> " + strings.ReplaceAll(wordWrap(s, 60), "\n", "\n> ") },
		"upper case": strings.ToUpper,
		"a reply":    func(s string) string { return "I get this since yesterday:\n\n" + s + "\n\nWhat can I do?" },
		"cut":        func(s string) string { return string([]rune(s)[:min(len([]rune(s)), 200)]) + "…" },
	}
	for width := 36; width <= 120; width += storetest.Count(1, 84) {
		forms[fmt.Sprintf("terminal of %d columns", width)] = func(s string) string { return hardWrap(s, width, "", "") }
		forms[fmt.Sprintf("box of %d columns", width)] = func(s string) string { return hardWrap(s, width-4, "│ ", " │") }
		forms[fmt.Sprintf("program of %d columns", width)] = func(s string) string { return wordWrap(s, width) }
	}
	for name, form := range forms {
		wrong := 0
		for _, c := range texts {
			if got := kindOf(form(c.text)); got != c.kind {
				if wrong++; wrong <= 5 {
					t.Errorf("%s: %q (%s) is %q, want %q", name, form(c.text), c.source, got, c.kind)
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d texts have another class", name, wrong, len(texts))
		}
	}
}

func cutText(s string, tenths int) string {
	runes := []rune(s)
	return string(runes[:len(runes)*tenths/10])
}

// TestErrorTextsCut: a truncated text has its own class, or is unknown or unclear. Where two agents use the same words
// before the cut, a text of the kind "other" may be read as "store".
func TestErrorTextsCut(t *testing.T) {
	for _, c := range errorTexts(t) {
		for tenths := 3; tenths < 10; tenths++ {
			if got := kindOf(cutText(c.text, tenths)); got != "" && got != "unclear" && got != c.kind && (c.kind != "other" || got != "store") {
				t.Errorf("%q is %q, want %q or unknown", cutText(c.text, tenths), got, c.kind)
			}
		}
	}
}

// TestTextsOfOtherAgents: the explanation of a text of an agent that mend does not support names that agent.
func TestTextsOfOtherAgents(t *testing.T) {
	o := mend.Options{Agents: []agent.Agent{opencode.Agent{}, claude.Agent{}, codex.Agent{}}}
	for text, name := range map[string]string{
		`Error: cannot load C:\\Users\\me\\.copilot\\session-state\\8a\\events.jsonl`: "GitHub Copilot CLI",
		"Error resuming session: ~/.gemini/tmp/1f/chats/session.json":                 "Gemini CLI",
		"[Roo Code] Task file not found":                                              "Roo Code",
		"saoudrizwan.claude-dev/tasks/1763/api_conversation_history.json missing":     "Cline",
		"kiro-cli: failed to parse session metadata":                                  "Kiro",
		"failed to open .crush/crush.db":                                              "Crush",
		`sqlite: C:\Users\me\share\goose\sessions.db is locked by goose session`:      "Goose",
		"~/.pi/agent/sessions/a.jsonl: parent not found":                              "pi",
		"cursor-agent: chat store.db could not be opened":                             "Cursor",
		"amp threads continue: thread is gone":                                        "Amp",
	} {
		e := culprit.Readings(o.Agents, []byte(text))[0]
		if want := "This is an error of " + name + ","; !strings.HasPrefix(e.Explanation, want) {
			t.Errorf("%q: %q, want %q", text, e.Explanation, want)
		}
	}
}

// TestUnrelatedTexts: a text that is not an error of an agent or a provider is unknown.
func TestUnrelatedTexts(t *testing.T) {
	all, err := os.ReadFile("../../testdata/no-errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(all)) {
		if got := kindOf(text); got != "" {
			t.Errorf("%q is %q, want unknown", text, got)
		}
	}
}
