package fsstore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/storetest"
)

// TestTooLarge: a file of 10 GB is not read. Its record cannot be changed.
func TestTooLarge(t *testing.T) {
	root := storetest.SmallTree(t)
	name := filepath.Join(root, "part/msg_1/prt_12.json")
	if err := os.Truncate(name, 10<<30); err != nil {
		t.Skip(err)
	}
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	loaded := mustLoad(t, s)
	p := loaded.Message("msg_1").Part("prt_12")
	if p == nil || !p.Unreadable() || !strings.Contains(p.Defect.Why, "too large") || p.Data != nil {
		t.Errorf("a file of 10 GB is loaded as %+v", p)
	}
	images, err := s.Read(t.Context(), []change.Ref{p.Ref})
	if err != nil || images[0] == nil || images[0].Mode&fs.ModeIrregular == 0 {
		t.Errorf("Read = %+v, %v", images, err)
	}
	op := change.Op{Ref: p.Ref, Pre: &change.Image{Data: []byte("{}"), Mode: 0o644}, Post: &change.Image{Data: []byte("{ }"), Mode: 0o644}}
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{op}}); !isConflict(err) {
		t.Errorf("Prepare = %v, want a conflict", err)
	}
}

// TestRead: images are returned in the order of their refs, nil for a missing record.
func TestRead(t *testing.T) {
	s := mustOpen(t, storetest.SmallTree(t), tree.Options{})
	refs := []change.Ref{
		{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_11"},
		{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_none"},
		{Kind: change.KindPart, Session: "ses_1", Message: "msg_none", Part: "prt_1"},
		{Kind: change.KindFolder, Session: "ses_1", Message: "msg_1"},
		{Kind: change.KindSession, Session: "ses_1", Project: "global"},
	}
	got, err := s.Read(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] == nil || got[0].Mode != 0o600 || string(got[0].Data) != storetest.TextJSON("msg_1", "prt_11", "text prt_11") {
		t.Errorf("Read(%s) = %+v", refs[0], got[0])
	}
	if got[1] != nil || got[2] != nil {
		t.Errorf("Read of missing records = %+v, %+v", got[1], got[2])
	}
	if got[3] == nil || got[3].Mode != fs.ModeDir|0o755 || got[4] == nil {
		t.Errorf("Read(%s) = %+v, Read(%s) = %+v", refs[3], got[3], refs[4], got[4])
	}
	if _, err := s.Read(t.Context(), []change.Ref{{Kind: change.KindPart, Session: "s", Message: "../..", Part: "x"}}); err == nil || !strings.Contains(err.Error(), "not a valid id") {
		t.Errorf("Read of an invalid id = %v, want a bad id", err)
	}
}

// TestCheckLinks: a record with a second hard link is refused.
func TestCheckLinks(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{})
	ref := func(part string) change.Ref {
		return change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: part}
	}
	refs := []change.Ref{ref("prt_none"), ref("prt_11"), ref("prt_12"), ref("prt_13")}
	if err := s.CheckLinks(t.Context(), refs); err != nil {
		t.Errorf("CheckLinks = %v", err)
	}
	name := filepath.Join(root, "part/msg_1/prt_12.json")
	if err := os.Link(name, name+".copy"); err != nil {
		t.Skip(err)
	}
	var linked *change.LinkedError
	if err := s.CheckLinks(t.Context(), refs); !errors.As(err, &linked) || linked.Ref != refs[2] || !strings.Contains(linked.Why, "2 hard links") {
		t.Errorf("CheckLinks = %v, want the links of prt_12", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.CheckLinks(ctx, refs); !errors.Is(err, context.Canceled) {
		t.Errorf("CheckLinks = %v, want %v", err, context.Canceled)
	}
	if err := s.CheckLinks(t.Context(), []change.Ref{ref("../x")}); err == nil || !strings.Contains(err.Error(), "not a valid id") {
		t.Errorf("CheckLinks of an invalid id = %v", err)
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckLinks(t.Context(), refs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CheckLinks without a tree = %v, want %v", err, fs.ErrNotExist)
	}
}
