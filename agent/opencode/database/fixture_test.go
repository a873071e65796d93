package database

import (
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
)

// TestFixtures reads a database that the real program wrote, changes it and undoes the change.
func TestFixtures(t *testing.T) {
	for version := range dbtest.Fixtures {
		t.Run(version, func(t *testing.T) {
			path, id := dbtest.Unpack(t, version)
			before := dbtest.Files(t, path)
			s := open(t, path, Options{})
			heads, err := s.List(t.Context())
			if err != nil || len(heads) != 1 || heads[0].ID != id || heads[0].Version != version || heads[0].Title != "A title" {
				t.Fatalf("List = %+v, %v", heads, err)
			}
			got := load(t, s, id)
			if len(got.Messages) != 10 {
				t.Errorf("%d messages, want 10", len(got.Messages))
			}
			for r := range got.Records {
				if r.Defect != nil {
					t.Errorf("%s: %s", r.Ref, r.Defect.Why)
				}
			}
			dbtest.WantSame(t, before, dbtest.Files(t, path))

			previous := dbtest.Dump(t, path)
			ops := dbtest.MixedOps(t, got)
			if out := dbtest.Run(t, s, ops); out.State != change.Committed {
				t.Fatalf("Commit = %+v", out)
			}
			if dbtest.Dump(t, path) == previous {
				t.Error("Commit changed nothing")
			}
			if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed {
				t.Fatalf("undo = %+v", out)
			}
			if now := dbtest.Dump(t, path); now != previous {
				t.Errorf("after undo\n%s\nwant\n%s", now, previous)
			}
			if n := len(dbtest.Files(t, path)); n != 1 {
				t.Errorf("%d files are left, want the database alone", n)
			}
		})
	}
}
