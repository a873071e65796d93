package mend_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/journal"
	"mend/txn"
)

// oldHead is the head that the writer of the old journal printed.
const oldHead = "2d4a3a2435e729d1432ebfc9abd1a3d1980dac78942a3107701b7878c670f99c"

// unpackOld unpacks the home folder of a user of the last version of mend whose journal has no actors. Its entries are
// a repair, its undo, the redo, a repair of an API error, and a repair of Claude Code.
func unpackOld(t *testing.T) (home string, o mend.Options) {
	t.Helper()
	home = t.TempDir()
	f, err := os.Open("../../testdata/journal-before-actors.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			continue
		}
		data, err := io.ReadAll(tr)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, h.FileInfo().Mode().Perm())); err != nil {
			t.Fatal(err)
		}
	}
	return home, mend.Options{Agents: []agent.Agent{opencode.Agent{}, claude.Agent{}}, Journal: &mend.Journal{Dir: filepath.Join(home, "state", "mend"), Version: "new"}, Cache: t.TempDir()}
}

// TestOldJournalRead: a journal of an earlier version is read, verified and exported. Values that it does not have are
// unknown.
func TestOldJournalRead(t *testing.T) {
	_, o := unpackOld(t)
	es, err := o.Journal.Log(journal.Query{})
	if err != nil || len(es) != 5 {
		t.Fatalf("Log returns %d entries, %v", len(es), err)
	}
	for _, e := range es {
		if e.Actor != nil || e.Digest != "" || e.Cause.Error != nil || len(e.Ops) == 0 || e.State != change.Committed {
			t.Errorf("%s: actor %v, digest %q, error %v, %d ops, %s", e.ID, e.Actor, e.Digest, e.Cause.Error, len(e.Ops), e.State)
		}
	}
	if r, err := o.Journal.Verify(oldHead); err != nil || r.Head != oldHead {
		t.Errorf("Verify returns %+v, %v", r, err)
	}
	var out bytes.Buffer
	if _, err := o.Journal.Export(t.Context(), &out, true); err != nil {
		t.Fatal(err)
	}
	if r, err := journal.VerifyExport(t.Context(), &out, oldHead); err != nil || r.Entries != 5 || r.Images != 5 {
		t.Errorf("VerifyExport returns %+v, %v", r, err)
	}
}

// TestOldJournalUndone: a repair in a journal of an earlier version is undone and redone by complete entries, and the
// old part of the chain stays unchanged.
func TestOldJournalUndone(t *testing.T) {
	home, o := unpackOld(t)
	root := filepath.Join(home, "data", "opencode", "storage")
	e, ops, err := o.Journal.Show("migeji")
	if err != nil {
		t.Fatal(err)
	}
	before, err := damage.Snapshot(root)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(o.Journal.Dir, journal.Options{Version: "new", Actor: &change.Actor{User: "u", UID: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	st, err := tree.Open(root, false, tree.Options{Owner: j.ID()})
	if err != nil {
		t.Fatal(err)
	}
	run := func(kind change.CauseKind, entry uint64, ops []change.Op) change.Entry {
		t.Helper()
		e, err := txn.Run(t.Context(), j, st, change.Plan{Session: e.Session, Ops: ops, Cause: change.Cause{Kind: kind, Entries: []uint64{entry}}})
		if err != nil {
			t.Fatal(err)
		}
		if e.Actor == nil || e.Actor.User != "u" || e.Digest != change.PlanDigest(change.InfosOf(ops)) {
			t.Errorf("%s: actor %v, digest %q", e.ID, e.Actor, e.Digest)
		}
		return e
	}
	undo := run(change.CauseUndo, e.Seq, change.Inverse(ops))
	for _, op := range ops {
		now, err := os.ReadFile(filepath.Join(root, "part", op.Ref.Message, op.Ref.Part+".json"))
		if op.Pre == nil && !errors.Is(err, os.ErrNotExist) || op.Pre != nil && !bytes.Equal(now, op.Pre.Data) {
			t.Errorf("%s is not as before the repair: %v", op.Ref, err)
		}
	}
	if got, err := j.Get(e.ID); err != nil || got.UndoneBy != undo.ID {
		t.Errorf("the old repair is undone by %q, %v", got.UndoneBy, err)
	}
	run(change.CauseRedo, undo.Seq, ops)
	if after, err := damage.Snapshot(root); err != nil || !maps.Equal(after, before) {
		t.Errorf("the store differs after undo and redo: %v", err)
	}
	if r, err := j.Verify(oldHead); err != nil || r.Entries != 7 {
		t.Errorf("Verify returns %+v, %v", r, err)
	}
	var out bytes.Buffer
	if _, err := j.Export(t.Context(), &out, true); err != nil {
		t.Fatal(err)
	}
	if r, err := journal.VerifyExport(t.Context(), &out, oldHead); err != nil || r.Entries != 7 {
		t.Errorf("VerifyExport returns %+v, %v", r, err)
	}
}
