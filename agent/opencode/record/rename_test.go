package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
)

// renamed has the new ids of two messages and their parts.
var renamed = map[string]string{"msg_a": "msg_1", "prt_a": "prt_1", "msg_b": "msg_2", "prt_b": "prt_2"}

// TestRename: Rename changes the ids of records, and every reference to them.
func TestRename(t *testing.T) {
	for _, c := range []struct {
		name     string
		ref      change.Ref
		old, new string
	}{
		{
			"a message",
			change.Ref{Kind: change.KindMessage, Session: "s", Message: "msg_a"},
			`{"id":"msg_a","role":"user", "text":"msg_a"}`, `{"id":"msg_1","role":"user", "text":"msg_a"}`,
		},
		{
			"an answer",
			change.Ref{Kind: change.KindMessage, Session: "s", Message: "msg_b"},
			`{"parentID":"msg_a","id":"msg_b","role":"assistant"}`, `{"parentID":"msg_1","id":"msg_2","role":"assistant"}`,
		},
		{
			"an answer that stays",
			change.Ref{Kind: change.KindMessage, Session: "s", Message: "msg_z"},
			`{"parentID" : "msg_b"}`, `{"parentID" : "msg_2"}`,
		},
		{
			"an answer to a missing message",
			change.Ref{Kind: change.KindMessage, Session: "s", Message: "msg_z"},
			`{"parentID":"msg_x"}`, `{"parentID":"msg_x"}`,
		},
		{
			"a part",
			change.Ref{Kind: change.KindPart, Session: "s", Message: "msg_a", Part: "prt_a"},
			`{"id":"prt_a","sessionID":"s","messageID":"msg_a","type":"text","text":"prt_a"}`, `{"id":"prt_1","sessionID":"s","messageID":"msg_1","type":"text","text":"prt_a"}`,
		},
		{
			"a part that keeps its id",
			change.Ref{Kind: change.KindPart, Session: "s", Message: "msg_b", Part: "prt_z"},
			`{"id":"prt_z","messageID":"msg_b","type":"text"}`, `{"id":"prt_z","messageID":"msg_2","type":"text"}`,
		},
		{
			"a compaction",
			change.Ref{Kind: change.KindPart, Session: "s", Message: "msg_z", Part: "prt_z"},
			`{"type":"compaction","auto":true,"tail_start_id":"msg_a"}`, `{"type":"compaction","auto":true,"tail_start_id":"msg_1"}`,
		},
		{
			"attachments",
			change.Ref{Kind: change.KindPart, Session: "s", Message: "msg_a", Part: "prt_a"},
			`{"id":"prt_a","messageID":"msg_a","type":"tool","state":{"attachments":[ {"id":"prt_x","messageID":"msg_a"},7 ,{"id":"prt_b"}],"input":{"messageID":"msg_a"}}}`,
			`{"id":"prt_1","messageID":"msg_1","type":"tool","state":{"attachments":[ {"id":"prt_x","messageID":"msg_1"},7 ,{"id":"prt_2"}],"input":{"messageID":"msg_a"}}}`,
		},
		{
			"damage in a message that stays",
			change.Ref{Kind: change.KindPart, Session: "s", Message: "msg_z", Part: "prt_z"},
			`{"messageID":"msg_`, `{"messageID":"msg_`,
		},
	} {
		s := sessionOf(change.Record{Ref: c.ref, Data: []byte(c.old), Mode: 0o600})
		if err := s.Rename(renamed); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, want := lastRecord(s), change.Record{Ref: c.ref, Data: []byte(c.new), Mode: 0o600}
		want.Ref.Message, want.Ref.Part = newID(renamed, c.ref.Message), newID(renamed, c.ref.Part)
		got.Defect = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Rename (-want +got):\n%s", c.name, diff)
		}
	}
}

// sessionOf returns a session with one record: a message, or a part in a message.
func sessionOf(r change.Record) *Session {
	m := r
	if r.Ref.Kind == change.KindPart {
		m = change.Record{Ref: change.Ref{Kind: change.KindMessage, Session: "s", Message: r.Ref.Message}, Data: []byte(`{"role":"user"}`)}
	}
	s := &Session{Head: change.Head{ID: "s"}, Messages: []Message{NewMessage(m)}}
	if r.Ref.Kind == change.KindPart {
		s.Messages[0].Insert(NewPart(r))
	}
	return s
}

func lastRecord(s *Session) (r change.Record) {
	for x := range s.Records {
		r = *x
	}
	return r
}

func TestRenameRow(t *testing.T) {
	row := func(id, message string) change.Record {
		return change.Record{
			Ref:  change.Ref{Kind: change.KindPart, Session: "s", Message: message, Part: id},
			Data: []byte(`{"type":"text","text":""}`),
			Cols: change.NewCols(change.TextCol("id", id), change.TextCol("message_id", message), change.TextCol("session_id", "s"), change.IntCol("time_updated", 7), change.TextCol("novelty", "x")),
		}
	}
	s := sessionOf(row("prt_a", "msg_a"))
	if err := s.Rename(renamed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(row("prt_1", "msg_1"), lastRecord(s)); diff != "" {
		t.Errorf("Rename (-want +got):\n%s", diff)
	}
}

// TestRenameRevert: Rename changes the revert of a session, which is a column of its row or a field of its file.
func TestRenameRevert(t *testing.T) {
	const old, want = `{"messageID":"msg_a","partID":"prt_b","diff":"msg_a"}`, `{"messageID":"msg_1","partID":"prt_2","diff":"msg_a"}`
	s := &Session{Head: change.Head{ID: "s"}, Info: change.Record{Ref: change.Ref{Kind: change.KindSession, Session: "s"}, Cols: change.NewCols(change.TextCol("id", "s"), change.TextCol("revert", old))}}
	if err := s.Rename(renamed); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Info.Col("revert"); string(c.Bytes) != want {
		t.Errorf("the column is %s, want %s", c.Bytes, want)
	}
	s.Info = change.Record{Ref: s.Info.Ref, Data: []byte(`{"revert":` + old + `}`)}
	if err := s.Rename(renamed); err != nil || string(s.Info.Data) != `{"revert":`+want+`}` {
		t.Errorf("the file is %s, %v, want the revert %s", s.Info.Data, err, want)
	}
}

// TestRenameRefuses: if a record that needs a change cannot be changed, Rename returns an error and changes nothing.
func TestRenameRefuses(t *testing.T) {
	for name, r := range map[string]change.Record{
		"a damaged part":    {Data: []byte(`{"messageID":"msg_`)},
		"an unreadable one": {Defect: &change.Defect{Kind: change.Unreadable, Why: "permission denied"}},
	} {
		r.Ref = change.Ref{Kind: change.KindPart, Session: "s", Message: "msg_a", Part: "prt_x"}
		s := sessionOf(r)
		err := s.Rename(renamed)
		if err == nil || !strings.Contains(err.Error(), "msg_a/prt_x") || s.Messages[0].ID != "msg_a" {
			t.Errorf("%s: Rename = %v, the message is %s now", name, err, s.Messages[0].ID)
		}
	}
	s := sessionOf(change.Record{Ref: change.Ref{Kind: change.KindMessage, Session: "s", Message: "msg_a"}, Data: []byte(`{}`)})
	if err := s.Rename(map[string]string{"msg_a": "../x"}); err == nil {
		t.Error("Rename accepts an invalid id")
	}
}

// TestRenameSorts: parts are sorted by their new ids.
func TestRenameSorts(t *testing.T) {
	part := func(id string) change.Record {
		return change.Record{Ref: change.Ref{Kind: change.KindPart, Session: "s", Message: "msg_a", Part: id}, Data: []byte(`{"type":"patch"}`)}
	}
	s := sessionOf(part("prt_a"))
	s.Messages[0].Insert(NewPart(part("prt_b")))
	if err := s.Rename(map[string]string{"prt_a": "prt_9", "prt_b": "prt_8"}); err != nil {
		t.Fatal(err)
	}
	if got := s.Messages[0].Parts[0].Ref.Part; got != "prt_8" {
		t.Errorf("the first part is %s, want prt_8", got)
	}
}
