package termjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestEscapeAll: every non-printable character of Unicode is escaped, and every character decodes to itself.
func TestEscapeAll(t *testing.T) {
	for from := rune(0); from <= unicode.MaxRune; from += 0x1000 {
		var b strings.Builder
		for r := from; r < from+0x1000; r++ {
			b.WriteRune(r)
		}
		text, err := Marshal(map[string]string{"text": b.String()})
		if err != nil {
			t.Fatalf("Marshal(%U...) = %v", from, err)
		}
		for _, r := range string(text) {
			if !strconv.IsPrint(r) {
				t.Errorf("Marshal does not escape %U", r)
			}
		}
		var back struct{ Text string }
		if err := json.Unmarshal(text, &back); err != nil || back.Text != b.String() {
			t.Errorf("Marshal(%U...) decodes to other characters (%v)", from, err)
		}
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"{\"a\":\t[1]}\r\n":  "{\"a\":\t[1]}\r\n",
		"\"\u009b31m\"":      `"\u009b31m"`,
		"\"a\x7f\"":          `"a\u007f"`,
		"\"\u202egnp.exe\"":  `"\u202egnp.exe"`,
		"\"\U000e0041\"":     `"\udb40\udc41"`,
		"\"ä😀\"":             "\"ä😀\"",
		"\"\xff\x9b\"":       `"\ufffd\ufffd"`,
		"\"\xe2\x80\"":       `"\ufffd\ufffd"`,
		"\"\ufffd\"":         "\"\ufffd\"",
		"\"👩\u200d👩\u2028\"": `"👩\u200d👩\u2028"`,
	} {
		if got := string(Escape([]byte(text))); got != want {
			t.Errorf("Escape(%q) = %s, want %s", text, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add([]byte("{\"a\": \"\u009b\xff\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := Escape(bytes.Clone(text))
		if !utf8.Valid(got) {
			t.Fatalf("Escape(%q) = %q, which is not UTF-8", text, got)
		}
		var a, b any
		if json.Unmarshal(text, &a) != nil {
			return
		}
		if err := json.Unmarshal(got, &b); err != nil {
			t.Fatalf("Escape(%q) = %q: %v", text, got, err)
		}
		if x, y := mustMarshal(a), mustMarshal(b); x != y {
			t.Errorf("Escape(%q) decodes to %s, want %s", text, y, x)
		}
	})
}

func mustMarshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
