package mend_test

import (
	"path/filepath"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/mend"
	"mend/repair"
)

// A silentAgent recognises no error.
type silentAgent struct{ toyAgent }

func (silentAgent) ParseAPIError([]byte) repair.APIError { return repair.APIError{} }

// TestParseAPIError: the first agent that recognises an error classifies it. An error that no agent recognises has its
// text and an explanation.
func TestParseAPIError(t *testing.T) {
	toy := silentAgent{toyAgent{folder: filepath.Join(t.TempDir(), "talks")}}
	input := []byte(`{"message":"messages.3: text content blocks must be non-empty"}`)
	for _, c := range []struct {
		name   string
		agents []agent.Agent
		want   repair.Class
	}{
		{"no agent", nil, ""},
		{"one that does not recognise it", []agent.Agent{toy}, ""},
		{"the second recognises it", []agent.Agent{toy, opencode.Agent{}}, repair.EmptyContentMessage},
	} {
		e := mend.Agents(c.agents).ParseAPIError(input)
		if e.Class != c.want || e.Text != "messages.3: text content blocks must be non-empty" || e.Explanation == "" {
			t.Errorf("%s: ParseAPIError(%s) = %+v, want the class %q", c.name, input, e, c.want)
		}
	}
}
