package database

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/dbtest"
)

// deletions returns the ops that delete the rows.
func deletions(t *testing.T, s *Store, refs []change.Ref) []change.Op {
	t.Helper()
	images, err := s.Read(t.Context(), refs)
	dbtest.Must(t, err)
	var ops []change.Op
	for i, ref := range refs {
		ops = append(ops, change.Op{Ref: ref, Pre: images[i]})
	}
	change.Sort(ops)
	return ops
}

// TestOrphans checks that rows without a parent are listed, except those whose ids are
// not valid, and that they are created again only with AllowMissingParent.
func TestOrphans(t *testing.T) {
	for version := range dbtest.Fixtures {
		t.Run(version, func(t *testing.T) {
			path, id := dbtest.Unpack(t, version)
			dbtest.Alter(t, path, "pragma foreign_keys = off",
				"delete from message where id = (select id from message order by id limit 1)",
				"insert into part select 'prt_z', 'no/id', session_id, 1, 1, '{}' from part limit 1",
				"insert into part select 'prt_y', 'msg_y', x'00', 1, 1, '{}' from part limit 1",
				"insert into message select 'msg_x', 'ses_x', 1, 1, '{}'",
				"insert into part select 'prt_x', 'msg_x', 'ses_z', 1, 1, '{}'")
			s := open(t, path, Options{})
			refs, err := s.Orphans(t.Context())
			dbtest.Must(t, err)
			var got []string
			for _, r := range refs {
				got = append(got, fmt.Sprintf("%s %v %s", strings.Replace(r.Session, id, "SESSION", 1), r.Kind, r.ID()))
			}
			want := fmt.Sprintf("ses_x message msg_x; ses_x part prt_x; SESSION part %s; unknown part prt_y", refs[2].Part)
			if strings.Join(got, "; ") != want {
				t.Errorf("Orphans = %s, want %s", strings.Join(got, "; "), want)
			}
			was, err := damage.Snapshot(path)
			dbtest.Must(t, err)
			ops := deletions(t, s, refs)
			if out := dbtest.Run(t, s, ops); out.State != change.Committed {
				t.Fatalf("Commit = %+v", out)
			}
			var conflict *change.ConflictError
			if _, err := s.Prepare(t.Context(), change.Plan{Ops: change.Inverse(ops)}); !errors.As(err, &conflict) {
				t.Errorf("Prepare of rows without a parent = %v, want a conflict", err)
			}
			if out := dbtest.RunPlan(t, s, change.Plan{AllowMissingParent: true, Ops: change.Inverse(ops)}); out.State != change.Committed {
				t.Errorf("with AllowMissingParent Commit = %+v", out)
			}
			now, err := damage.Snapshot(path)
			dbtest.Must(t, err)
			if diff := cmp.Diff(was, now); diff != "" {
				t.Errorf("after undo (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrphansHidden checks that no message counts as an orphan if the table of sessions
// is empty: its rows were probably lost.
func TestOrphansHidden(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	dbtest.Alter(t, path, "pragma foreign_keys = off", "delete from session")
	if refs, err := open(t, path, Options{}).Orphans(t.Context()); !errors.Is(err, change.ErrHidden) {
		t.Errorf("Orphans = %v, %v, want ErrHidden", refs, err)
	}
}
