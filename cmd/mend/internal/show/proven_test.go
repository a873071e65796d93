package show

import (
	"testing"

	"mend/agent/claude/transcript"
	"mend/agent/codex/rollout"
	"mend/agent/opencode/render"
	"mend/change"
	claudetest "mend/internal/test/claude"
	codextest "mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/repair"
)

// The text says that a repair works with the versions that tests have run. For any other version, such as a newer one,
// it says that this is predicted.
func TestProvenText(t *testing.T) {
	tested := repair.Proof{Setting: repair.Setting{Version: "2.1.332"}}
	refused := repair.Proof{Setting: repair.Setting{Version: "2.1.332"}, Rules: []string{"R4"}}
	for _, c := range []struct {
		used  string
		proof repair.Proof
		want  string
	}{
		{"2.1.332", tested, "works with Claude Code 2.1.332"},
		{"", tested, "works with Claude Code 2.1.332"},
		{"2.1.237", tested, "works with Claude Code 2.1.332 (predicted for 2.1.237)"},
		{"2.9.9", tested, "works with Claude Code 2.1.332 (predicted for 2.9.9)"},
		{"2.9.9", refused, "would break with 2.1.332 and thinking off (R4)"},
	} {
		p := Proposal{Result: repair.Result{Plan: change.Plan{AgentVersion: c.used}, Proof: []repair.Proof{c.proof}}}
		if got := ProvenText("Claude Code", []Proposal{p, p}); got != c.want {
			t.Errorf("with %q in use: %q, want %q", c.used, got, c.want)
		}
	}
}

// The versions in the proof are those that the tests of the real programs run.
func TestTestedVersions(t *testing.T) {
	for _, v := range append(damage.Versions[:], render.NewestVerified) {
		if !render.IsTested(v) {
			t.Errorf("OpenCode %s is run by tests, and its repairs are predicted", v)
		}
	}
	for _, v := range []string{"", "1.18.20", "1.19.0", "2.0.0"} {
		if render.IsTested(v) {
			t.Errorf("OpenCode %q is run by no test", v)
		}
	}
	if transcript.Version != claudetest.Versions[0] || rollout.Version != codextest.Version {
		t.Errorf("repairs work with Claude Code %s and Codex %s, tests run %s and %s", transcript.Version, rollout.Version, claudetest.Versions[0], codextest.Version)
	}
}
