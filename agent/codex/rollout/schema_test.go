package rollout

import (
	"os"
	"strings"
	"testing"
)

// TestForms: mend reads the same records as the real program, as recorded by TestRealForms.
func TestForms(t *testing.T) {
	text, err := os.ReadFile("testdata/forms.txt")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		state, record, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " ")
		if parsed := newLine(1, []byte(record)); (parsed.kind != "") != (state == "read") {
			t.Errorf("Codex: %s; mend reads it: %t: %s", state, parsed.kind != "", record)
		}
	}
}

// TestUnnamedItem: an item with an empty type is read, and not sent.
func TestUnnamedItem(t *testing.T) {
	l := newLine(1, []byte(`{"timestamp":"x","type":"response_item","payload":{"type":""}}`))
	if l.kind == "" || isSent(l.payload) {
		t.Errorf("kind %q, sent %t", l.kind, isSent(l.payload))
	}
}
