package endpoint

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestBoundThinking: for the models that bind thinking a server refuses thinking that it returned if the conversation
// before it has changed.
func TestBoundThinking(t *testing.T) {
	type call struct {
		status int
		body   string
	}
	ask := func(s *Server, r Request) (call, Content) {
		body, _ := json.Marshal(struct {
			Request
			Tools []int `json:"tools"`
		}{r, []int{1}})
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		calls := s.Calls()
		return call{resp.StatusCode, string(data)}, calls[len(calls)-1].Answer
	}
	talk := func(model string) (*Server, Request) {
		s := New(nil)
		t.Cleanup(s.Close)
		r := Request{Model: model, Thinking: Thinking{Type: "adaptive"}}
		for _, prompt := range []string{"one", "two", "three"} {
			r.Messages = append(r.Messages, user(Text(prompt)))
			got, answer := ask(s, r)
			if got.status != http.StatusOK {
				t.Fatalf("%q: %+v", prompt, got)
			}
			r.Messages = append(r.Messages, assistant(answer...))
		}
		r.Messages = append(r.Messages, user(Text("four")))
		return s, r
	}
	edit := func(r Request, n int, c Content) Request {
		r.Messages = slices.Clone(r.Messages)
		r.Messages[n].Content = c
		return r
	}
	const model = "claude-opus-5-5"
	s, r := talk(model)
	for _, c := range []struct {
		name    string
		r       Request
		places  string // of all blocks that are bound to another conversation
		message string // a part of the refusal
	}{
		{"unchanged", r, "", ""},
		{"the second prompt", edit(r, 2, Content{Text("other")}), "messages.3.content.0 messages.5.content.0", "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."},
		{"the last prompt", edit(r, 6, Content{Text("other")}), "", ""},
		{"thinking from the beginning", edit(r, 1, r.Messages[1].Content[1:]), "", ""},
		{"thinking in the middle", edit(r, 3, r.Messages[3].Content[1:]), "messages.5.content.0", "messages.5.content.0: Invalid `signature` in `thinking` block. The `thinking` block that preceded this one"},
		{"only the named block", edit(edit(r, 2, Content{Text("other")}), 3, r.Messages[3].Content[1:]), "messages.5.content.0", "bound to a different conversation"},
		{"the named block and the later one", edit(edit(edit(r, 2, Content{Text("other")}), 3, r.Messages[3].Content[1:]), 5, r.Messages[5].Content[1:]), "", ""},
	} {
		got, _ := ask(s, c.r)
		calls := s.Calls()
		last := calls[len(calls)-1]
		if strings.Join(last.Unbound, " ") != c.places || (last.Rule == "R28") != (c.message != "") || !strings.Contains(last.Message, c.message) || (got.status == http.StatusOK) != (c.message == "") {
			t.Errorf("%s: %d, %q, %s %s", c.name, got.status, last.Unbound, last.Rule, last.Message)
		}
		drop := c.r
		drop.Thinking.BlockBinding.PrefixMismatchBehavior = "drop_block"
		if got, _ := ask(s, drop); got.status != http.StatusOK {
			t.Errorf("%s, drop_block: %+v", c.name, got)
		}
	}
	s, r = talk("claude-sonnet-4-5")
	if got, _ := ask(s, edit(r, 2, Content{Text("other")})); got.status != http.StatusOK {
		t.Errorf("a model that does not bind thinking: %+v", got)
	}
}
