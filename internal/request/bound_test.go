package request

import "testing"

func TestBindsThinking(t *testing.T) {
	for model, want := range map[string]bool{
		"claude-fable-5-1": true, "claude-fable-5-2": true, "claude-mythos-5-1": true, "claude-mythos-5-2": true, "claude-opus-5-5": true,
		"claude-sonnet-5-5": true, "claude-haiku-5-5": true, "claude-opus-5-5-20260901": true, "anthropic/claude-opus-5.5": true,
		"us.anthropic.claude-opus-5-5-v1:0": true, "claude-sonnet-5-5@20260901": true, "claude-opus-6-0": true,
		"claude-opus-5": false, "claude-opus-5-20260301": false, "claude-opus-4-8": false, "claude-sonnet-4-20250514": false,
		"claude-3-5-sonnet-20241022": false, "claude-3-7-sonnet-latest": false, "gpt-5.5": false, "": false,
	} {
		if got := BindsThinking(model); got != want {
			t.Errorf("BindsThinking(%q) = %v, want %v", model, got, want)
		}
	}
}
