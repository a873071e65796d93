package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"mend/cmd/mend/internal/agents"
)

// The table of docs/faults.md lists the rules that a newer version of the agent handles by itself.
func TestHealedPage(t *testing.T) {
	const page, begin, end = "../../docs/faults.md", "<!-- healed: written by TestHealedPage -update -->\n", "<!-- end of healed -->"
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
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	got, after, ok := strings.Cut(rest, end)
	if *update && ok {
		err = os.WriteFile(page, []byte(before+begin+want.String()+end+after), 0o644)
	}
	if err != nil || !ok || got != want.String() && !*update {
		t.Errorf("docs/faults.md has\n%swant\n%s%v", got, want.String(), err)
	}
}
