package claude_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/claude"
	fixture "mend/internal/test/claude"
)

// TestExpiring: a project's settings take precedence over the user's where Claude Code is started there, and then apply
// to all transcripts. The shortest time of all projects counts. Settings that Claude Code cannot read delete nothing.
func TestExpiring(t *testing.T) {
	const none, five, fifty, invalid = "", `{"cleanupPeriodDays": 5}`, `{"cleanupPeriodDays": 50}`, `{"cleanupPeriodDays": 0}`
	for _, c := range []struct {
		user, project, local string
		days, sessions       int // the transcript is six days old
	}{
		{none, none, none, 30, 0},
		{five, none, none, 5, 1},
		{none, five, none, 5, 1},
		{none, none, five, 5, 1},
		{fifty, five, none, 5, 1},
		{fifty, five, fifty, 50, 0},
		{none, fifty, none, 30, 0},
		{five, fifty, none, 5, 1},
		{five, invalid, none, 5, 1},
		{fifty, invalid, five, 50, 0},
		{invalid, none, none, 0, 0},
	} {
		home := t.TempDir()
		project := filepath.Join(home, "project")
		data := bytes.ReplaceAll(fixture.Baseline, []byte("/home/user/project"), []byte(project))
		transcript := filepath.Join(home, ".claude", "projects", "-home-user-project", fixture.Session+".jsonl")
		for path, text := range map[string]string{
			transcript: string(data), filepath.Join(home, ".claude", "settings.json"): c.user,
			filepath.Join(project, ".claude", "settings.json"): c.project, filepath.Join(project, ".claude", "settings.local.json"): c.local,
		} {
			if text == none {
				continue
			}
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, os.WriteFile(path, []byte(text), 0o600))
		}
		sixDaysAgo := time.Now().AddDate(0, 0, -6)
		must(t, os.Chtimes(transcript, sixDaysAgo, sixDaysAgo))
		st, err := claude.Agent{}.Open(agent.Located{Path: filepath.Join(home, ".claude")}, nil)
		must(t, err)
		if x, err := st.Expiring(t.Context(), time.Now()); err != nil || x.Days != c.days || x.Sessions != c.sessions {
			t.Errorf("user %s, project %s, local %s: %+v, %v; want %d days, %d sessions", c.user, c.project, c.local, x, err, c.days, c.sessions)
		}
	}
}
