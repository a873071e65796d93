package tree

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// A tree has the paths of a session's record and of its messages, and the project in the refs of the messages.
type tree struct{ session, message, project string }

var trees = []tree{
	{"session/global/ses_1.json", "message/ses_1/%s.json", ""},
	{"session/global/ses_1.json", "message/any/ses_1/%s.json", "any"},
	{"", "message/any/ses_1/%s.json", "any"},
}

const partPath = "part/%s/%s.json"

// write writes a session of four messages, the last one without parts, and returns the root.
func (tr tree) write(t *testing.T) string {
	t.Helper()
	root := filepath.Join(storetest.FastDir(t), "storage")
	if tr.session != "" {
		storetest.Put(t, root, tr.session, storetest.SessionJSON("ses_1"))
	}
	for i, role := range []string{"user", "assistant", "user", "assistant"} {
		msg := fmt.Sprintf("msg_%d", i+1)
		storetest.Put(t, root, fmt.Sprintf(tr.message, msg), storetest.MessageJSON("ses_1", msg, role, 1000+i))
		for n := 1; n <= 3 && i < 3; n++ {
			prt := fmt.Sprintf("prt_%d%d", i+1, n)
			storetest.Put(t, root, fmt.Sprintf(partPath, msg, prt), storetest.TextJSON(msg, prt, "text "+prt))
		}
	}
	return root
}

// TestTrees: a session is read, changed and undone wherever its records are.
func TestTrees(t *testing.T) {
	for _, tr := range trees {
		t.Run(strings.ReplaceAll(tr.message, "/", " "), func(t *testing.T) {
			root := tr.write(t)
			before := storetest.Snapshot(t, root, "")
			s := mustOpen(t, root, Options{Owner: "own"})
			heads, err := s.List(t.Context())
			if err != nil || len(heads) != 1 || heads[0].ID != "ses_1" || (heads[0].Title != "") != (tr.session != "") {
				t.Fatalf("List = %+v, %v", heads, err)
			}
			loaded, _, err := s.Load(t.Context(), heads[0])
			if err != nil || len(loaded.Messages) != 4 || len(loaded.Messages[1].Parts) != 3 || len(loaded.Stray) != 0 {
				t.Fatalf("Load = %+v, %v", loaded, err)
			}
			for r := range loaded.Records {
				if r.Defect != nil || r.Ref.Session != "ses_1" {
					t.Errorf("%+v: %+v", r.Ref, r.Defect)
				}
				if p, ref, err := (layout{}).Path(r.Ref); err != nil || ref != r.Ref || before[p] == "" {
					t.Errorf("path(%+v) = %q, %+v, %v", r.Ref, p, ref, err)
				}
			}
			if got := loaded.Messages[0].Ref.Project; got != tr.project {
				t.Errorf("the messages have the project %q, want %q", got, tr.project)
			}
			st := storetest.Apply(t, s, storetest.MixedOps(t, loaded.AllRecords))
			got := storetest.Snapshot(t, root, "")
			for path, want := range map[string]string{
				fmt.Sprintf(partPath, "msg_1", "prt_11"): `"replaced"`,
				fmt.Sprintf(partPath, "msg_4", "prt_41"): `"created"`,
			} {
				if !strings.Contains(got[path], want) {
					t.Errorf("%s has %q, want %s in it", path, got[path], want)
				}
			}
			if _, ok := got[fmt.Sprintf(partPath, "msg_1", "prt_13")]; ok || len(got) != len(before)+1 {
				t.Errorf("the tree has %v", got)
			}
			storetest.Apply(t, s, change.Inverse(st.Ops))
			if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
				t.Errorf("after the undo the tree has %v, want %v", got, before)
			}
		})
	}
}

// TestSeveralSessions: sessions that share ids and folders are loaded with their own records.
func TestSeveralSessions(t *testing.T) {
	root := storetest.SmallTree(t)
	storetest.Put(t, root, "session/other/ses_1.json", strings.Replace(storetest.SessionJSON("ses_1"), "A title", "Another", 1))
	storetest.Put(t, root, "session/other/ses_2.json", storetest.SessionJSON("ses_2"))
	storetest.Put(t, root, "message/ses_3/msg_9.json", storetest.MessageJSON("ses_3", "msg_9", "user", 5))
	storetest.Put(t, root, "message/any/ses_1/msg_8.json", storetest.MessageJSON("ses_1", "msg_8", "user", 5)) // the agent does not look here
	storetest.Put(t, root, "message/any/ses_4/msg_8.json", storetest.MessageJSON("ses_4", "msg_8", "user", 5))
	must(t, os.MkdirAll(filepath.Join(root, "message/ses_5"), 0o755))
	s := mustOpen(t, root, Options{})
	heads, err := s.List(t.Context())
	must(t, err)
	if len(heads[0].Others) != 1 || heads[0].Others[0].Project != "other" {
		t.Errorf("the other record of ses_1: %v", heads[0].Others)
	}
	var got []string
	for _, h := range heads {
		loaded, _, err := s.Load(t.Context(), h)
		must(t, err)
		got = append(got, fmt.Sprintf("%s %s %q %d", h.ID, loaded.Info.Ref.Project, loaded.Title, len(loaded.Messages)))
		if len(loaded.Stray) > 0 {
			t.Errorf("%s: stray %v", h.ID, loaded.Stray)
		}
	}
	storetest.WantNames(t, got, []string{
		`ses_1 global "A title" 4`, `ses_2 other "A title" 0`, `ses_3  "" 1`, `ses_4  "" 1`,
	})
}

// TestLargePart changes a part of 50 MB and undoes the change.
func TestLargePart(t *testing.T) {
	storetest.NeedAllCases(t) // it takes 150 MB on a disk in memory
	root := storetest.SmallTree(t)
	large := storetest.TextJSON("msg_1", "prt_12", strings.Repeat("x", 50<<20))
	storetest.Put(t, root, "part/msg_1/prt_12.json", large)
	s := mustOpen(t, root, Options{Owner: "own"})
	loaded := mustLoad(t, s)
	if n := len(loaded.Message("msg_1").Part("prt_12").Text); n != 50<<20 {
		t.Fatalf("Load gives %d bytes", n)
	}
	st := storetest.Apply(t, s, storetest.SetText(t, loaded.AllRecords, "prt_12", "short"))
	storetest.Apply(t, s, change.Inverse(st.Ops))
	if data, err := os.ReadFile(filepath.Join(root, "part/msg_1/prt_12.json")); err != nil || !bytes.Equal(data, []byte(large)) {
		t.Errorf("after the undo the part has %d other bytes, %v", len(data), err)
	}
}

// TestRefusedPlans: plans, owners and staged changes that do not fit a tree are refused, and nothing is written.
func TestRefusedPlans(t *testing.T) {
	root := storetest.SmallTree(t)
	before := storetest.Snapshot(t, root, "")
	part := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_11"}
	also := part
	also.Project = "global" // the same file
	file := &change.Image{Data: []byte("x"), Mode: 0o644}
	for name, ops := range map[string][]change.Op{
		"two ops on one file": {{Ref: part, Post: file}, {Ref: also, Post: file}},
		"a link":              {{Ref: part, Pre: &change.Image{Mode: os.ModeSymlink | 0o777}, Post: file}},
		"a folder as record":  {{Ref: part, Post: &change.Image{Mode: os.ModeDir | 0o755}}},
		"a file as folder":    {{Ref: change.Ref{Kind: change.KindFolder, Session: "ses_1", Message: "msg_4"}, Post: file}},
		"too large":           {{Ref: part, Post: &change.Image{Data: make([]byte, change.MaxText+1), Mode: 0o644}}},
		"no project":          {{Ref: change.Ref{Kind: change.KindSession, Session: "ses_9"}, Post: file}},
	} {
		if _, err := mustOpen(t, root, Options{Owner: "own"}).Prepare(t.Context(), change.Plan{Ops: ops}); err == nil || isConflict(err) {
			t.Errorf("%s: Prepare = %v, want a refusal", name, err)
		}
	}
	for _, owner := range []string{"", "..", "a/b", "kept"} {
		if _, err := mustOpen(t, root, Options{Owner: owner}).Prepare(t.Context(), change.Plan{Ops: storetest.MixedOps(t, mustLoad(t, mustOpen(t, root, Options{})).AllRecords)}); err == nil {
			t.Errorf("Prepare for the owner %q = nil, want a refusal", owner)
		}
	}
	s := mustOpen(t, root, Options{Owner: "own"})
	for _, st := range []change.Staged{
		{Store: s.ID(), Dir: "part/msg_1/x"},
		{Store: s.ID(), Dir: ".mend/../part"},
		{Store: change.StoreID{Kind: "json", Root: "/elsewhere"}, Dir: ".mend/own/1"},
	} {
		if _, err := s.Commit(t.Context(), st); err == nil {
			t.Errorf("Commit of %+v = nil, want a refusal", st)
		}
		if err := s.Discard(t.Context(), st); err == nil {
			t.Errorf("Discard of %+v = nil, want a refusal", st)
		}
	}
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("the tree has %v, want %v", got, before)
	}
}
