package opencode

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// A heldStore is a store that a process has open, since 1970, if held is set.
type heldStore struct {
	records
	held bool
}

func (s heldStore) Held(context.Context) (time.Time, error) {
	if s.held {
		return time.Unix(0, 0), nil
	}
	return time.Time{}, nil
}

// TestExaminationOfUnfinishedSession: an unfinished session is busy while a process has the store open, and its
// examination then has no stamp, so that it is not cached.
func TestExaminationOfUnfinishedSession(t *testing.T) {
	dir := storetest.FastDir(t)
	if _, err := testdata.Unpack(testdata.OpenCode1153, dir); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "opencode/storage/message/*/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.NewReplacer(`"completed"`, `"x"`, `"finish"`, `"y"`).Replace(string(data))
		if err := os.WriteFile(name, []byte(edited), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := Agent{}.Open(agent.Located{Path: filepath.Join(dir, "opencode")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*store)
	tree := s.records
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("List = %d sessions, %v, want one", len(heads), err)
	}
	for _, held := range []bool{false, true} {
		s.records = heldStore{tree, held}
		e, err := s.Examine(t.Context(), heads[0], repair.Options{Now: time.Now()})
		if err != nil || e.Busy != held || (e.Stamp == change.Stamp{}) != held || !e.Unfinished {
			t.Errorf("Examine of a store that is held (%v) = busy %v, stamp %v, unfinished %v, %v", held, e.Busy, e.Stamp, e.Unfinished, err)
		}
	}
}
