//go:build unix

package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestRepositoryReadOnce: for any number of folders and projects of a repository git is started once for the remote and
// once for the root commits, until the settings are read again.
func TestRepositoryReadOnce(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho >>'"+log+"'\ncase \"$*\" in *rev-list*) echo root;; esac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	storetest.Put(t, dir, "repo/.git/HEAD", "ref: refs/heads/main\n")
	storetest.Put(t, dir, "repo/.git/opencode", "stored\n")
	storetest.Put(t, dir, "repo/sub/file", "")
	s := &store{program: &openCode, models: newModels(&openCode)}
	s.Refresh()
	check := func(calls int) {
		t.Helper()
		for project, want := range map[string]bool{"root": true, "stored": true, "other": false, "": false} {
			for _, folder := range []string{"repo", "repo/sub"} {
				if same := s.SameRepository(t.Context(), change.Head{Project: project}, filepath.Join(dir, folder)); same != want {
					t.Errorf("%s is of the project %q: %t, want %t", folder, project, same, want)
				}
			}
		}
		if data, err := os.ReadFile(log); err != nil || strings.Count(string(data), "\n") != calls {
			t.Errorf("git was started %d times, want %d (%v)", strings.Count(string(data), "\n"), calls, err)
		}
	}
	check(2)
	s.Refresh()
	check(4)
}
