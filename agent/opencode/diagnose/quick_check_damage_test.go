package diagnose

import (
	"regexp"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/internal/damage"
	"mend/session"
)

// damages are what can happen to the bytes of a record.
var damages = []struct {
	name string
	to   func(data string) string
}{
	{"zero bytes", func(string) string { return "" }},
	{"NUL bytes", func(data string) string { return strings.Repeat("\x00", len(data)) }},
	{"half of it", func(data string) string { return data[:len(data)/2] }},
	{"all but the end", func(data string) string { return strings.TrimRight(data, " \n}") }},
	{"all but one byte", func(data string) string {
		return strings.TrimRight(data, " \n")[:len(strings.TrimRight(data, " \n"))-1]
	}},
	{"more behind it", func(data string) string { return data + "{}" }},
	{"NUL bytes behind it", func(data string) string { return data + "\x00\x00" }},
	{"a byte order mark", func(data string) string { return "\ufeff" + data }},
	{"a list", func(data string) string { return "[" + data + "]" }},
	{"null", func(string) string { return "null" }},
	{"every name twice", func(data string) string {
		return strings.TrimRight(data, " \n}") + "," + strings.TrimLeft(data, " \n{")
	}},
	{"an id twice", func(data string) string { return strings.Replace(data, `{`, `{"id":"x",`, 1) }},
	{"a type twice", func(data string) string { return strings.Replace(data, `{`, `{"type":"text",`, 1) }},
	{"names with escapes", func(data string) string { return strings.ReplaceAll(data, `"t`, `"\u0074`) }},
	{"values with escapes", func(data string) string { return strings.ReplaceAll(data, `: "t`, `: "\u0074`) }},
	{"a lone surrogate", func(data string) string { return strings.ReplaceAll(data, `: "`, `: "\ud800`) }},
	{"a bad escape", func(data string) string { return strings.ReplaceAll(data, `: "`, `: "\x`) }},
	{"invalid UTF-8", func(data string) string { return strings.ReplaceAll(data, `: "`, ": \"\xff") }},
	{"invalid UTF-8 in names", func(data string) string { return strings.ReplaceAll(data, `": `, "\xff\": ") }},
	{"a NUL in texts", func(data string) string { return strings.ReplaceAll(data, `: "`, ": \"\x00") }},
	{"line ends in texts", func(data string) string { return strings.ReplaceAll(data, `: "`, ": \"\n") }},
	{"nothing in texts", func(data string) string { return regexp.MustCompile(`: "[^"]*"`).ReplaceAllString(data, `: ""`) }},
	{"blanks in texts", func(data string) string {
		return regexp.MustCompile(`"text": "[^"]*"`).ReplaceAllString(data, `"text": "\u2003\t "`)
	}},
	{"long numbers", func(data string) string {
		return regexp.MustCompile(`: \d+`).ReplaceAllString(data, `: 99999999999999999999`)
	}},
	{"numbers with exponents", func(data string) string { return regexp.MustCompile(`: \d+`).ReplaceAllString(data, `: 1e400`) }},
	{"numbers as the wrong ones write them", func(data string) string { return regexp.MustCompile(`: \d+`).ReplaceAllString(data, `: 01`) }},
	{"no numbers", func(data string) string { return regexp.MustCompile(`: \d+`).ReplaceAllString(data, `: NaN`) }},
}

// TestPlainIsHealthyAfterDamage damages the bytes of each record of a session.
func TestPlainIsHealthyAfterDamage(t *testing.T) {
	whole := fixture(t)
	whole.Messages = whole.Messages[:3]
	notPlain := 0
	for _, d := range damages {
		for i := range whole.Messages {
			for j := -1; j < len(whole.Messages[i].Parts); j++ {
				s := whole.Clone()
				m := &s.Messages[i]
				if j < 0 {
					*m = rebuiltMessage(m, d.to(string(m.Data)))
				} else {
					p := &m.Parts[j]
					*p = record.NewPart(session.Record{Ref: p.Ref, Data: []byte(d.to(string(p.Data))), Mode: p.Mode})
				}
				s.Sort()
				if !quickCheck(s, fixtureTime) {
					notPlain++
				} else if found := findings(s); len(found) > 0 {
					t.Errorf("%s in message %d, part %d: plain, and yet %v", d.name, i, j, found)
				}
			}
		}
	}
	if notPlain < 100 {
		t.Errorf("only %d damaged sessions were not plain", notPlain)
	}
}

// A session that says which model is asked next is plain if that is the one of its
// messages.
func TestPlainModel(t *testing.T) {
	for _, r := range []struct {
		model string
		want  bool
	}{
		{`{"id":"claude-fake","providerID":"anthropic","variant":"default"}`, true},
		{`{"providerID":"anthropic","id":"claude-fake"}`, true},
		{`{"id":"gpt","providerID":"anthropic"}`, false},
		{`{"id":"claude-fake","providerID":"openai"}`, false},
		{`{"id":"claude-fake"}`, false},
		{`{"id":1,"providerID":"anthropic"}`, false},
		{`null`, false},
		{``, false},
	} {
		s := unpack(t, 2, func(damage.Store) {}).load()
		model, _ := s.Info.Col("model")
		model.Bytes = []byte(r.model)
		s.Info = s.Info.WithCol(model)
		if got := quickCheck(s, fixtureTime); got != r.want {
			t.Errorf("with the model %s: plain = %v, want %v", r.model, got, r.want)
		}
		if found := findings(s); r.want && len(found) > 0 {
			t.Errorf("with the model %s: plain, and yet %v", r.model, found)
		}
	}
}
