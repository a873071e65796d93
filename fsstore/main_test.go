package fsstore_test

import (
	"errors"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/storetest"
)

func mustOpen(t *testing.T, path string, o tree.Options) *tree.Store {
	t.Helper()
	s, err := tree.Open(path, false, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustLoad(t *testing.T, s *tree.Store) *record.Session {
	t.Helper()
	loaded, _, err := s.Load(t.Context(), change.Head{ID: "ses_1"})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// prepareMixed prepares ops of every kind.
func prepareMixed(t *testing.T, s *tree.Store) change.Staged {
	t.Helper()
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: storetest.MixedOps(t, mustLoad(t, s).AllRecords)})
	if err != nil {
		t.Fatal(err)
	}
	return staged
}

func isConflict(err error) bool {
	var c *change.ConflictError
	return errors.As(err, &c)
}
