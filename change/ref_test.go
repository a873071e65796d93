package change

import (
	"strings"
	"testing"
)

func TestValidateID(t *testing.T) {
	for id, want := range map[string]bool{
		"prt_1": true, "azAZ09": true, "-": true, "[": false, "{": false, "@": false, "`": false, ":": false, "_x.y-Z9": true, strings.Repeat("x", MaxID): true,
		"": false, ".": false, "..": false, ".x": false, "a/b": false, `a\b`: false, "a\x00": false, "é": false, " ": false, strings.Repeat("x", MaxID+1): false,
	} {
		if err := ValidateID(id); (err == nil) != want {
			t.Errorf("ValidateID(%q) = %v, want valid: %v", id, err, want)
		}
	}
}

func FuzzValidateID(f *testing.F) {
	for _, s := range []string{"prt_1", "..", "a/b", "\x00", strings.Repeat("x", 201)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if ValidateID(id) == nil && (id == "" || len(id) > MaxID || id[0] == '.' || strings.ContainsAny(id, "/\\\x00: ")) {
			t.Errorf("ValidateID takes %q", id)
		}
	})
}
