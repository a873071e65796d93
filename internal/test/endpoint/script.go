package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// signingKey is the key of all Anthropic signatures; the stores in testdata were written with it.
const signingKey = "oracle-signing-key"

// A Script returns the answer to the nth request, counted from 1. It is called for requests
// that break no rule.
type Script func(n int, r Request) Content

// An Answer is the answer of a model of any provider.
type Answer struct {
	Thinking, Text string
	Calls          []ToolCall
}

// A ToolCall is a call of the bash tool.
type ToolCall struct{ Command, Description string }

func (c ToolCall) input() string {
	data, _ := json.Marshal(map[string]string{"command": c.Command, "description": c.Description}) // strings
	return string(data)
}

// plainAnswer returns the nth answer, as in the stores in testdata: a prompt with the word TOOLS
// is answered with two bash calls in one step, one with TOOL with one, a tool result with
// "Done n.", anything else with "Hello n.".
func plainAnswer(r parsedRequest, n int) Answer {
	if r.IsTitle() {
		return Answer{Text: "A title"}
	}
	a := Answer{Thinking: fmt.Sprintf("Considering request %d.", n)}
	switch text, isResult := r.prompt(); {
	case isResult:
		a.Text = fmt.Sprintf("Done %d.", n)
	case strings.Contains(text, "TOOLS"):
		a.Text, a.Calls = "Running two.", []ToolCall{{"echo one", "one"}, {"echo two", "two"}}
	case strings.Contains(text, "TOOL"):
		a.Text, a.Calls = "Running.", []ToolCall{{"echo hi", "says hi"}}
	default:
		a.Text = fmt.Sprintf("Hello %d.", n)
	}
	return a
}

// Plain is the script of the stores in testdata. Signed thinking comes first if thinking is on.
func Plain(n int, r Request) Content {
	a := plainAnswer(conversation{Request: r}, n)
	var answer Content
	if a.Thinking != "" && r.Thinking.On() {
		answer = Content{SignedThinking(a.Thinking)}
	}
	answer = append(answer, Text(a.Text))
	for i, c := range a.Calls {
		answer = append(answer, Bash(r, string(rune('A'+i)), c.Command, c.Description))
	}
	return answer
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: "text", Text: s} }

// Sign returns the signature of a thinking text.
func Sign(thinking string) string { return sign(signingKey, thinking) }

// SignedThinking returns a thinking block with its signature.
func SignedThinking(s string) Block {
	signature := Sign(s)
	return Block{Type: "thinking", Thinking: s, Signature: &signature}
}

// Bash returns a call of the bash tool. Its id consists of a hash of the conversation, so that no earlier
// call has it, and of suffix, which differs for the calls of one answer.
func Bash(r Request, suffix, command, description string) Block {
	conversation, _ := json.Marshal(r.Messages) // it was decoded from JSON
	sum := sha256.Sum256(conversation)
	return Block{Type: "tool_use", ID: "toolu_" + hex.EncodeToString(sum[:8]) + suffix, Name: "bash", Input: json.RawMessage(ToolCall{command, description}.input())}
}
