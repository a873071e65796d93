package rollout

import (
	"testing"

	"mend/change"
)

// TestProject: journals contain the ids of projects, so the encoding must not change. An id that encodes no path is
// refused.
func TestProject(t *testing.T) {
	for p, project := range map[string]string{
		"sessions/2026/11/22/rollout-x_y.jsonl.zst": "sessions.2026.11.22.rollout-x_5fy_2ejsonl_2ezst",
		"archived_sessions/é %\xff":                 "archived_5fsessions._c3_a9_20_25_ff",
	} {
		ref := RefOf(p, "x")
		if back, ok := PathOf(ref); ref.Project != project || back != p || !ok {
			t.Errorf("%q: project %q, want %q, and back %q, %t", p, ref.Project, project, back, ok)
		}
	}
	for _, project := range []string{"", "sessions.x_", "sessions.x_4", "sessions.x_41", "sessions.x_2E", "sessions.x%2e", "sessions..x", "sessions._2e_2e.x", "sessions.x_00", "sessions.x ", "other.x", "sessions._2f"} {
		if p, ok := PathOf(change.Ref{Project: project}); ok {
			t.Errorf("%q leads to %q", project, p)
		}
	}
}
