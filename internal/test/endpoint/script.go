package endpoint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// signingKey is the key of every signature; the stores in testdata were
// written with it.
const signingKey = "oracle-signing-key"

// title is the answer to a request that asks for a session's title.
const title = "A title"

// A Script returns the answer to the nth request, counted from 1. It is called for requests
// that break no rule.
type Script func(n int, r Request) Content

// Sign returns the signature of a thinking text.
func Sign(thinking string) string {
	mac := hmac.New(sha256.New, []byte(signingKey))
	mac.Write([]byte(thinking))
	return hex.EncodeToString(mac.Sum(nil))
}

// Plain is the script of the stores in testdata: a prompt with the word TOOLS
// is answered with two bash calls in one step, one with TOOL with one, a tool
// result with "Done n.", anything else with "Hello n.". Signed thinking comes
// first if thinking is on.
func Plain(n int, r Request) Content {
	if r.IsTitle() {
		return Content{Text(title)}
	}
	var answer Content
	if r.Thinking.On() {
		answer = Content{SignedThinking(fmt.Sprintf("Considering request %d.", n))}
	}
	switch prompt := lastBlock(r); {
	case prompt.Type == "tool_result":
		return append(answer, Text(fmt.Sprintf("Done %d.", n)))
	case strings.Contains(prompt.Text, "TOOLS"):
		return append(answer, Text("Running two."), Bash(r, "A", "echo one", "one"), Bash(r, "B", "echo two", "two"))
	case strings.Contains(prompt.Text, "TOOL"):
		return append(answer, Text("Running."), Bash(r, "A", "echo hi", "says hi"))
	default:
		return append(answer, Text(fmt.Sprintf("Hello %d.", n)))
	}
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: "text", Text: s} }

// SignedThinking returns a thinking block with its signature.
func SignedThinking(s string) Block {
	signature := Sign(s)
	return Block{Type: "thinking", Thinking: s, Signature: &signature}
}

// Bash returns a call of the bash tool. Its id is made of a hash of the conversation, so
// that no earlier call has it, and of suffix, which differs for the calls of one answer.
func Bash(r Request, suffix, command, description string) Block {
	// Values that were decoded from JSON can always be encoded.
	input, _ := json.Marshal(map[string]string{"command": command, "description": description})
	conversation, _ := json.Marshal(r.Messages)
	sum := sha256.Sum256(conversation)
	return Block{Type: "tool_use", ID: "toolu_" + hex.EncodeToString(sum[:8]) + suffix, Name: "bash", Input: input}
}

// lastBlock returns the last block of the request, or a zero one.
func lastBlock(r Request) Block {
	for n := len(r.Messages) - 1; n >= 0; n-- {
		if c := r.Messages[n].Content; len(c) > 0 {
			return c[len(c)-1]
		}
	}
	return Block{}
}
