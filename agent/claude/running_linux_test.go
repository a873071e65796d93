package claude_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"mend/internal/test/storetest"
	"mend/repair"
)

// A process that is called claude and does not say which session it uses, as each in its first moment,
// may use each session of its directory; those of other directories and of other stores not.
func TestOlderProcess(t *testing.T) {
	programs := t.TempDir()
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile(cat)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "node"} {
		if err := os.WriteFile(filepath.Join(programs, name), text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := newTestStore(t, "empty prompt")
	home := filepath.Dir(s.root)
	folder := regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(filepath.Join(home, "project"), "-")
	if err := os.Rename(filepath.Dir(s.file), filepath.Join(s.root, "projects", folder)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, program, arg, dir, home string
		busy                          bool
	}{
		{"of the directory", "claude", "claude", "project", home, true},
		{"of another directory", "claude", "claude", "other", home, false},
		{"of another store", "claude", "claude", "project", t.TempDir(), false},
		// As a script is in its first moment: its command line is empty.
		{"that is being started", "node", "", "project", home, true},
		{"another script", "node", "node", "project", home, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(home, test.dir)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			p := exec.CommandContext(t.Context(), filepath.Join(programs, test.program))
			p.Args = []string{test.arg}
			p.Dir, p.Env = dir, []string{"HOME=" + test.home}
			defer storetest.StartCat(t, p)()
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
