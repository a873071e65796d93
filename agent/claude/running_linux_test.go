package claude_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"mend/repair"
)

// A process that is called claude and does not say which session it uses, as all before 2.1,
// may use each session of its directory at first; those of other directories and of other
// stores not.
func TestOlderProcess(t *testing.T) {
	program := filepath.Join(t.TempDir(), "claude")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile(sleep)
	if err == nil {
		err = os.WriteFile(program, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newTestStore(t, "empty prompt")
	home := filepath.Dir(s.root)
	folder := regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(filepath.Join(home, "project"), "-")
	if err := os.Rename(filepath.Dir(s.file), filepath.Join(s.root, "projects", folder)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, dir, home string
		busy            bool
	}{
		{"of the directory", "project", home, true},
		{"of another directory", "other", home, false},
		{"of another store", "project", t.TempDir(), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(home, test.dir)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			p := exec.CommandContext(t.Context(), program, "100")
			p.Dir, p.Env = dir, []string{"HOME=" + test.home}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer p.Wait()         //nolint:errcheck // it is killed
			defer p.Process.Kill() //nolint:errcheck // it may have ended
			c := s.client()
			heads, err := c.Sessions(t.Context())
			if err != nil || len(heads) != 1 {
				t.Fatalf("Sessions = %v, %v", heads, err)
			}
			_, err = c.ProposeRepair(t.Context(), heads[0], repair.Request{})
			if errors.Is(err, repair.ErrBusy) != test.busy {
				t.Errorf("ProposeRepair = %v, want busy %t", err, test.busy)
			}
		})
	}
}
