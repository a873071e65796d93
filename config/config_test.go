package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func noEnv(string) (string, bool) { return "", false }

// writeFile writes a settings file and returns its path.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The defaults match docs/opencode.md.
func TestDefaults(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), "none"), noEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"enabled": true, "autoResume": false, "maxRetries": 3, "preflight": "repair", "preflightMs": 1500, "showNotifications": true, "debug": false,
		"placeholderText": "[user interrupted]", "cancelledToolResultText": "Operation cancelled by user (ESC pressed)",
		"recoverToolResultMissing": true, "recoverThinkingBlockOrder": true, "recoverThinkingDisabledViolation": true,
		"recoverEmptyContentMessage": true, "recoverUnavailableTool": true, "recoverInterruptedTools": true,
		"recoverInvalidToolCall": true, "recoverInvalidFile": true, "recoverFirstPromptMissing": true,
		"recoverThinkingSignature": true, "recoverEncryptedReasoning": true,
		"explainThinkingBlockModified": true, "explainAssistantPrefillUnsupported": true,
		"trimOverflow": false,
		"timeoutMs":    5000, "lookBackHours": 24, "retentionDays": 0,
	}
	got := map[string]any{}
	for _, s := range c.Settings() {
		got[s.Key] = s.Value
		if s.Origin != Default || s.Description == "" || s.Default != s.Value || s.Want == "" {
			t.Errorf("%s: origin %s, about %q", s.Key, s.Origin, s.Description)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// Each source overrides the one before it, and Origin names it.
func TestPrecedence(t *testing.T) {
	path := writeFile(t, `// mine
	{
		"autoResume": true, /* at my own risk */
		"maxRetries": 5,
		"placeholderText": "[lost]",
		"debug": true,
	}`)
	env := map[string]string{"MEND_MAX_RETRIES": "7", "MEND_DEBUG": "false", "MEND_ELSE": "x"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	c, err := Load(path, lookup, []string{"debug=true", "cancelledToolResultText=a=b"})
	if err != nil {
		t.Fatal(err)
	}
	type setting struct {
		Value  any
		Origin Origin
	}
	got := map[string]setting{}
	for _, s := range c.Settings() {
		if s.Origin != Default {
			got[s.Key] = setting{s.Value, s.Origin}
		}
	}
	want := map[string]setting{
		"autoResume": {true, File}, "maxRetries": {7, Environment}, "placeholderText": {"[lost]", File},
		"debug": {true, Flag}, "cancelledToolResultText": {"a=b", Flag},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// A comment may end the file without a newline.
func TestLastComment(t *testing.T) {
	c, err := Load(writeFile(t, `{"autoResume": true} // mine`), noEnv, nil)
	if err != nil || !c.AutoResume {
		t.Errorf("Load = %v, %v", c.AutoResume, err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ file, env, set, want string }{
		{file: `{"autoresum": true}`, want: `unknown key "autoresum"; the nearest is "autoResume"`},
		{file: `{"AUTORESUME": true}`, want: `the nearest is "autoResume"`},
		{file: `{"maxAttempts": 1}`, want: `the nearest is "maxRetries"`},
		{file: `{"x": {}}`, want: `unknown key "x"`},
		{file: `{"` + strings.Repeat("x", maxName+1) + `": {}}`, want: "unknown key of 101 bytes"},
		{file: `{"autoResume": "yes"}`, want: `key "autoResume": want true or false, got "yes"`},
		{file: `{"autoResume": null}`, want: `got null`},
		{file: `{"maxRetries": 0}`, want: `want a whole number from 1 to 100, got 0`},
		{file: `{"maxRetries": 1.5}`, want: `got 1.5`},
		{file: `{"maxRetries": 1e99}`, want: `got 1e99`},
		{file: `{"maxRetries": -1}`, want: `got -1`},
		{file: `{"placeholderText": " "}`, want: `want a text that is not blank, got " "`},
		{file: `{"debug": true, "debug": false}`, want: `duplicate`},
		{file: `[]`, want: `want one object`},
		{file: `{"debug": ` + strings.Repeat("[", maxDepth), want: "nested deeper than 10000 levels"},
		{file: "//\"\n" + strings.Repeat(`{"a": /*"*/`, maxDepth+1), want: "nested deeper than 10000 levels"},
		{file: `{"x": "` + strings.Repeat("[", maxDepth+1) + `"} //` + strings.Repeat("[", maxDepth+1), want: `unknown key "x"`},
		{file: `{"debug": true`, want: `config.json`},
		{file: ``, want: `config.json`},
		{file: strings.Repeat(" ", maxFile+1), want: "longer than"},
		{env: "perhaps", want: `reading $MEND_DEBUG: key "debug": want true or false, got perhaps`},
		{env: " ", want: `got  `},
		{set: "debug", want: `setting "debug": want KEY=VALUE`},
		{set: "debgu=true", want: `the nearest is "debug"`},
		{set: "timeoutMs=1", want: `from 100 to 600000, got 1`},
		{set: "placeholderText=", want: `not blank`},
	} {
		path := "none"
		if c.env == "" && c.set == "" {
			path = writeFile(t, c.file)
		}
		lookup := func(name string) (string, bool) { return c.env, c.env != "" && name == "MEND_DEBUG" }
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		if _, err := Load(path, lookup, set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Load(%q, %q, %q) = %v, want %s", c.file[:min(40, len(c.file))], c.env, c.set, err, c.want)
		}
	}
	if _, err := Load(t.TempDir(), noEnv, nil); err == nil {
		t.Error("Load of a folder gave no error")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{}`, `{"debug":true,}`, `{"maxRetries":1} // x`, `{"a":[{"b":null}]}`, "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := defaults()
		if c.parse(data) == nil && (c.MaxRetries < 1 || c.TimeoutMs < 100) {
			t.Errorf("parse(%q) gave %+v", data, c)
		}
	})
}
