package database

import (
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/dbtest"
)

func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	dbtest.Must(t, err)
	return s
}

func load(t testing.TB, s *Store, id string) *record.Session {
	t.Helper()
	got, _, err := s.Load(t.Context(), change.Head{ID: id})
	dbtest.Must(t, err)
	return got
}
