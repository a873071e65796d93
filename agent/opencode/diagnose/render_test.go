package diagnose

import (
	"encoding/json"
	"slices"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/endpoint"
)

// endpointRequest returns the request that OpenCode sends for a session and one more prompt. It uses no product code,
// and follows docs/opencode.md, "What becomes of a record in the request".
func endpointRequest(s *record.Session) endpoint.Request {
	r := endpoint.Request{Thinking: endpoint.Thinking{Type: "enabled"}}
	add := func(role string, c endpoint.Content) {
		if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == role { // the agent joins neighbours
			r.Messages[n-1].Content = append(r.Messages[n-1].Content, c...)
			return
		}
		r.Messages = append(r.Messages, endpoint.Message{Role: role, Content: c})
	}
	for _, m := range s.Messages {
		if m.Role == change.RoleUser {
			if c := promptContent(m.Parts); len(c) > 0 {
				add("user", c)
			}
			continue
		}
		if m.Failed && m.JSON.TextAt("error", "name") != "MessageAbortedError" || m.Failed && !slices.ContainsFunc(m.Parts, func(p record.Part) bool {
			return p.Type != "step-start" && p.Type != "reasoning"
		}) {
			continue
		}
		for step := range m.Steps() {
			blocks, results, any := stepContent(step)
			if any {
				add("assistant", blocks)
			}
			if len(results) > 0 {
				add("user", results)
			}
		}
	}
	add("user", endpoint.Content{endpoint.Text("one more")})
	return r
}

func promptContent(parts []record.Part) (c endpoint.Content) {
	for _, p := range parts {
		switch {
		case p.Type == "file":
			c = append(c, endpoint.Block{Type: "image"})
		case p.Type == "text" && !p.Ignored && p.Text != "":
			c = append(c, endpoint.Text(p.Text))
		}
	}
	return c
}

// stepContent returns the content of a step and of its results. any reports whether the step is sent, even without
// content: OpenCode removes unsigned reasoning after it has built the message.
func stepContent(step []record.Part) (blocks, results endpoint.Content, any bool) {
	for _, p := range step {
		switch {
		case p.Type == "text" && !p.Ignored && p.Text != "":
			blocks, any = append(blocks, endpoint.Text(p.Text)), true
		case p.Type == "reasoning" && p.Signature != "":
			blocks, any = append(blocks, endpoint.Block{Type: "thinking", Thinking: p.Text, Signature: &p.Signature}), true
		case p.Type == "reasoning":
			any = true
		case p.Type == "tool":
			blocks, any = append(blocks, endpoint.Block{Type: "tool_use", ID: p.CallID, Input: json.RawMessage("{}")}), true
			results = append(results, endpoint.Block{Type: "tool_result", ToolUseID: p.CallID})
		}
	}
	return blocks, results, any
}

// refusedRules returns the rules that the session breaks, of the rules that endpointRequest is made for.
func refusedRules(s *record.Session) []string {
	var rules []string
	for _, v := range endpoint.Violations(endpointRequest(s)) {
		if slices.Contains([]string{"R1", "R2", "R5", "R6", "R10", "R11", "R16"}, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	return rules
}

// TestRender: the endpoint refuses the rendered request of a damaged session, so the other tests of refusedRules can
// fail.
func TestRender(t *testing.T) {
	for _, c := range []struct {
		name string
		turn turn
		want string
	}{
		{"healthy", answer(stepStart, signed, hi, bash), ""},
		{"last", answer(hi, signed), "R10"},
		{"after a call", answer(signed, bash, signed2), "R1"},
		{"blank", answer(blank), "R11"},
		{"thinking only", answer(signed), "R10"},
		{"unsigned only", answer(unsigned), "R6"},
	} {
		got := ""
		if rules := refusedRules(build(user(hi), c.turn, user(hi))); len(rules) > 0 {
			got = rules[0]
		}
		if got != c.want {
			t.Errorf("%s: refused by %q, want %q", c.name, got, c.want)
		}
	}
}
