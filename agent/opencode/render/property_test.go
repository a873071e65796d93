package render_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/provider/anthropic"
	"mend/internal/test/encode"
	"mend/internal/test/storetest"
)

// png is an image of one pixel.
const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

// TestHealthy: a healthy session has no violation with any profile.
func TestHealthy(t *testing.T) {
	storetest.SampleChecks(t, "100")
	rapid.Check(t, func(t *rapid.T) {
		s := drawSession(t)
		for _, p := range render.Profiles() {
			q := render.Render(s, render.Settings{Profile: p})
			checkRequest(t, s, q)
			for _, thinking := range []bool{true, false} {
				if v := render.Check(anthropic.Provider{}, q, thinking); len(v) > 0 {
					t.Fatalf("%s, thinking %t: Check = %+v\n%s", p.Version, thinking, v, encode.JSON(anthropic.Provider{}, q.Request))
				}
			}
			if encode.JSON(anthropic.Provider{}, q.Request) == nil || len(q.Turns)%2 != 1 {
				t.Fatalf("%s: %d turns, want an odd number, the last for the prompt", p.Version, len(q.Turns))
			}
		}
	})
}

// TestDamaged: for a damaged session Check agrees with the strict endpoint, and a used View with a new one.
func TestDamaged(t *testing.T) {
	storetest.SampleChecks(t, "20")
	rapid.Check(t, func(t *rapid.T) {
		s := drawSession(t)
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			s = s.Clone()
			damageSession(t, s)
			view := render.Read(s)
			for _, p := range render.Profiles() {
				set := render.Settings{Profile: p}
				q, fresh := view.Render(set), render.Render(s, set)
				if !equalRequests(q, fresh) {
					t.Fatalf("%s: the used View renders\n%s\nRender renders\n%s", p.Version, encode.JSON(anthropic.Provider{}, q.Request), encode.JSON(anthropic.Provider{}, fresh.Request))
				}
				checkRequest(t, s, q)
				for _, thinking := range []bool{true, false} {
					compareWithEndpoint(t, q, thinking)
				}
			}
		}
	})
}

// drawSession draws a healthy session: prompts with all kinds of parts, and answers of up to three steps.
func drawSession(t *rapid.T) *record.Session {
	b := newBuilder()
	calls := 0
	for range rapid.IntRange(1, 5).Draw(t, "prompts") {
		b.prompt(drawPrompt(t)...)
		var parts []fields
		for range rapid.IntRange(0, 2).Draw(t, "steps") {
			parts = append(parts, drawStep(t, &calls)...)
		}
		b.assistant(append(parts, stepStartPart(), textPart("the end"), stepFinishPart())...)
		if rapid.IntRange(0, 5).Draw(t, "failed") == 0 {
			b.failed("APIError", stepStartPart(), thinkingPart("a thought"))
		}
	}
	return &b.Session
}

func drawPrompt(t *rapid.T) []fields {
	parts := []fields{textPart("a prompt")}
	for _, more := range []fields{
		{"type": "text", "text": " ", "ignored": true},
		{"type": "text", "text": ""},
		{"type": "text", "text": "a file's content", "synthetic": true},
		{"type": "file", "mime": "image/png", "url": png},
		{"type": "file", "mime": "image/png", "url": "https://example.com/x.png"},
		{"type": "file", "mime": "text/plain", "filename": "x", "url": "file:///x"},
		{"type": "agent", "name": "x"},
		{"type": "novelty", "x": 1},
	} {
		if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
			parts = append(parts, more)
		}
	}
	return parts
}

// drawStep draws a step with thinking, perhaps a text, and tool calls.
func drawStep(t *rapid.T, calls *int) []fields {
	parts := []fields{stepStartPart(), thinkingPart("a thought")}
	if rapid.Bool().Draw(t, "says") {
		parts = append(parts, textPart("a text"))
	}
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		*calls++
		call := toolPart(fmt.Sprintf("toolu_%d", *calls), rapid.SampledFrom([]string{"", " ", "output"}).Draw(t, "output"))
		state := call["state"].(fields)
		switch rapid.IntRange(0, 4).Draw(t, "kind of call") {
		case 0:
			call["state"] = fields{"status": "error", "input": fields{}, "error": "it failed", "time": state["time"]}
		case 1:
			state["attachments"] = []any{fields{"type": "file", "mime": "image/png", "url": png}}
		case 2:
			state["time"] = fields{"start": start, "end": start + 1, "compacted": start + 2}
		}
		parts = append(parts, call)
	}
	return append(parts, stepFinishPart())
}

// damageSession changes a random message of the session, or a part of it.
func damageSession(t *rapid.T, s *record.Session) {
	m := &s.Messages[rapid.IntRange(0, len(s.Messages)-1).Draw(t, "message")]
	if len(m.Parts) == 0 || rapid.IntRange(0, 3).Draw(t, "whole message") == 0 {
		damageMessage(t, m)
		return
	}
	p := &m.Parts[rapid.IntRange(0, len(m.Parts)-1).Draw(t, "part")]
	if rapid.IntRange(0, 3).Draw(t, "another place") == 0 {
		p.ID = rapid.SampledFrom([]string{"prt_0000000000_x", "prt_zzz"}).Draw(t, "id")
		p.Ref.Part = p.ID
		s.Sort()
		return
	}
	p.Record = drawEdit(t, p.Record, partEdits)
	*p = record.NewPart(p.Record)
}

func damageMessage(t *rapid.T, m *record.Message) {
	parts, r := m.Parts, m.Record
	switch rapid.IntRange(0, 5).Draw(t, "harm") {
	case 0:
		parts = nil
	case 1:
		r.Data, r.Defect = r.Data[:len(r.Data)/2], nil
	default:
		r = drawEdit(t, r, messageEdits)
	}
	*m = record.NewMessage(r)
	m.Parts = parts
}

type edit struct {
	value string
	path  []string
}

var (
	messageEdits = []edit{
		{`"user"`, []string{"role"}},
		{`"assistant"`, []string{"role"}},
		{`{"name":"APIError"}`, []string{"error"}},
		{`{"name":"MessageAbortedError"}`, []string{"error"}},
		{`"other"`, []string{"modelID"}},
		{`null`, []string{"time"}},
	}
	partEdits = []edit{
		{`""`, []string{"text"}},
		{`" \n"`, []string{"text"}},
		{`5`, []string{"text"}},
		{`"text"`, []string{"type"}},
		{`"reasoning"`, []string{"type"}},
		{`"step-start"`, []string{"type"}},
		{`{}`, []string{"metadata"}},
		{`{"anthropic":{"redactedData":"x"}}`, []string{"metadata"}},
		{`{"openai":{"itemId":"msg_1"},"copilot":{"itemId":"msg_1"}}`, []string{"metadata"}},
		{`{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"x"},"copilot":{"itemId":"rs_1","reasoningEncryptedContent":null}}`, []string{"metadata"}},
		{`{"openai":{"itemId":"rs_` + strings.Repeat("1", 70) + `"}}`, []string{"metadata"}},
		{`"toolu_1"`, []string{"callID"}},
		{`"a:b"`, []string{"callID"}},
		{`""`, []string{"callID"}},
		{`[]`, []string{"state", "input"}},
		{`"running"`, []string{"state", "status"}},
		{`"novel"`, []string{"state", "status"}},
		{`null`, []string{"state", "output"}},
		{`[{"mime":"text/plain","url":"data:,x"}]`, []string{"state", "attachments"}},
	}
)

// drawEdit returns the record after a random edit. A record that cannot be edited so is truncated.
func drawEdit(t *rapid.T, r change.Record, edits []edit) change.Record {
	e := rapid.SampledFrom(edits).Draw(t, "edit")
	data, err := jsonedit.Set(r.Data, []byte(e.value), e.path...)
	if err != nil {
		data = r.Data[:len(r.Data)/2]
	}
	r.Data, r.Defect = data, nil
	return r
}
