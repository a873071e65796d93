package js

import "testing"

// TestString: String converts a value as JavaScript does.
func TestString(t *testing.T) {
	for in, want := range map[string]string{
		`"a"`: "a", `null`: "null", `true`: "true", `0`: "0", `1.5`: "1.5",
	} {
		if got := Parse([]byte(in)).String(); got != want {
			t.Errorf("String(%s) = %q, want %q", in, got, want)
		}
	}
	if got := (Value{}).String(); got != "undefined" {
		t.Errorf("String of no value = %q, want %q", got, "undefined")
	}
}

// TestBlank: Blank knows the white space of JavaScript.
func TestBlank(t *testing.T) {
	for s, want := range map[string]bool{"": true, " \t\r\n": true, "\ufeff\u00a0\u2003\u3000": true, "x": false, " . ": false, "\u200b": false} {
		if got := Blank(s); got != want {
			t.Errorf("Blank(%q) = %v, want %v", s, got, want)
		}
	}
}
