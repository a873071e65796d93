package opencode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/request"
)

// TestAbilities: the user's settings and the agent's list of models determine whether a model reads images, and whether
// that is known.
func TestAbilities(t *testing.T) {
	const (
		withModalities = `{"provider":{"anthropic":{"models":{"claude-own":{"modalities":{"input":["text"],"output":["text"]}},"claude-sees":{"modalities":{"input":["text","image"]}}}}}}`
		bare           = `{"provider":{"anthropic":{"models":{"claude-own":{"name":"x"},"alias":{"id":"claude-listed"}}}}}`
		list           = `{"anthropic":{"models":{"claude-listed":{"modalities":{"input":["text","image"]}},"claude-text":{"modalities":{"input":["text"]}},"claude-silent":{}}}}`
	)
	for _, c := range []struct {
		name, settings, models string
		model                  string
		reads, known           bool
	}{
		{"Claude, without settings and list", "", "", "claude-4", true, true},
		{"another model, without settings and list", "", "", "other", false, false},
		{"settings without images", withModalities, "", "claude-own", false, true},
		{"settings with images", withModalities, "", "claude-sees", true, true},
		{"settings name it, without a list", bare, "", "claude-own", false, false},
		{"settings name it, and the list does not", bare, list, "claude-own", false, true},
		{"settings give it another name", bare, list, "alias", true, true},
		{"listed", "", list, "claude-listed", true, true},
		{"listed, without images", "", list, "claude-text", false, true},
		{"listed, without any kind", "", list, "claude-silent", false, true},
		{"settings with a comment", "// mine\n{}", list, "claude-4", true, true},
		{"settings after a byte order mark", "\ufeff" + withModalities, "", "claude-own", false, true},
		{"settings that are not JSON", "{", list, "claude-4", false, false},
		{"a damaged list", "", list[:40], "claude-4", false, false},
		{"deeply nested settings", `{"provider":` + strings.Repeat("[", 20_000), "", "claude-4", false, false},
		{"settings of another type", `{"provider":[]}`, "", "claude-4", false, false},
	} {
		dir := t.TempDir()
		a := &models{global: []string{filepath.Join(dir, "opencode.json")}, list: filepath.Join(dir, "models.json")}
		for path, text := range map[string]string{a.global[0]: c.settings, a.list: c.models} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		can, known := a.directoryModels("").canRead(request.Model{ProviderID: "anthropic", ModelID: c.model}, "image")
		if can != c.reads || known != c.known {
			t.Errorf("%s: reads %v, known %v; want %v, %v", c.name, can, known, c.reads, c.known)
		}
	}
}

// TestDeepSettings: settings with the deepest possible nesting are an error, and do not exhaust the stack.
func TestDeepSettings(t *testing.T) {
	var to any
	for _, size := range []int{largestComments, largestSettings} {
		if decodeSettings([]byte(strings.Repeat("[", size)), &to) == nil {
			t.Errorf("%d open lists are no error", size)
		}
	}
	closed := "//\n" + strings.Repeat("[", largestComments/2-10) + strings.Repeat("]", largestComments/2-10)
	if decodeSettings([]byte(closed), &to) == nil {
		t.Error("nested lists that are closed are no error")
	}
}

// TestKeepsBound: thinking that is bound to another conversation stays in the request if the options of the model have
// blockBinding false, or prefixMismatchBehavior error.
func TestKeepsBound(t *testing.T) {
	for options, want := range map[string]bool{
		`{}`: false, `{"thinking": {"type": "adaptive"}}`: false, `{"thinking": {"blockBinding": {"prefixMismatchBehavior": "drop_block"}}}`: false,
		`{"thinking": {"blockBinding": false}}`: true, `{"reasoningConfig": {"blockBinding": false}}`: true,
		`{"thinking": {"blockBinding": {"prefixMismatchBehavior": "error"}}}`: true,
	} {
		var o knownOptions
		if err := json.Unmarshal([]byte(options), &o); err != nil || o.keepsBound() != want {
			t.Errorf("%s: %v, %v", options, o.keepsBound(), err)
		}
	}
}

// TestThinks: only options with the type enabled or adaptive turn thinking on.
func TestThinks(t *testing.T) {
	for options, want := range map[string]bool{
		`{}`: false, `{"thinking": {"type": "enabled", "budgetTokens": 1024}}`: true, `{"thinking": {"type": "adaptive"}}`: true,
		`{"thinking": {"type": "disabled"}}`: false, `{"thinking": {"type": 1}}`: false, `{"reasoningConfig": {"type": "enabled"}}`: true,
	} {
		var o knownOptions
		if err := json.Unmarshal([]byte(options), &o); err != nil || o.thinks() != want {
			t.Errorf("%s: %v, %v", options, o.thinks(), err)
		}
	}
}
