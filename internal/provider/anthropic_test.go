package provider_test

import (
	"testing"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/internal/test/encode"
	"mend/internal/test/endpoint"
)

// FuzzCheck compares the rules with the strict endpoint's rules, a second implementation.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("0C1J20"), true, "text")
	f.Add([]byte("0D1J20"), false, " ")
	f.Add([]byte("1CD2AB"), false, "\u00a0")
	f.Fuzz(func(t *testing.T, program []byte, thinking bool, text string) {
		if len(program) > 60 {
			return
		}
		q := buildRequest(program, text)
		found := map[string]endpoint.Place{}
		for _, v := range provider.Check(anthropic.Provider{}, q, thinking) {
			if _, ok := found[v.Rule]; !ok {
				found[v.Rule] = endpoint.Place{N: v.N, M: v.M}
			}
		}
		if err := endpoint.Compare(encode.JSON(anthropic.Provider{}, q), thinking, found); err != nil {
			t.Error(err)
		}
	})
}

// buildRequest builds a request: a byte below 'A' begins a turn, others add blocks.
func buildRequest(program []byte, text string) request.Request {
	ids := []string{"a", "b", "", "c:0"}
	roles := []string{change.RoleUser, change.RoleAssistant}
	var q request.Request
	role := 0
	for i, c := range program {
		if c < 'A' || len(q.Turns) == 0 {
			if i == 0 {
				role = int(c) % 2
			}
			q.Turns = append(q.Turns, request.Turn{Role: roles[role%2]})
			role++
			continue
		}
		t := &q.Turns[len(q.Turns)-1]
		id := ids[int(c)/16%4]
		source := change.Ref{Kind: change.KindPart, Part: id}
		blocks := []*request.Block{
			{Type: request.Text, Text: text},
			{Type: request.Text},
			{Type: request.Thinking, Text: text, Signature: id},
			{Type: request.Thinking, Text: text, Unsigned: true},
			{Type: request.RedactedThinking, Signature: id},
			{Type: request.ToolUse, ToolID: id, ToolName: "bash", Input: []byte(`{"a": 1}`)},
			{Type: request.ToolUse, ToolID: id, ToolName: "bash", Input: []byte(`"a"`)},
			{Type: request.ToolUse, ToolID: id, ToolName: "bash"},
			{Type: request.ToolResult, ToolID: id, Output: jsonedit.Quote(text)},
			{Type: request.ToolResult, ToolID: id, Content: []*request.Block{{Type: request.Text}, {Type: request.Image, File: request.File{Data: []byte("AAAA")}}}},
			{Type: request.Image, File: request.File{Mime: "image/png", Data: []byte("AAAA")}},
			{Type: request.Document, File: request.File{Mime: "text/plain", Data: []byte(text)}},
		}
		b := blocks[int(c)%len(blocks)]
		b.Source = &source
		t.Blocks = append(t.Blocks, b)
	}
	return q
}
