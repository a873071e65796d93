package damage

import "strings"

func short(s string) string { return s[:min(20, len(s))] }
func half(s string) string  { return s[:len(s)/2] }
func gone(string) string    { return "" }
func nulls(s string) string { return strings.Repeat("\x00", len(s)) }

// before cuts the JSON off in the middle of a word that is in it.
func before(word string) func(string) string {
	return func(s string) string {
		head, _, _ := strings.Cut(s, word)
		return head + word
	}
}

func stored(json string) func(string) string { return func(string) string { return json } }

// damaged are records whose bytes are no JSON, or not the JSON of a record.
var damaged = []Kind{
	{"part truncated", raw(Hello, "text", short), same(Dead)},
	{"part of no bytes", raw(Hello, "text", gone), same(Dead)},
	{"part of NUL bytes", raw(Hello, "text", nulls), same(Dead)},
	{"reasoning truncated", raw(Hello, "reasoning", half), same(Dead)},
	{"reasoning of no bytes", raw(Hello, "reasoning", gone), same(Dead)},
	{"call truncated in its output", raw(OneCall, "tool", before(`"output"`)), same(Dead)},
	{"call truncated in its input", raw(OneCall, "tool", before(`"command"`)), same(Dead)},
	{"call of no bytes", raw(OneCall, "tool", gone), same(Dead)},
	{"call of NUL bytes", raw(OneCall, "tool", nulls), same(Dead)},
	{"one of two calls of no bytes", raw(TwoCalls, "tool", gone), same(Dead)},
	{"step-start truncated", raw(OneCall, "step-start", half), same(Dead)},
	{"step-start of no bytes", raw(OneCall, "step-start", gone), same(Dead)},
	{"step-finish of no bytes", raw(OneCall, "step-finish", gone), same(Dead)},
	{"prompt's text truncated", raw(SecondPrompt, "text", half), same(Dead)},
	{"prompt's text of no bytes", raw(SecondPrompt, "text", gone), same(Dead)},
	{"first prompt's text of no bytes", raw(FirstPrompt, "text", gone), same(Dead)},
	{"last answer's text truncated", raw(Goodbye, "text", half), same(Dead)},
	{"last part of NUL bytes", raw(Goodbye, "step-finish", nulls), same(Dead)},
	{"every part of an answer of no bytes", every(raw(Hello, "step-start", gone), raw(Hello, "reasoning", gone), raw(Hello, "text", gone), raw(Hello, "step-finish", gone)), same(Dead)},
	{"message truncated", rawMessage(Hello, short), same(Dead)},
	{"message of no bytes", rawMessage(Hello, gone), same(Dead)},
	{"message of NUL bytes", rawMessage(Hello, nulls), same(Dead)},
	{"message of a call of no bytes", rawMessage(OneCall, gone), same(Dead)},
	{"prompt truncated", rawMessage(SecondPrompt, half), same(Dead)},
	{"prompt of no bytes", rawMessage(SecondPrompt, gone), same(Dead)},
	{"first prompt of no bytes", rawMessage(FirstPrompt, gone), same(Dead)},
	{"last prompt truncated", rawMessage(FourthPrompt, half), same(Dead)},
	{"last message truncated", rawMessage(Goodbye, half), same(Dead)},
	{"last message of no bytes", rawMessage(Goodbye, gone), same(Dead)},
	{"last message of NUL bytes", rawMessage(Goodbye, nulls), same(Dead)},
	{"prompt and answer of no bytes", every(rawMessage(FourthPrompt, gone), rawMessage(Goodbye, gone)), same(Dead)},
	{"message and its parts of no bytes", every(rawMessage(Hello, gone), raw(Hello, "reasoning", gone), raw(Hello, "text", gone)), same(Dead)},
	{"part null", raw(Hello, "text", stored(`null`)), by(Dead, "R10", "R10")},
	{"part a list", raw(Hello, "text", stored(`[]`)), same("R10")},
	{"part a string", raw(Hello, "text", stored(`"x"`)), same("R10")},
	{"message null", rawMessage(Hello, stored(`null`)), by(Dead, Alive, Dead)},
	{"message a list", rawMessage(Hello, stored(`[]`)), by(Alive, Alive, Dead)},
	{"part with a byte order mark", raw(Hello, "text", func(s string) string { return "\ufeff" + s }), by(Alive, Dead, Dead)},
	{"part with more behind it", raw(Hello, "text", func(s string) string { return s + "}" }), same(Dead)},
}
