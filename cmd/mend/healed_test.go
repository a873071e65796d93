package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mend/cmd/mend/internal/agents"
)

// TestHealedPage: docs/faults.md has the rules that a newer version of the agent handles by itself.
func TestHealedPage(t *testing.T) {
	sentence := regexp.MustCompile(`^(OpenCode|Claude Code|Codex) \d+\.\d+\.\d+ [a-z].*\.$`)
	var want strings.Builder
	want.WriteString("| rule | class | what the newer version does |\n|---|---|---|\n")
	for _, ag := range agents.All {
		for _, e := range ag.Guide().Rules() {
			switch {
			case e.Healed == "" || ag.Name() == "kilo":
			case !sentence.MatchString(e.Healed) || !strings.HasPrefix(e.Healed, ag.Title()+" "):
				t.Errorf("%s: %s: %q does not begin with the agent and its version", ag.Name(), e.Code, e.Healed)
			default:
				fmt.Fprintf(&want, "| `%s` | `%s` | %s |\n", e.Code, e.Class, e.Healed)
			}
		}
	}
	compareList(t, "healed", "TestHealedPage", want.String())
}
