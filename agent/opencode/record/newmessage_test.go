package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/agent/opencode/js"
	"mend/change"
)

const (
	answerID = "msg_1fbbd175f00106aat2A0daDDBD"
	promptID = "msg_1fbbd1721001NykoXJRH3ylIms"
)

func TestNewPromptFile(t *testing.T) {
	answer := NewMessage(change.Record{
		Ref: change.Ref{Kind: change.KindMessage, Project: "p", Session: "s", Message: answerID}, Mode: 0o600,
		Data: []byte("{\n  \"id\": \"" + answerID + "\",\n  \"role\": \"assistant\",\n  \"time\": {\n    \"created\": 1000\n  },\n  \"modelID\": \"m\",\n  \"providerID\": \"p\",\n  \"mode\": \"plan\"\n}"),
	})
	s := &Session{Head: change.Head{ID: "s"}, Messages: []Message{answer}}
	got, ok := s.NewPrompt(&answer, promptID)
	want := NewMessage(change.Record{
		Ref: change.Ref{Kind: change.KindMessage, Project: "p", Session: "s", Message: promptID}, Mode: 0o600,
		Data: []byte(`{"id":"` + promptID + `","sessionID":"s","role":"user","time":{"created":999},"agent":"plan","model":{"providerID":"p","modelID":"m"}}`),
	})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(js.Value{})); !ok || diff != "" {
		t.Errorf("NewPrompt (-want +got):\n%s", diff)
	}
	s.InsertMessage(got)
	if s.Messages[0].ID != promptID || s.Messages[1].ID != answerID {
		t.Errorf("InsertMessage gives %s, %s", s.Messages[0].ID, s.Messages[1].ID)
	}
}

func TestNewPromptRow(t *testing.T) {
	row := func(id, data string, created int64) Message {
		return NewMessage(change.Record{
			Ref: change.Ref{Kind: change.KindMessage, Session: "s", Message: id}, Data: []byte(data),
			Cols: change.NewCols(change.TextCol("id", id), change.TextCol("session_id", "s"), change.IntCol("time_created", created), change.IntCol("time_updated", created), change.TextCol("novelty", "x")),
		})
	}
	answer := row(answerID, `{"role":"assistant","time":{"created":1000},"agent":"build","mode":"plan"}`, 1000)
	answer.Record = answer.WithCol(change.IntCol("time_updated", 2000))
	s := &Session{Head: change.Head{ID: "s"}, Messages: []Message{answer, row("msg_z", `{"role":"user","time":{"created":1000},"model":{"providerID":"p","modelID":"m"}}`, 3000)}}
	got, ok := s.NewPrompt(&answer, promptID)
	want := row(promptID, `{"role":"user","time":{"created":999},"agent":"build","model":{"providerID":"p","modelID":"m"}}`, 999)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(js.Value{})); !ok || diff != "" {
		t.Errorf("NewPrompt (-want +got):\n%s", diff)
	}
}

// TestNewPromptUnknown: without a known agent and model no prompt is created.
func TestNewPromptUnknown(t *testing.T) {
	for _, data := range []string{`{"role":"assistant","agent":"build"}`, `{"role":"assistant","providerID":"p","modelID":"m"}`, `{"role`} {
		answer := NewMessage(change.Record{Ref: change.Ref{Kind: change.KindMessage, Session: "s", Message: answerID}, Data: []byte(data)})
		s := &Session{Head: change.Head{ID: "s"}, Messages: []Message{answer}}
		if m, ok := s.NewPrompt(&answer, promptID); ok {
			t.Errorf("NewPrompt before %s = %s, want none", data, m.Data)
		}
	}
}

func TestIDBefore(t *testing.T) {
	for id, want := range map[string]string{
		answerID:                         "msg_1fbbd175f00006aat2A0daDDBD",
		"msg_000000001000x":              "msg_000000000fffx",
		"msg_000000000000x":              "",
		"msg_1":                          "",
		"bad_1fbbd175f00106aat2A0daDDBD": "",
	} {
		m := Message{Record: change.Record{Ref: change.Ref{Kind: change.KindMessage, Session: "s", Message: id}}}
		if got, ok := m.IDBefore(); got != want || ok != (want != "") {
			t.Errorf("IDBefore(%s) = %q, %v, want %q", id, got, ok, want)
		}
	}
}
