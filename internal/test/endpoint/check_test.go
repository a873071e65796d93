package endpoint

import (
	"encoding/json"
	"strings"
	"testing"
)

func user(blocks ...Block) Message      { return Message{"user", blocks} }
func assistant(blocks ...Block) Message { return Message{"assistant", blocks} }

func use(id string) Block {
	return Block{Type: "tool_use", ID: id, Name: "bash", Input: json.RawMessage(`{}`)}
}

func result(id string, inner ...Block) Block {
	return Block{Type: "tool_result", ToolUseID: id, Content: inner}
}

const (
	dot     = "R0lGODdhAQABAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs=" // a GIF of one pixel
	wideDot = "R0lGODdhKCMBAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs=" // on a screen of 9000
)

// imageSized returns an image of that many bytes in base64.
func imageSized(size int) Block {
	return imageOf("image/gif", dot[:44]+strings.Repeat("A", size-44))
}

func imageOf(mediaType, data string) Block {
	return Block{Type: "image", Source: Source{Type: "base64", MediaType: mediaType, Data: data}}
}

func with(b Block, change func(*Block)) Block {
	change(&b)
	return b
}

func input(b Block, raw string) Block {
	return with(b, func(b *Block) { b.Input = json.RawMessage(raw) })
}

func signed(b Block, signature *string) Block {
	return with(b, func(b *Block) { b.Signature = signature })
}

// A check is one conversation and the rule that it breaks, or "".
type check struct {
	name     string
	off      bool // thinking is off
	messages []Message
	rule     string
	words    string // the provider's error text
}

var (
	hi       = user(Text("hi"))
	redacted = Block{Type: "redacted_thinking", Data: "x"}
	empty    = ""
)

const noResult = " Each `tool_use` block must have a corresponding `tool_result` block in the next message."

var checks = []check{
	{name: "one prompt", messages: []Message{hi}},
	{name: "a whole loop", messages: []Message{
		hi, assistant(SignedThinking("a"), Text("b"), use("1"), use("2")), user(result("1"), result("2")), assistant(SignedThinking("c"), Text("d")), hi,
	}},

	{"R1 result missing", false, []Message{hi, assistant(SignedThinking("a"), use("1")), hi}, "R1", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1." + noResult},
	{"R1 one of two missing", false, []Message{hi, assistant(SignedThinking("a"), use("1"), use("2")), user(result("1"))}, "R1", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 2." + noResult},
	{"R1 nothing follows", false, []Message{hi, assistant(use("1"), use("2"))}, "R1", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1, 2." + noResult},
	{"R1 text after the call", false, []Message{hi, assistant(SignedThinking("a"), use("1"), Text("b")), user(result("1"))}, "R1", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1." + noResult},
	{"R1 text after the call in a joined turn", false, []Message{hi, assistant(SignedThinking("a"), use("1")), assistant(Text("b")), user(result("1"))}, "R1", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1." + noResult},
	{"R1 text before the result", false, []Message{hi, assistant(SignedThinking("a"), use("1")), user(Text("b"), result("1"))}, "R1", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1." + noResult},
	{name: "R1 text after the result", messages: []Message{hi, assistant(SignedThinking("a"), use("1")), user(result("1"), Text("b"))}},
	{name: "R1 results in two messages of one turn", messages: []Message{hi, assistant(SignedThinking("a"), use("1"), use("2")), user(result("1")), user(result("2"))}},

	{"R2 no call at all", false, []Message{user(result("1"))}, "R2", "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
	{"R2 the call is older", false, []Message{hi, assistant(use("1")), user(result("1")), assistant(Text("a")), user(Text("b"), result("1"))}, "R2", "messages.4.content.1: unexpected `tool_use_id` found in `tool_result` blocks: 1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
	{name: "R2 two calls, two results", messages: []Message{hi, assistant(SignedThinking("a"), use("1"), use("2")), user(result("2"), result("1"))}},

	{"R3 loop open, call first", false, []Message{hi, assistant(use("1")), user(result("1"))}, "R3", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."},
	{"R3 loop open, text first", false, []Message{hi, assistant(Text("a"), SignedThinking("b"), use("1")), user(result("1"), Text("c"))}, "R3", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."},
	{name: "R3 redacted thinking first", messages: []Message{hi, assistant(redacted, use("1")), user(result("1"))}},
	{name: "R3 loop closed", messages: []Message{hi, assistant(use("1")), user(result("1")), assistant(Text("a")), hi}},
	{name: "R3 thinking off", off: true, messages: []Message{hi, assistant(use("1")), user(result("1"))}},

	{"R4 thinking at the end", true, []Message{hi, assistant(Text("a"), SignedThinking("b"), Text("c"))}, "R4", "messages.1.content.1: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."},
	{"R4 redacted thinking", true, []Message{hi, assistant(redacted, Text("c"))}, "R4", "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `redacted_thinking`."},
	{"R4 loop open", true, []Message{hi, assistant(SignedThinking("b"), use("1")), user(result("1"))}, "R4", "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."},
	{"R4 loop open, a prompt after it", true, []Message{hi, assistant(SignedThinking("b"), use("1")), user(result("1"), Text("c"))}, "R4", "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."},
	{name: "R4 answered since", off: true, messages: []Message{hi, assistant(Text("a"), SignedThinking("b"), Text("c")), hi}},
	{name: "R4 loop closed", off: true, messages: []Message{hi, assistant(SignedThinking("b"), use("1")), user(result("1")), assistant(Text("c")), hi}},
	{name: "R4 thinking in an older answer", off: true, messages: []Message{hi, assistant(SignedThinking("b"), Text("c")), hi, assistant(Text("d")), hi}},
	{name: "R4 thinking on", messages: []Message{hi, assistant(SignedThinking("b"), use("1")), user(result("1"))}},

	{"R5 empty answer", false, []Message{hi, assistant(Text("")), hi}, "R5", "messages: text content blocks must be non-empty"},
	{"R5 empty prompt", false, []Message{user(Text("a"), Text(""))}, "R5", "messages: text content blocks must be non-empty"},
	{name: "R5 empty text in a result", messages: []Message{hi, assistant(SignedThinking("a"), use("1")), user(result("1", Text("")))}},

	{"R6 answer without content", false, []Message{hi, assistant(), hi}, "R6", "messages.1: all messages must have non-empty content except for the optional final assistant message"},
	{"R6 prompt without content", false, []Message{hi, assistant(Text("a")), user()}, "R6", "messages.2: all messages must have non-empty content except for the optional final assistant message"},

	{"R7 altered text", false, []Message{hi, assistant(with(SignedThinking("a"), func(b *Block) { b.Thinking = "b" }), Text("c")), hi}, "R7", "messages.1.content.0: Invalid `signature` in `thinking` block"},
	{"R7 empty signature", false, []Message{hi, assistant(Text("a"), signed(SignedThinking("a"), &empty), Text("c")), hi}, "R7", "messages.1.content.1: Invalid `signature` in `thinking` block"},
	{name: "R7 thinking without text", messages: []Message{hi, assistant(SignedThinking(""), Text("c")), hi}},

	{"R9 no signature", false, []Message{hi, assistant(signed(SignedThinking("a"), nil), Text("c")), hi}, "R9", "messages.1.content.0.thinking.signature: Field required"},
	{name: "R9 redacted thinking has none", messages: []Message{hi, assistant(redacted, Text("c")), hi}},

	{"R10 thinking only", false, []Message{hi, assistant(SignedThinking("a")), hi}, "R10", "messages.1: The final block in an assistant message cannot be `thinking`."},
	{"R10 thinking last in an older turn", false, []Message{hi, assistant(Text("a"), redacted), hi, assistant(Text("b")), hi}, "R10", "messages.1: The final block in an assistant message cannot be `thinking`."},
	{name: "R10 text later in the joined turn", messages: []Message{hi, assistant(SignedThinking("a")), assistant(Text("b")), hi}},

	{"R11 blanks", false, []Message{hi, assistant(Text(" \n\t")), hi}, "R11", "messages: text content blocks must contain non-whitespace text"},
	{"R11 no-break space", false, []Message{user(Text("\u00a0"))}, "R11", "messages: text content blocks must contain non-whitespace text"},
	{name: "R11 blanks around text", messages: []Message{user(Text(" a "))}},

	{"R12 answer last", false, []Message{hi, assistant(Text("a"))}, "R12", "This model does not support assistant message prefill. The conversation must end with a user message."},
	{"R12 answer without content last", false, []Message{hi, assistant()}, "R12", "This model does not support assistant message prefill. The conversation must end with a user message."},

	{"R13 bad character", false, []Message{hi, assistant(SignedThinking("a"), use("a:0")), user(result("a:0"))}, "R13", "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
	{"R13 empty", false, []Message{hi, assistant(SignedThinking("a"), use("")), user(result(""))}, "R13", "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
	{"R13 a newline at the end", false, []Message{hi, assistant(SignedThinking("a"), use("a\n")), user(result("a\n"))}, "R13", "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
	{name: "R13 every good character", messages: []Message{hi, assistant(SignedThinking("a"), use("aZ09_-")), user(result("aZ09_-"))}},

	{"R14 text", false, []Message{hi, assistant(SignedThinking("a"), input(use("1"), `"{}"`)), user(result("1"))}, "R14", "messages.1.content.1.tool_use.input: Input should be a valid dictionary"},
	{"R14 list", false, []Message{hi, assistant(SignedThinking("a"), input(use("1"), `[]`)), user(result("1"))}, "R14", "messages.1.content.1.tool_use.input: Input should be a valid dictionary"},
	{"R14 null", false, []Message{hi, assistant(SignedThinking("a"), input(use("1"), `null`)), user(result("1"))}, "R14", "messages.1.content.1.tool_use.input: Input should be a valid dictionary"},
	{"R14 absent", false, []Message{hi, assistant(SignedThinking("a"), input(use("1"), ``)), user(result("1"))}, "R14", "messages.1.content.1.tool_use.input: Input should be a valid dictionary"},
	{name: "R14 object", messages: []Message{hi, assistant(SignedThinking("a"), input(use("1"), `{"a":1}`)), user(result("1"))}},

	{"R15 in a prompt", false, []Message{user(Text("a"), imageSized(largestImage+1))}, "R15", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5242881 bytes > 5242880 bytes"},
	{"R15 in a result", false, []Message{hi, assistant(SignedThinking("a"), use("1")), user(result("1", Text("b"), imageSized(largestImage+4)))}, "R15", "messages.2.content.0.tool_result.content.1.image.source.base64: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes"},
	{name: "R15 just small enough", messages: []Message{user(imageSized(largestImage))}},

	{"R18 empty", false, []Message{user(imageOf("image/png", ""))}, "R18", "messages.0.content.0.image.source.base64: image cannot be empty"},
	{"R18 no base64", false, []Message{user(imageOf("image/png", "AAAAA!"))}, "R18", "messages.0.content.0.image.source.base64: invalid base64 data"},
	{"R18 a text in a result", false, []Message{hi, assistant(SignedThinking("a"), use("1")), user(result("1", imageOf("image/png", "YSB0ZXh0")))}, "R18", "Could not process image"},
	{"R19 svg", false, []Message{user(imageOf("image/svg+xml", "PHN2Zy8+"))}, "R19", "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"},
	{"R20 other type", false, []Message{user(imageOf("image/png", dot))}, "R20", "messages.0.content.0.image.source.base64: The image was specified using the image/png media type, but the image appears to be a image/gif image"},
	{"R21 too wide", false, []Message{user(imageOf("image/gif", wideDot))}, "R21", "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"},

	{"R16 answer first", false, []Message{assistant(Text("a")), hi}, "R16", `messages: first message must use the "user" role`},

	{"R17 in one turn", false, []Message{hi, assistant(SignedThinking("a"), use("1"), use("1")), user(result("1"), result("1"))}, "R17", "messages.1: `tool_use` ids must be unique"},
	{"R17 in two turns", false, []Message{hi, assistant(use("1")), user(result("1")), assistant(SignedThinking("a"), use("1")), user(result("1"))}, "R17", "messages.3: `tool_use` ids must be unique"},
}

// TestCheck: Check returns the first rule that a conversation breaks, with the provider's error text.
func TestCheck(t *testing.T) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			r := Request{Messages: c.messages}
			if !c.off {
				r.Thinking.Type = "enabled"
			}
			rule, words := Check(r)
			if rule != c.rule || words != c.words {
				t.Errorf("Check = %q %q, want %q %q", rule, words, c.rule, c.words)
			}
		})
	}
}

// TestCheckChangedThinking: R8 compares the assistant's last turn with the earlier answers.
func TestCheckChangedThinking(t *testing.T) {
	const words = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
	called := Content{SignedThinking("a"), redacted, Text("b"), use("1")}
	spoke := Content{SignedThinking("c"), Text("d")}
	for _, c := range []struct {
		name string
		turn Content
		rule string
	}{
		{"unchanged", called, ""},
		{"one block lost", Content{SignedThinking("a"), use("1")}, "R8"},
		{"order changed", Content{redacted, SignedThinking("a"), use("1")}, "R8"},
		{"one block twice", Content{SignedThinking("a"), SignedThinking("a"), redacted, use("1")}, "R8"},
		{"other thinking", Content{SignedThinking("x"), redacted, use("1")}, "R8"},
		{"text lost", Content{SignedThinking("a"), redacted, use("1")}, ""},
		{"all thinking lost is another rule", Content{Text("b"), use("1")}, "R3"},
		{"not answered here", Content{SignedThinking("x"), use("2")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			messages := []Message{hi, assistant(c.turn...), user(result(c.turn[len(c.turn)-1].ID))}
			rule, got := Check(Request{Thinking: Thinking{Type: "adaptive"}, Messages: messages}, spoke, called)
			if rule != c.rule || rule == "R8" && got != words {
				t.Errorf("Check = %q %q, want %q", rule, got, c.rule)
			}
		})
	}

	t.Run("two answers in one turn", func(t *testing.T) {
		messages := []Message{hi, assistant(spoke...), assistant(called...), user(result("1"))}
		if rule, got := Check(Request{Thinking: Thinking{Type: "enabled"}, Messages: messages}, spoke, called); rule != "" {
			t.Errorf("Check = %q %q, want none", rule, got)
		}
	})
}

func TestViolations(t *testing.T) {
	r := Request{Messages: []Message{assistant(Text(" "), use("")), user(Text(""))}}
	var got []string
	for _, v := range Violations(r) {
		got = append(got, v.Rule)
	}
	if got, want := strings.Join(got, " "), "R1 R5 R11 R13 R16"; got != want {
		t.Errorf("Violations = %s, want %s", got, want)
	}
}

// TestRulesAreTested: a row of the tests breaks each rule.
func TestRulesAreTested(t *testing.T) {
	refused := map[string]bool{"R8": true, "R28": true} // TestCheckChangedThinking, TestBoundThinking
	for _, c := range checks {
		refused[c.rule] = true
	}
	if len(messageRules) != 22 {
		t.Errorf("%d rules, want 22", len(messageRules))
	}
	for _, r := range messageRules {
		if !refused[r.code] {
			t.Errorf("no row refuses for %s", r.code)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, body string
		messages   int // of content in the first message; -1: an error
	}{
		{"text", `{"messages":[{"role":"user","content":"hi"}]}`, 1},
		{"empty text", `{"messages":[{"role":"user","content":""}]}`, 0},
		{"blocks", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"novelty","x":1}]}]}`, 2},
		{"no JSON", `{`, -1},
		{"content of another kind", `{"messages":[{"role":"user","content":7}]}`, -1},
		{"block of another kind", `{"messages":[{"role":"user","content":[7]}]}`, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Parse([]byte(c.body))
			if (err != nil) != (c.messages < 0) {
				t.Fatalf("Parse(%s): error %v", c.body, err)
			}
			if err == nil && len(r.Messages[0].Content) != c.messages {
				t.Errorf("Parse(%s) = %+v, want %d blocks", c.body, r, c.messages)
			}
		})
	}
}
