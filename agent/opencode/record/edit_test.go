package record

import (
	"slices"
	"strings"
	"testing"

	"mend/change"
)

// shape describes the parts of a message: the id without prt_ and i, the kind and the text of each.
func shape(m *Message) string {
	var out []string
	for _, p := range m.Parts {
		s := strings.ReplaceAll(strings.TrimPrefix(p.Ref.Part, "prt_"), "i", "") + ":" + p.Type
		if p.Synthetic {
			s += "=" + p.Text
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestInjectText(t *testing.T) {
	s := talk("user text", "assistant signed")
	m := &s.Messages[1]
	for i, want := range []bool{true, false} {
		if got := s.InjectText(m, "prt_i10_x", "held"); got != want {
			t.Errorf("InjectText, time %d = %v, want %v", i+1, got, want)
		}
	}
	if got, want := shape(m), "10:reasoning 10_x:text=held"; got != want {
		t.Errorf("InjectText leaves %s, want %s", got, want)
	}
	const data = `{"id":"prt_i10_x","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"held","synthetic":true}`
	if p := m.Part("prt_i10_x"); string(p.Data) != data || p.Mode != 0o600 || p.Defect != nil {
		t.Errorf("InjectText writes %s %o %v, want %s", p.Data, p.Mode, p.Defect, data)
	}
	for _, id := range []string{"", "../x", ".x", strings.Repeat("x", change.MaxID+1)} {
		if s.InjectText(m, id, "held") {
			t.Errorf("InjectText accepts the id %q", id)
		}
	}
	if s.InjectText(m, "prt_i10", "held") {
		t.Error("InjectText accepts the id of another part")
	}
}

// TestNewPartDerives: a new part has the columns of the other parts, and the times of its message. A new file has no
// white space, even if the other files have some.
func TestNewPartDerives(t *testing.T) {
	s := talk("user text", "assistant")
	s.Messages[0].Parts[0].Data = []byte("{\n\t\"id\" : \"prt_i00\"\n}\n")
	s.InjectText(&s.Messages[1], "prt_x", "t")
	if got, want := string(s.Messages[1].Parts[0].Data), `{"id":"prt_x","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"t","synthetic":true}`; got != want {
		t.Errorf("the new file is\n%s\nwant\n%s", got, want)
	}

	s = talk("user", "assistant")
	s.InjectText(&s.Messages[0], "prt_x", "t")
	if got, want := string(s.Messages[0].Parts[0].Data), `{"id":"prt_x","sessionID":"ses_1","messageID":"msg_0","type":"text","text":"t","synthetic":true}`; got != want {
		t.Errorf("the new file is %s, want %s", got, want)
	}

	s = talk("user text", "assistant")
	row := &s.Messages[0].Parts[0]
	row.Mode, row.Data = 0, []byte(`{"type":"text","text":"hi"}`)
	row.Cols = change.NewCols(change.TextCol("id", "prt_i00"), change.TextCol("message_id", "msg_0"), change.TextCol("session_id", "ses_1"), change.IntCol("time_created", 5), change.IntCol("time_updated", 6), change.TextCol("later", "x"))
	s.Messages[1].Cols = change.NewCols(change.TextCol("id", "msg_1"), change.TextCol("session_id", "ses_1"), change.IntCol("time_created", 7), change.IntCol("time_updated", 8))
	p := s.NewTextPart(&s.Messages[1], "prt_y", "no")
	if got, want := string(p.Data), `{"type":"text","text":"no","synthetic":true}`; got != want {
		t.Errorf("the new row is %s, want %s", got, want)
	}
	want := change.NewCols(change.TextCol("id", "prt_y"), change.TextCol("message_id", "msg_1"), change.TextCol("session_id", "ses_1"), change.IntCol("time_created", 7), change.IntCol("time_updated", 8), change.TextCol("later", "x"))
	if id, _ := row.Col("id"); !p.Cols.Equal(want) || string(id.Bytes) != "prt_i00" {
		t.Errorf("the new row has the columns %v, want %v", slices.Collect(p.Cols.All), slices.Collect(want.All))
	}
}

// TestMoveThinkingFirst: thinking moves to the front of its step; only its id changes. The cases are THK of
// oh-my-opencode's tests, where thinking is copied from an earlier message. THK-08 and THK-09, about the newest answer,
// are in package diagnose; THK-03 (a backend that does not answer) and THK-11 (a file in the place of a folder) are in
// the tests of the stores.
func TestMoveThinkingFirst(t *testing.T) {
	for _, c := range []struct {
		name, spec, part, want string // want "" for an error
	}{
		{"after content", "assistant start text signed finish", "prt_i02", "00:step-start 00_02:reasoning 01:text 03:step-finish"},
		{"after thinking that leads", "assistant start signed tool signed", "prt_i03", "00:step-start 01:reasoning 01_03:reasoning 02:tool"},
		{"nothing before it in its step", "assistant text signed", "prt_i01", "0000000000_01:reasoning 00:text"},
		{"in its own step", "assistant start text start tool signed", "prt_i04", "00:step-start 01:text 02:step-start 02_04:reasoning 03:tool"},
		{"already first", "assistant start blank signed text", "prt_i02", "00:step-start 01:text 02:reasoning 03:text"},
		{"a patch before it", "assistant start patch text signed", "prt_i03", "00:step-start 00_03:reasoning 01:patch 02:text"},
		{"redacted", "assistant text redacted", "prt_i01", "0000000000_01:redacted_thinking 00:text"},
		{"THK-02: no thinking", "assistant text", "prt_i00", ""},
		{"THK-02: no such part", "assistant text", "prt_i99", ""},
		{"THK-06: unsigned", "assistant text reasoning", "prt_i01", ""},
		{"THK-06: unsigned, of an older store", "assistant text thinking", "prt_i01", ""},
	} {
		s := talk(c.spec)
		before := s.Clone()
		m := &s.Messages[0]
		ref := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_0", Part: c.part}
		err := m.MoveThinkingFirst(ref)
		want := c.want
		if want == "" {
			want = shape(&before.Messages[0])
		}
		if got := shape(m); (err != nil) != (c.want == "") || got != want {
			t.Errorf("%s: MoveThinkingFirst leaves %s, %v; want %s", c.name, got, err, want)
		}
		for _, p := range m.Parts {
			previous := before.Messages[0].Part("prt_" + p.ID[len(p.ID)-3:])
			if moved := strings.Replace(string(previous.Data), previous.ID, p.ID, 1); string(p.Data) != moved || p.Mode != previous.Mode {
				t.Errorf("%s: MoveThinkingFirst writes %s, want %s", c.name, p.Data, moved)
			}
		}
	}
}

// TestMoveThinkingFirstWithoutID: thinking does not move if no valid id sorts to its new position.
func TestMoveThinkingFirstWithoutID(t *testing.T) {
	m := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}
	long := "prt_" + strings.Repeat("x", change.MaxID-4)
	for name, parts := range map[string][]Part{
		"before the clock's wrap": {testPart(m, "prt_0000000000", kinds["text"]), testPart(m, "prt_1", kinds["signed"])},
		"no room after":           {testPart(m, "prt_1", kinds["start"]), testPart(m, "prt_1-", kinds["text"]), testPart(m, "prt_2", kinds["signed"])},
		"too long":                {testPart(m, "prt_1", kinds["start"]), testPart(m, "prt_2", kinds["text"]), testPart(m, long, kinds["signed"])},
	} {
		msg := Message{Record: change.Record{Ref: m}, Parts: parts}
		before := shape(&msg)
		if err := msg.MoveThinkingFirst(parts[len(parts)-1].Ref); err == nil || shape(&msg) != before {
			t.Errorf("%s: MoveThinkingFirst leaves %s, %v; want an error", name, shape(&msg), err)
		}
	}
}

func TestMove(t *testing.T) {
	from := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_1"}
	to := from
	to.Part = "prt_2"
	r := change.Record{Ref: from, Mode: 0o600, Data: []byte("{ \"id\":\"prt_1\",\n\"messageID\":\"msg_1\", \"text\":\"prt_1\"}")}
	got, err := Move(&r, to)
	if want := "{ \"id\":\"prt_2\",\n\"messageID\":\"msg_1\", \"text\":\"prt_1\"}"; err != nil || string(got.Data) != want || got.Ref != to || got.Mode != 0o600 {
		t.Errorf("Move = %s %v %v, want %s", got.Data, got.Ref, err, want)
	}
	row := change.Record{Ref: from, Data: []byte(`{"type":"text"}`), Cols: change.NewCols(change.TextCol("id", "prt_1"), change.TextCol("message_id", "msg_1"), change.IntCol("n", 3))}
	got, err = Move(&row, to)
	want := change.NewCols(change.TextCol("id", "prt_2"), change.TextCol("message_id", "msg_1"), change.IntCol("n", 3))
	if id, _ := row.Col("id"); err != nil || !got.Cols.Equal(want) || string(got.Data) != string(row.Data) || string(id.Bytes) != "prt_1" {
		t.Errorf("Move of a row = %s %v, %v; want %v", got.Data, slices.Collect(got.Cols.All), err, slices.Collect(want.All))
	}
	bad := change.Record{Ref: from, Data: []byte(`{"id"`)}
	if _, err := Move(&bad, to); err == nil {
		t.Error("Move of a truncated record gives no error")
	}
}
