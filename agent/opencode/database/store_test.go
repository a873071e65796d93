package database

import (
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/session"
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
	got, err := s.Load(t.Context(), session.Head{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// run prepares and commits ops.
func run(t testing.TB, s *Store, ops []change.Op) change.Outcome {
	t.Helper()
	return runPlan(t, s, change.Plan{Ops: ops})
}

func runPlan(t testing.TB, s *Store, p change.Plan) change.Outcome {
	t.Helper()
	st, err := s.Prepare(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Commit(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
