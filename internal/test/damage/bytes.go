package damage

import "strings"

func first20(s string) string   { return s[:min(20, len(s))] }
func firstHalf(s string) string { return s[:len(s)/2] }
func noBytes(string) string     { return "" }
func nulBytes(s string) string  { return strings.Repeat("\x00", len(s)) }

// upTo returns a function that cuts JSON off after the first occurrence of a word.
func upTo(word string) func(string) string {
	return func(s string) string {
		head, _, _ := strings.Cut(s, word)
		return head + word
	}
}

func replaceBy(json string) func(string) string { return func(string) string { return json } }

// damaged has records that are not JSON, or not a JSON object.
var damaged = []Kind{
	{"part truncated", rewritePart(Hello, "text", first20), allVersions(Dead)},
	{"part of no bytes", rewritePart(Hello, "text", noBytes), allVersions(Dead)},
	{"part of NUL bytes", rewritePart(Hello, "text", nulBytes), allVersions(Dead)},
	{"reasoning truncated", rewritePart(Hello, "reasoning", firstHalf), allVersions(Dead)},
	{"reasoning of no bytes", rewritePart(Hello, "reasoning", noBytes), allVersions(Dead)},
	{"call truncated in its output", rewritePart(OneCall, "tool", upTo(`"output"`)), allVersions(Dead)},
	{"call truncated in its input", rewritePart(OneCall, "tool", upTo(`"command"`)), allVersions(Dead)},
	{"call of no bytes", rewritePart(OneCall, "tool", noBytes), allVersions(Dead)},
	{"call of NUL bytes", rewritePart(OneCall, "tool", nulBytes), allVersions(Dead)},
	{"one of two calls of no bytes", rewritePart(TwoCalls, "tool", noBytes), allVersions(Dead)},
	{"step-start truncated", rewritePart(OneCall, "step-start", firstHalf), allVersions(Dead)},
	{"step-start of no bytes", rewritePart(OneCall, "step-start", noBytes), allVersions(Dead)},
	{"step-finish of no bytes", rewritePart(OneCall, "step-finish", noBytes), allVersions(Dead)},
	{"prompt's text truncated", rewritePart(SecondPrompt, "text", firstHalf), allVersions(Dead)},
	{"prompt's text of no bytes", rewritePart(SecondPrompt, "text", noBytes), allVersions(Dead)},
	{"first prompt's text of no bytes", rewritePart(FirstPrompt, "text", noBytes), allVersions(Dead)},
	{"last answer's text truncated", rewritePart(Goodbye, "text", firstHalf), allVersions(Dead)},
	{"last part of NUL bytes", rewritePart(Goodbye, "step-finish", nulBytes), allVersions(Dead)},
	{"every part of an answer of no bytes", combine(rewritePart(Hello, "step-start", noBytes), rewritePart(Hello, "reasoning", noBytes), rewritePart(Hello, "text", noBytes), rewritePart(Hello, "step-finish", noBytes)), allVersions(Dead)},
	{"message truncated", rewriteMessage(Hello, first20), allVersions(Dead)},
	{"message of no bytes", rewriteMessage(Hello, noBytes), allVersions(Dead)},
	{"message of NUL bytes", rewriteMessage(Hello, nulBytes), allVersions(Dead)},
	{"message of a call of no bytes", rewriteMessage(OneCall, noBytes), allVersions(Dead)},
	{"prompt truncated", rewriteMessage(SecondPrompt, firstHalf), allVersions(Dead)},
	{"prompt of no bytes", rewriteMessage(SecondPrompt, noBytes), allVersions(Dead)},
	{"first prompt of no bytes", rewriteMessage(FirstPrompt, noBytes), allVersions(Dead)},
	{"last prompt truncated", rewriteMessage(FourthPrompt, firstHalf), allVersions(Dead)},
	{"last message truncated", rewriteMessage(Goodbye, firstHalf), allVersions(Dead)},
	{"last message of no bytes", rewriteMessage(Goodbye, noBytes), allVersions(Dead)},
	{"last message of NUL bytes", rewriteMessage(Goodbye, nulBytes), allVersions(Dead)},
	{"prompt and answer of no bytes", combine(rewriteMessage(FourthPrompt, noBytes), rewriteMessage(Goodbye, noBytes)), allVersions(Dead)},
	{"message and its parts of no bytes", combine(rewriteMessage(Hello, noBytes), rewritePart(Hello, "reasoning", noBytes), rewritePart(Hello, "text", noBytes)), allVersions(Dead)},
	{"part null", rewritePart(Hello, "text", replaceBy(`null`)), byVersion(Dead, "R10", "R10")},
	{"part a list", rewritePart(Hello, "text", replaceBy(`[]`)), allVersions("R10")},
	{"part a string", rewritePart(Hello, "text", replaceBy(`"x"`)), allVersions("R10")},
	{"message null", rewriteMessage(Hello, replaceBy(`null`)), byVersion(Dead, Alive, Dead)},
	{"message a list", rewriteMessage(Hello, replaceBy(`[]`)), byVersion(Alive, Alive, Dead)},
	{"part with a byte order mark", rewritePart(Hello, "text", func(s string) string { return "\ufeff" + s }), byVersion(Alive, Dead, Dead)},
	{"part with more after it", rewritePart(Hello, "text", func(s string) string { return s + "}" }), allVersions(Dead)},
}
