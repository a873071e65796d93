package tree

import (
	"errors"
	"path/filepath"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, false, o)
	must(t, err)
	return s
}

func mustLoad(t *testing.T, s *Store) *record.Session {
	t.Helper()
	loaded, _, err := s.Load(t.Context(), change.Head{ID: "ses_1"})
	must(t, err)
	return loaded
}

// unpack writes the fixture of 1.1.53 and returns the path of its OpenCode data folder.
func unpack(t *testing.T) string {
	t.Helper()
	root := storetest.FastDir(t)
	_, err := testdata.Unpack(testdata.OpenCode1153, root)
	must(t, err)
	return filepath.Join(root, "opencode")
}

func isConflict(err error) bool {
	var c *change.ConflictError
	return errors.As(err, &c)
}
