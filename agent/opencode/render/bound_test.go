package render

import (
	"testing"

	"mend/internal/request"
)

// TestBinding: the version, the package and the model determine whether thinking that is bound to another conversation
// is left out. The code of 1.18.33 and 1.18.34 asks for that, and the code of 1.15.0 and Kilo 7.7.9 does not.
func TestBinding(t *testing.T) {
	const opus = "claude-opus-5-5"
	for _, c := range []struct {
		version string
		target  Target
		model   string
		want    request.Binding
	}{
		{"", Target{}, opus, request.Dropped},
		{"1.18.34", Target{Package: "@ai-sdk/anthropic"}, opus, request.Dropped},
		{"1.18.33", Target{Package: "@ai-sdk/google-vertex/anthropic"}, opus, request.Dropped},
		{"1.18.33", Target{Package: "@ai-sdk/amazon-bedrock", ModelID: "us.anthropic.claude-opus-5-5-v1:0"}, "own name", request.Dropped},
		{"1.15.0", Target{}, opus, request.Refused},
		{"7.7.9", Target{}, opus, request.Refused},
		{"1.18.34", Target{KeepsBound: true}, opus, request.Refused},
		{"1.18.34", Target{Package: "@ai-sdk/gateway"}, "anthropic/claude-opus-5.5", request.Refused},
		{"1.18.34", Target{}, "claude-mythos-5-1", request.Refused},
		{"1.18.34", Target{}, "claude-mythos-5-2", request.Dropped},
		{"1.15.0", Target{}, "claude-sonnet-4-5", request.Unbound},
	} {
		b := &builder{Settings: Settings{Profile: ProfileFor(c.version), Version: c.version, Model: request.Model{ProviderID: "p", ModelID: c.model}}}
		b.target = c.target
		if got := b.binding(); got != c.want {
			t.Errorf("%s, %+v, %s: %d, want %d", c.version, c.target, c.model, got, c.want)
		}
	}
}
