package config

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPlanEdit: an edit changes one value and keeps every other byte of the file.
func TestPlanEdit(t *testing.T) {
	for _, c := range []struct {
		name, before, key, text string
		want                    string // "" for an error
	}{
		{"no file", "", "autoResume", "true", `{"autoResume":true}` + "\n"},
		{"comments stay", "{\n  // mine\n  \"maxRetries\": 3, // three\n}\n", "autoResume", "true", "{\n  // mine\n  \"maxRetries\": 3, // three\n\"autoResume\":true\n}\n"},
		{"replaced in its place", "{ \"maxRetries\" :  3 /* three */ , \"autoResume\":false }", "maxRetries", "5", "{ \"maxRetries\" :  5 /* three */ , \"autoResume\":false }"},
		{"a byte order mark stays", "\ufeff{\"maxRetries\": 3}", "maxRetries", "5", "\ufeff{\"maxRetries\": 5}"},
		{"no such value", "{}", "autoResume", "maybe", ""},
		{"no such key", "{}", "nonsense", "true", ""},
		{"a file that is no object", "[1]", "autoResume", "true", ""},
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		if c.before != "" {
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e, err := PlanEdit(path, c.key, c.text)
		if got := string(e.After); c.want == "" != (err != nil) || err == nil && got != c.want {
			t.Errorf("%s: PlanEdit(%s) = %q, %v, want %q", c.name, c.key, got, err, c.want)
		}
		if err != nil {
			continue
		}
		if err := os.WriteFile(path, e.After, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path, noEnv, nil)
		if err != nil || got.Origin(c.key) != File {
			t.Errorf("%s: the origin of %s is %s, %v, want %s", c.name, c.key, got.Origin(c.key), err, File)
		}
	}
}
