package real

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSessions: the table and the archive have the same sessions.
func TestSessions(t *testing.T) {
	home := t.TempDir()
	Unpack(t, home)
	files := 0
	for _, pattern := range []string{".claude/projects/*/*.jsonl", ".codex/sessions/*/*/*/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files += len(found)
	}
	sessions, broken := Sessions(), 0
	for _, s := range sessions {
		pattern := filepath.Join(home, ".claude/projects/*", s.ID+".jsonl")
		if s.Agent == "codex" {
			pattern = filepath.Join(home, ".codex/sessions/*/*/*/rollout-*"+s.ID+".jsonl")
		}
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) != 1 {
			t.Errorf("session %s has the files %v, want one (%v)", s.ID, found, err)
			continue
		}
		if info, err := os.Stat(found[0]); err != nil || info.Size() == 0 {
			t.Errorf("session %s: %v, %v", s.ID, info, err)
		}
		if slices.ContainsFunc(s.Truth, func(one string) bool { return strings.HasPrefix(one, "broken ") }) {
			broken++
		}
	}
	if len(sessions) != files || len(sessions) != 139 || broken != 4 {
		t.Errorf("%d sessions, %d of them broken, in %d files, want 139, 4, 139", len(sessions), broken, files)
	}
}
