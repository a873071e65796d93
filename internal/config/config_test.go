package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
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

// TestDefaults: without a source there are at most 25 settings, each with its default and described in full. TestDocs
// compares the defaults.
func TestDefaults(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), "none"), noEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Settings()); n > 25 {
		t.Errorf("%d settings, want at most 25", n)
	}
	for _, s := range c.Settings() {
		if s.Origin != Default || s.Description == "" || s.Reason == "" || !reflect.DeepEqual(s.Default, s.Value) || s.Want == "" {
			t.Errorf("setting %+v, want all fields, and the default as the value", s)
		}
	}
}

// TestPrecedence: each source overrides the one before it, and Origin names it.
func TestPrecedence(t *testing.T) {
	path := writeFile(t, `// mine
	{
		"autoResume": true, /* at my own risk */
		"maxRetries": 5,
		"placeholderText": "[lost]",
		"trimOverflow": true,
	}`)
	env := map[string]string{"MEND_MAX_RETRIES": "7", "MEND_TRIM_OVERFLOW": "false", "MEND_ELSE": "x"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	c, err := Load(path, lookup, []string{"trimOverflow=true", "placeholderText=a=b"})
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
		"autoResume": {true, File}, "maxRetries": {7, Environment},
		"trimOverflow": {true, Flag}, "placeholderText": {"a=b", Flag},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// TestLastComment: a comment may end the file without a newline.
func TestLastComment(t *testing.T) {
	c, err := Load(writeFile(t, `{"autoResume": true} // mine`), noEnv, nil)
	if err != nil || !c.AutoResume {
		t.Errorf("Load = %v, %v", c.AutoResume, err)
	}
}

// TestErrors: an error names the setting, the allowed values and the nearest key.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ file, env, set, want string }{
		{file: `{"autoresum": true}`, want: `unknown key "autoresum"; the nearest is "autoResume"`},
		{file: `{"AUTORESUME": true}`, want: `the nearest is "autoResume"`},
		{file: `{"maxAttempts": 1}`, want: `the nearest is "maxRetries"`},
		{file: `{"x": 1}`, want: `unknown key "x"`},
		{file: `{"` + strings.Repeat("x", maxName+1) + `": 1}`, want: "unknown key of 101 bytes"},
		{file: `{"autoResume": "yes"}`, want: `key "autoResume": want true or false, got "yes"`},
		{file: `{"autoResume": null}`, want: `got null`},
		{file: `{"maxRetries": 0}`, want: `want a whole number from 1 to 100, got 0`},
		{file: `{"maxRetries": 1.5}`, want: `got 1.5`},
		{file: `{"maxRetries": 1e99}`, want: `got 1e99`},
		{file: `{"maxRetries": -1}`, want: `got -1`},
		{file: `{"placeholderText": " "}`, want: `want a text that is not blank, got " "`},
		{file: `{"keep": true, "keep": false}`, want: `duplicate`},
		{file: `[]`, want: `want one object`},
		{file: strings.Repeat("[", maxFile), want: "config.json"},
		{file: "//\"\n" + strings.Repeat(`{"a": /*"*/`, maxFile/12), want: "config.json"},
		{file: `{"keep": true`, want: `config.json`},
		{file: strings.Repeat(" ", maxFile+1), want: "longer than"},
		{file: `{"experimental": {"auto_resume": 1}}`, want: `key "experimental.auto_resume": key "autoResume": want true or false, got 1`},
		{file: `{"disabled_hooks": "session-recovery"}`, want: "want a list of names"},
		{file: `{"disabled_hooks": [1]}`, want: "want a list of names"},
		{file: `{"skip": ["nonsense"]}`, want: `key "skip": want a list of tool_result_missing, `},
		{set: "watchSubagents=some", want: `want off or notify or abort or retry`},
		{file: `{"hooks": "some"}`, want: `want recovery or all, got "some"`},
		{file: `{"fallbackModels": "a/b"}`, want: `key "fallbackModels": want a list of models`},
		{file: `{"fallbackModels": ["gpt"]}`, want: `got "gpt"`},
		{file: `{"fallbackModels": null}`, want: `got null`},
		{file: `{"agentFallbackModels": ["a/b"]}`, want: `want an object with a list of models for each agent`},
		{file: `{"agentFallbackModels": {"build": ["/b"]}}`, want: `got "/b"`},
		{file: `{"fallbackErrors": [99]}`, want: `want a list of whole numbers from 100 to 599, got 99`},
		{set: "fallbackErrors=many", want: `key "fallbackErrors": want a list of whole numbers`},
		{env: "perhaps", want: `reading $MEND_ENABLED: key "enabled": want true or false, got perhaps`},
		{env: " ", want: `got  `},
		{set: "keep", want: `setting "keep": want KEY=VALUE`},
		{set: "enabeld=true", want: `the nearest is "enabled"`},
		{set: "preflightMs=1", want: `from 100 to 60000, got 1`},
		{set: "placeholderText=", want: `not blank`},
	} {
		path := "none"
		if c.env == "" && c.set == "" {
			path = writeFile(t, c.file)
		}
		lookup := func(name string) (string, bool) { return c.env, c.env != "" && name == "MEND_ENABLED" }
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

// allBut returns the settings that differ from the defaults when all hooks but one are on.
func allBut(setting string) map[string]any {
	all := map[string]any{"hooks": "all"}
	for _, name := range Switches() {
		if name != setting {
			all[name] = true
		}
		if name == "watchSubagents" && name != setting {
			all[name] = "notify"
		}
	}
	return all
}

// TestAliases: a key of oh-my-opencode sets the corresponding setting, with a note.
func TestAliases(t *testing.T) {
	for _, c := range []struct {
		name, file string
		set        []string
		want       map[string]any
		note       string
	}{
		{name: "nested", file: `{"experimental": {"auto_resume": true}}`, want: map[string]any{"autoResume": true}, note: "experimental.auto_resume of oh-my-opencode sets autoResume"},
		{name: "dotted", file: `{"experimental.auto_resume": true}`, want: map[string]any{"autoResume": true}, note: "sets autoResume"},
		{name: "placeholder", file: `{"emptyMessagePlaceholder": "[gone]"}`, want: map[string]any{"placeholderText": "[gone]"}, note: "sets placeholderText"},
		{name: "own name first", file: `{"placeholderText": "[own]", "emptyMessagePlaceholder": "[gone]"}`, want: map[string]any{"placeholderText": "[own]"}, note: "sets placeholderText"},
		{name: "truncation", file: `{"experimental": {"aggressive_truncation": true}}`, want: map[string]any{"trimOverflow": true}, note: "sets trimOverflow"},
		{name: "no counterpart", file: `{"experimental": {"preemptive_compaction": true}}`, want: map[string]any{}, note: "experimental.preemptive_compaction has no effect"},
		{name: "an unknown key of experimental", file: `{"experimental": {"auto_resum": true}}`, want: map[string]any{}, note: "experimental.auto_resum has no effect"},
		{name: "babysitting", file: `{"babysitting": {"timeout_ms": 1}, "autoResume": true}`, want: map[string]any{"autoResume": true}, note: "babysitting has no effect"},
		{name: "categories", file: `{"categories": {"quick": {"model": "a/b"}}}`, want: map[string]any{}, note: "categories has no effect"},
		{name: "no object", file: `{"experimental": true, "$schema": "x"}`, want: map[string]any{}, note: "experimental has no effect"},
		{name: "other models", file: `{"fallback_models": ["a/b"], "runtime_fallback": {"enabled": false}, "agents": {"build": {"fallback_models": "a/b"}}}`, want: map[string]any{}, note: "fallback_models has no effect in mend\nruntime_fallback has no effect"},
		{name: "the validator", file: `{"disabled_hooks": ["thinking-block-validator"]}`, want: map[string]any{"skip": []string{"preflight"}}, note: `with "thinking-block-validator" adds preflight to skip`},
		{name: "twice", file: `{"disabled_hooks": ["session-recovery", "session-recovery"]}`, want: map[string]any{"enabled": false}, note: "enabled=false"},
		{name: "disabled", file: `{"disabled_hooks": ["session-recovery"]}`, want: map[string]any{"enabled": false}, note: `with "session-recovery" sets enabled=false`},
		{name: "another hook", file: `{"disabled_hooks": ["comment-checker"]}`, want: map[string]any{}, note: `no hook "comment-checker"`},
		{name: "all but one", file: `{"hooks": "all", "disabled_hooks": ["anthropic-context-window-limit-recovery"]}`, want: allBut("trimOverflow"), note: "trimOverflow=false"},
		{name: "all", file: `{"hooks": "all"}`, want: allBut("")},
		{name: "all but one by its own name", file: `{"hooks": "all", "trimOverflow": false}`, want: allBut("trimOverflow")},
		{name: "models", file: `{"fallbackModels": ["a/b", "c/d/e(high)"]}`, want: map[string]any{"fallbackModels": []string{"a/b", "c/d/e(high)"}}},
		{name: "models by flag", set: []string{"fallbackModels=a/b,c/d", `agentFallbackModels={"plan": ["e/f"]}`, "fallbackErrors=429, 503"}, want: map[string]any{
			"fallbackModels": []string{"a/b", "c/d"}, "agentFallbackModels": map[string][]string{"plan": {"e/f"}}, "fallbackErrors": []int{429, 503},
		}},
		{name: "a later list replaces the whole list", file: `{"fallbackModels": ["a/b", "c/d"]}`, set: []string{"fallbackModels=e/f"}, want: map[string]any{"fallbackModels": []string{"e/f"}}},
		{name: "fallback disabled", file: `{"fallbackModels": ["a/b"], "disabled_hooks": ["runtime-fallback"]}`, want: map[string]any{"fallbackModels": []string{"a/b"}, "skip": []string{"model_fallback"}}, note: "adds model_fallback to skip"},
		{name: "recovery again", file: `{"hooks": "all"}`, set: []string{"hooks=recovery"}, want: map[string]any{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := "none"
			if c.file != "" {
				path = writeFile(t, c.file)
			}
			got, err := Load(path, noEnv, c.set)
			if err != nil {
				t.Fatal(err)
			}
			changed := map[string]any{}
			for _, s := range got.Settings() {
				if !reflect.DeepEqual(s.Value, s.Default) {
					changed[s.Key] = s.Value
				}
			}
			if diff := cmp.Diff(c.want, changed); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if notes := strings.Join(got.Notes(), "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

// TestProblems: unknown keys and invalid values are reported and ignored, and the other settings are used.
func TestProblems(t *testing.T) {
	path := writeFile(t, `{"unheardOf": 1, "maxRetries": "many", "preflightMs": 1, "fallbackModels": ["a/b", 7], "disabled_hooks": 5, "toastSeconds": 7, "autoResume": true, "hooks": "all"}`)
	env := func(name string) (string, bool) { return "perhaps", name == "MEND_ENABLED" }
	c, err := Load(path, env, []string{"lookBackHours=3"})
	problem, ok := errors.AsType[*ProblemError](err)
	if !ok || len(problem.Problems) != 7 {
		t.Fatalf("Load = %v, want seven problems", err)
	}
	d := Defaults()
	if !c.AutoResume || c.LookBackHours != 3 || !c.WriteGuard || c.MaxRetries != d.MaxRetries || c.PreflightMs != d.PreflightMs || len(c.FallbackModels) != 0 || !c.Enabled {
		t.Errorf("settings %+v", c)
	}
	if _, err := Load(path, noEnv, []string{"unheardOf=1"}); errors.As(err, &problem) {
		t.Errorf("--set of an unknown key: %v, want an error that is not a ProblemError", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{}`, `{"debug":true,}`, `{"maxRetries":1} // x`, `{"a":[{"b":null}]}`, `{"experimental":{"auto_resume":true},"disabled_hooks":["x"]}`, "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Defaults()
		if c.parse(data) == nil && (c.MaxRetries < 1 || c.PreflightMs < 100) {
			t.Errorf("parse(%q) gave %+v", data, c)
		}
	})
}

// TestLoadEmpty: a file without settings leaves all defaults.
func TestLoadEmpty(t *testing.T) {
	for _, text := range []string{"", "\n \n", "// nothing yet", "/* nothing */\n"} {
		c, err := Load(writeFile(t, text), noEnv, nil)
		if want := Defaults(); err != nil || c.Enabled != want.Enabled || c.Placeholder != want.Placeholder {
			t.Errorf("Load(%q) = %v, want the defaults", text, err)
		}
	}
}

// TestParseModel: a model is "PROVIDER/MODEL", with an optional variant in parentheses.
func TestParseModel(t *testing.T) {
	for name, want := range map[string][3]string{
		"anthropic/claude-opus-4-5":  {"anthropic", "claude-opus-4-5"},
		"openrouter/google/gemini-3": {"openrouter", "google/gemini-3"},
		"openai/gpt-5(high)":         {"openai", "gpt-5", "high"},
		"gpt-5":                      {},
		"/gpt-5":                     {},
		"openai/":                    {},
		"openai/(high)":              {},
	} {
		provider, model, variant, ok := ParseModel(name)
		if ok != (want[0] != "") || ok && [3]string{provider, model, variant} != want {
			t.Errorf("ParseModel(%q) = %q, %q, %q, %t", name, provider, model, variant, ok)
		}
	}
}
