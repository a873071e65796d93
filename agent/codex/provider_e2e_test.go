//go:build e2e

package codex_test

import (
	"bytes"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/codex"
	"mend/repair"
	"mend/testdata"
)

// TestRealProvider changes the session's model provider to one that the settings do not name. mend predicts the result
// of a prompt, a repair sets the provider of the settings, and an undo reverts that.
func TestRealProvider(t *testing.T) {
	h := newHome(t)
	restore := h.Save()
	other := bytes.ReplaceAll(h.Config(), []byte("fake"), []byte("other")) // the same endpoint
	both := append(bytes.Clone(other), h.Config()[bytes.Index(h.Config(), []byte("[model_providers.fake]")):bytes.Index(h.Config(), []byte("[projects."))]...)
	builtin := func(name, value string) func(*fixture.Rollout) {
		return func(r *fixture.Rollout) {
			for i := range r.Lines {
				for _, member := range []string{"model_provider", "model_provider_id"} {
					r.Lines[i] = bytes.ReplaceAll(r.Lines[i], []byte(`"`+member+`":"`+name+`"`), []byte(`"`+member+`":"`+value+`"`))
				}
			}
			h.SQL("UPDATE threads SET model_provider = '" + value + "'")
		}
	}
	for _, c := range []struct {
		name   string
		config []byte
		edit   func(*fixture.Rollout)
		rule   string
		error  string
		index  bool
	}{
		{"in use", h.Config(), nil, "", "", true},
		{"not configured", other, nil, "provider-gone", "which is no longer configured", true},
		{"not configured, no databases", other, nil, "provider-gone", "which is no longer configured", false},
		{"another one", both, nil, "provider-other", "Cannot change this thread's model provider from `fake` to `other`", true},
		{"another one, no databases", both, nil, "provider-other", "Cannot change this thread's model provider from `fake` to `other`", false},
		{"a built-in one", h.Config(), builtin("fake", "openai"), "provider-other", "Cannot change this thread's model provider from `openai` to `fake`", true},
		{"legacy, not configured", other, fixture.ByName("legacy").Do, "provider-gone", "which is no longer configured", false},
		{"legacy, another one", both, fixture.ByName("legacy").Do, "provider-other", "Cannot change this thread's model provider from `fake` to `other`", false},
		{"another one in the index", both, func(*fixture.Rollout) { h.SQL("UPDATE threads SET model_provider = 'other'") }, "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			restore()
			if c.edit != nil {
				h.Damage(fixture.Damage{Do: c.edit})
			}
			h.Write("config.toml", c.config)
			if !c.index {
				h.Damage(fixture.ByName("no databases"))
			}
			before, damaged := files(t, h), h.Save()
			s := open(t, h, t.TempDir())
			k, err := s.Case(t.Context(), session(t, s))
			must(t, err)
			found := ""
			for _, f := range k.Findings().All() {
				found += f.Code
			}
			seen := h.Prompt(testdata.CodexSession, "one more")
			if found != c.rule || (seen.Fate() == "alive") != (c.rule == "") || !strings.Contains(seen.Output, c.error) {
				t.Fatalf("found %q, want %q; the session is %s: %s", found, c.rule, seen.Fate(), seen.Output)
			}
			if c.rule == "" {
				return
			}
			damaged()
			text := "which is no longer configured"
			if c.rule == "provider-other" { // Codex continues the session on the screen
				text = "Worked for"
			}
			shown, kill := h.Screen(func(shown string) bool { return strings.Contains(shown, text) }, "resume", "--no-daemon", testdata.CodexSession)
			kill()
			if !strings.Contains(shown, text) {
				t.Errorf("the screen lacks %q:\n%s", text, shown)
			}
			damaged()
			e := s.ParseAPIError([]byte(seen.Output))
			if e.Class != repair.OtherProvider {
				t.Errorf("the error is of the class %q", e.Class)
			}
			r, err := s.ProposeRepair(t.Context(), session(t, s), repair.Request{Error: &e})
			must(t, err)
			id := apply(t, s, r.Plan)
			fixed := h.Save()
			if seen := h.Prompt(testdata.CodexSession, "one more"); seen.Fate() != "alive" {
				t.Errorf("after the repair the session is %s: %s", seen.Fate(), seen.Output)
			}
			fixed()
			if c.index { // Codex rebuilds the index from the rollout
				h.Damage(fixture.ByName("no databases"))
				if seen := h.Prompt(testdata.CodexSession, "one more"); seen.Fate() != "alive" {
					t.Errorf("after the repair, without an index, the session is %s: %s", seen.Fate(), seen.Output)
				}
				fixed()
			}
			undo(t, s, id)
			if diff := gocmp.Diff(before, files(t, h)); diff != "" {
				t.Errorf("after the undo the store differs: %s", diff)
			}
			if seen := h.Prompt(testdata.CodexSession, "one more"); !strings.Contains(seen.Output, c.error) {
				t.Errorf("after the undo the session is %s: %s", seen.Fate(), seen.Output)
			}
		})
	}
}
