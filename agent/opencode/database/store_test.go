package database

import (
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
)

func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t testing.TB, s *Store, id string) *record.Session {
	t.Helper()
	got, _, err := s.Load(t.Context(), change.Head{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
