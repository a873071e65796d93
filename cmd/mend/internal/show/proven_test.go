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

// TestProvenText: the text names the tested version that a repair works with. For any other version it says that this
// is predicted.
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

// TestTestedVersions: the tested versions are the versions of the real programs that tests run.
func TestTestedVersions(t *testing.T) {
	for _, v := range append(damage.Versions[:], render.NewestVerified) {
		if !render.IsTested(v) {
			t.Errorf("IsTested(%s) = false, and tests run it", v)
		}
	}
	for _, v := range []string{"", "1.18.20", "1.19.0", "2.0.0"} {
		if render.IsTested(v) {
			t.Errorf("IsTested(%q) = true, and no test runs it", v)
		}
	}
	if transcript.Version != claudetest.Versions[0] || rollout.Version != codextest.Version {
		t.Errorf("proofs name Claude Code %s and Codex %s, tests run %s and %s", transcript.Version, rollout.Version, claudetest.Versions[0], codextest.Version)
	}
}
