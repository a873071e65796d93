package render

import (
	"slices"
	"strings"

	"mend/internal/request"
)

// dropsSince is the first version that, as observed, asks the provider to leave out bound thinking that is no longer
// valid ("drop_block").
var dropsSince = []int{1, 18, 33}

// binding returns what happens to thinking after a change of the conversation before it. OpenCode asks the provider to
// leave that thinking out if it uses Claude through certain packages, except for one model.
func (b *builder) binding() request.Binding {
	model := b.target.modelID(b.Model)
	if !request.BindsThinking(model) {
		return request.Unbound
	}
	version, known := parseVersion(b.Version)
	native := slices.Contains([]string{
		"", "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic",
		"@ai-sdk/amazon-bedrock",
	}, b.target.Package)
	if !native || b.target.KeepsBound || b.Profile.IsKilo() || known && slices.Compare(version, dropsSince) < 0 ||
		strings.Contains(model, "mythos-5-1") {
		return request.Refused
	}
	return request.Dropped
}
