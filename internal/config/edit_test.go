package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPlanEdit(t *testing.T) {
	yes, five, bad := "true", "5", "maybe"
	for _, c := range []struct {
		name, before, key string
		text              *string
		want              string // "" for an error
	}{
		{"no file", "", "autoResume", &yes, `{"autoResume":true}` + "\n"},
		{"comments stay", "{\n  // mine\n  \"maxRetries\": 3, // three\n}\n", "autoResume", &yes, "{\n  // mine\n  \"maxRetries\": 3, // three\n\"autoResume\":true\n}\n"},
		{"replaced in its place", "{ \"maxRetries\" :  3 /* three */ , \"autoResume\":false }", "maxRetries", &five, "{ \"maxRetries\" :  5 /* three */ , \"autoResume\":false }"},
		{"removed", "{\"maxRetries\": 3, \"autoResume\": false}", "maxRetries", nil, "{ \"autoResume\": false}"},
		{"not there", "{\"autoResume\": false}\n", "maxRetries", nil, "{\"autoResume\": false}\n"},
		{"no such value", "{}", "autoResume", &bad, ""},
		{"no such key", "{}", "nonsense", &yes, ""},
		{"a file that is no object", "[1]", "autoResume", &yes, ""},
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
		got, err := Load(path, func(string) (string, bool) { return "", false }, nil)
		if want := map[bool]Origin{true: File, false: Default}[c.text != nil]; err != nil || got.Origin(c.key) != want {
			t.Errorf("%s: the origin of %s is %s, %v, want %s", c.name, c.key, got.Origin(c.key), err, want)
		}
	}
}
