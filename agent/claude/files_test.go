package claude_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"mend/agent"
	"mend/agent/claude"
	"mend/change"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/txn"
	"mend/undo"
)

const (
	wholeID   = "11111111-2222-4333-8444-555555555555"
	wholeText = `{"type":"user","uuid":"11111111-2222-4333-8444-000000000001","parentUuid":null,"message":{"role":"user","content":"x"}}` + "\n"
)

// wholePlan creates a transcript and a file beside it, replaces another file, and removes a third.
func wholePlan(other, gone string) change.Plan {
	image := func(text string) *change.Image { return &change.Image{Data: []byte(text), Mode: 0o600} }
	session := func(id string) change.Ref {
		return change.Ref{Kind: change.KindSession, Project: "-home-user-gone", Session: id}
	}
	ops := []change.Op{
		{Ref: session(wholeID), Post: image(wholeText)},
		{Ref: change.Ref{Kind: change.KindFile, Project: "-home-user-gone", Session: wholeID, Part: "tool-results/a.txt"}, Post: image("a result")},
		{Ref: change.Ref{Kind: change.KindSession, Project: "-home-user", Session: other}, Pre: image(""), Post: image(wholeText)},
		{Ref: change.Ref{Kind: change.KindSession, Project: "-home-user", Session: gone}, Pre: image(wholeText)},
	}
	change.Sort(ops)
	return change.Plan{Session: wholeID, Cause: change.Cause{Kind: change.CauseScan}, Ops: ops}
}

func files(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[p[len(root):]] = info.Mode().String()
		if !d.IsDir() {
			data, err := os.ReadFile(p)
			all[p[len(root):]] += string(data)
			return err
		}
		return nil
	})
	must(t, err)
	return all
}

// TestFilesCutAtEveryCall cuts a change of whole files, and its undo, at every call. After the recovery all files are
// changed, or none. After the undo every file and folder is as before.
func TestFilesCutAtEveryCall(t *testing.T) {
	const other, gone = "11111111-2222-4333-8444-666666666666", "11111111-2222-4333-8444-777777777777"
	newStore := func(t *testing.T) (root string) {
		t.Helper()
		root = filepath.Join(storetest.FastDir(t), ".claude")
		for name, data := range map[string]string{other: "", gone: wholeText} {
			p := filepath.Join(root, "projects", "-home-user", name+".jsonl")
			must(t, os.MkdirAll(filepath.Dir(p), 0o700))
			must(t, os.WriteFile(p, []byte(data), 0o600))
		}
		return root
	}
	run := func(root string, step func(string) error, do func(*journal.Journal, agent.Store, txn.Store) error) error {
		j, err := journal.Open(filepath.Join(filepath.Dir(root), "journal"), journal.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = j.Close() }() // the journal is opened again and read
		st, err := claude.Agent{Step: step}.Open(agent.Located{Path: root}, nil)
		if err != nil {
			return err
		}
		w, err := st.Writer(j.ID())
		if err != nil {
			return err
		}
		return do(j, st, w)
	}
	apply := func(j *journal.Journal, _ agent.Store, w txn.Store) error {
		_, err := txn.Run(context.Background(), j, w, wholePlan(other, gone))
		return err
	}
	revert := func(j *journal.Journal, _ agent.Store, w txn.Store) error {
		es, err := j.List(journal.Query{State: change.Committed})
		if err != nil {
			return err
		}
		ops, err := j.Ops(es[0])
		if err != nil {
			return err
		}
		if ops, err = undo.Revert(ops); err != nil {
			return err
		}
		_, err = txn.Run(context.Background(), j, w, change.Plan{Session: wholeID, Cause: change.Cause{Kind: change.CauseUndo, Entries: []uint64{es[0].Seq}}, Ops: ops})
		return err
	}
	recoverAll := func(j *journal.Journal, st agent.Store, w txn.Store) error {
		pending, err := j.List(journal.Query{State: change.Pending})
		if err != nil {
			return err
		}
		_, err = txn.Recover(context.Background(), j, w, st.ID(), pending)
		return err
	}
	root := newStore(t)
	before := files(t, root)
	must(t, run(root, nil, apply))
	after := files(t, root)
	if after["/projects/-home-user-gone/"+wholeID+".jsonl"] == "" || after["/projects/-home-user-gone/"+wholeID+"/tool-results/a.txt"] == "" || after["/projects/-home-user/"+gone+".jsonl"] != "" {
		t.Fatalf("the change made %v", after)
	}
	must(t, run(root, nil, revert))
	if now := files(t, root); !maps.Equal(before, now) {
		t.Errorf("after the undo: %v, want %v", now, before)
	}
	for _, c := range []struct {
		name string
		do   func(*journal.Journal, agent.Store, txn.Store) error
	}{{"change", apply}, {"undo", revert}} {
		for k := 0; ; k++ {
			root := newStore(t)
			if c.name == "undo" {
				must(t, run(root, nil, apply))
			}
			fault := storetest.Fault{At: k}
			err := run(root, fault.Step, c.do)
			if !fault.Hit() {
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				t.Logf("%s: cut at each of %d calls", c.name, k)
				break
			}
			if err := run(root, nil, recoverAll); err != nil {
				t.Errorf("%s cut at %d: %v", c.name, k, err)
			}
			if now := files(t, root); !maps.Equal(now, before) && !maps.Equal(now, after) {
				t.Errorf("%s cut at %d: %v", c.name, k, now)
			}
		}
	}
	if err := run(root, nil, func(_ *journal.Journal, st agent.Store, w txn.Store) error {
		for _, ref := range []change.Ref{
			{Kind: change.KindFile, Project: "-home-user", Session: wholeID, Part: "../" + gone + ".jsonl"},
			{Kind: change.KindFolder, Project: "-home-user", Session: wholeID, Part: "../.."},
			{Kind: change.KindFile, Project: "-home-user", Session: wholeID},
		} {
			_, err := w.Prepare(t.Context(), change.Plan{Ops: []change.Op{{Ref: ref, Post: &change.Image{Mode: 0o600}}}})
			if _, rerr := st.Read(t.Context(), []change.Ref{ref}); err == nil || rerr == nil {
				t.Errorf("%v has a path: Prepare = %v, Read = %v", ref, err, rerr)
			}
			if !errors.Is(err, change.ErrInvalid) {
				t.Errorf("%v: %v", ref, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
