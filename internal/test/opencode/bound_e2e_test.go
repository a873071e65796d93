//go:build e2e

package opencode

import (
	"strings"
	"testing"

	"mend/internal/test/endpoint"
	"mend/internal/test/storetest"
)

// TestBoundThinkingOfRealVersions: after an earlier prompt was edited, versions from 1.18.33 on ask the provider to
// drop bound thinking, and 1.2.27 is refused.
func TestBoundThinkingOfRealVersions(t *testing.T) {
	for version, drops := range map[string]bool{"1.18.34": true, "1.18.33": true, "1.2.27": false} {
		t.Run(version, func(t *testing.T) {
			if version != "1.18.34" {
				storetest.Long(t)
			}
			api := endpoint.New(nil)
			t.Cleanup(api.Close)
			made := config(api.URL, true)
			model := made["provider"].(map[string]any)["anthropic"].(map[string]any)["models"].(map[string]any)["claude-fake"].(map[string]any)
			model["id"] = "claude-opus-5-5"
			h := newHome(t, "opencode", install(t, version), api, made)
			r := h.Run("the first prompt")
			next := h.Continue(r.Session, "the second prompt")
			if r.Verdict != Alive || next.Verdict != Alive {
				t.Fatalf("before the edit: %s, %s: %s", r.Verdict, next.Verdict, next.Output)
			}
			h.SQL(`UPDATE part SET data = replace(data, 'the first prompt', 'another prompt') WHERE session_id = ?`, r.Session)
			last := h.Continue(r.Session, "the third prompt")
			call := last.Calls[len(last.Calls)-1]
			asks := call.Request.Thinking.BlockBinding.PrefixMismatchBehavior == "drop_block"
			t.Logf("%s: model %s, drop_block %v, bound to another conversation: %q, verdict %s %s", version, call.Request.Model, asks, call.Unbound, last.Verdict, call.Message)
			if asks != drops || strings.Join(call.Unbound, " ") != "messages.1.content.0 messages.3.content.0" || (last.Verdict == Alive) != drops {
				t.Errorf("drop_block %v, want %v; %q, %s", asks, drops, call.Unbound, last.Verdict)
			}
		})
	}
}
