package sessionfile

import (
	"strings"
	"testing"

	"mend/change"
)

// TestCheckLines: a transcript of blank or torn lines is refused, because each line takes memory. A transcript of
// records is accepted.
func TestCheckLines(t *testing.T) {
	record := `{"type":"user","uuid":"11111111-2222-4333-8444-555555555555","parentUuid":null}` + "\n"
	for _, c := range []struct {
		name, data string
		refused    bool
	}{
		{"blank lines", strings.Repeat("\n", 1_000_000), true},
		{"torn lines", strings.Repeat("{\n", 1_000_000), true},
		{"a few blank lines", strings.Repeat("\n", 200_000), false},
		{"short records", strings.Repeat(record, 500_000), false},
	} {
		if err := CheckLines(change.Ref{Session: "x"}, []byte(c.data)); (err != nil) != c.refused {
			t.Errorf("%s: %v, want an error: %t", c.name, err, c.refused)
		}
	}
}
