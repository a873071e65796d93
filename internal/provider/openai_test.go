package provider_test

import (
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/internal/test/encode"
	"mend/internal/test/endpoint"
)

// items are the ids of the responses that the provider of the tests issued.
var items = map[string][]string{
	"rs_1": {"rs_1", "msg_1"}, "msg_1": {"rs_1", "msg_1"},
	"rs_2": {"rs_2", "msg_2"}, "msg_2": {"rs_2", "msg_2"},
	"rs_3": {"rs_3", "fc_3"}, "fc_3": {"rs_3", "fc_3"},
	"msg_4": {"msg_4"},
}

const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

// TestOpenAIRules: the rules find in each request what the strict endpoint refuses. The endpoint knows the ids that it
// issued.
func TestOpenAIRules(t *testing.T) {
	block := func(b request.Block, message string) *request.Block {
		b.Source = &change.Ref{Session: "ses_1", Message: message}
		return &b
	}
	reasoning := func(id, message string) *request.Block {
		return block(request.Block{Type: request.Thinking, Text: "a thought", ItemID: id, Reference: id != "", Unsigned: id != "", Signature: "x"}, message)
	}
	text := func(id, message string) *request.Block {
		return block(request.Block{Type: request.Text, Text: "a text", ItemID: id, Reference: true, Reasoned: id != "msg_4"}, message)
	}
	call := block(request.Block{Type: request.ToolUse, ToolID: "call_3", ToolName: "bash"}, "m3")
	result := block(request.Block{Type: request.ToolResult, ToolID: "call_3", Output: []byte(`"x"`)}, "m3")
	prompt := block(request.Block{Type: request.Text, Text: "a prompt"}, "m0")
	image := func(url, data string) *request.Block {
		return block(request.Block{Type: request.Image, File: request.File{URL: url, Mime: "image/png", Data: []byte(data)}}, "m0")
	}
	for name, c := range map[string]struct {
		want   string
		blocks []*request.Block
	}{
		"reasoning and its text":                      {"", []*request.Block{reasoning("rs_1", "m1"), text("msg_1", "m1")}},
		"two responses":                               {"", []*request.Block{reasoning("rs_1", "m1"), text("msg_1", "m1"), reasoning("rs_2", "m2"), text("msg_2", "m2")}},
		"reasoning and a call in full":                {"", []*request.Block{reasoning("rs_3", "m3"), call, result}},
		"reasoning at the end":                        {"O3", []*request.Block{reasoning("rs_1", "m1")}},
		"reasoning before a prompt":                   {"O3", []*request.Block{reasoning("rs_1", "m1"), prompt}},
		"reasoning before the text of another answer": {"O3", []*request.Block{reasoning("rs_1", "m1"), text("msg_4", "m4")}},
		"reasoning after its text":                    {"O3", []*request.Block{text("msg_1", "m1"), reasoning("rs_1", "m1")}},
		"a text without its reasoning":                {"O3", []*request.Block{text("msg_1", "m1")}},
		"a text after reasoning of another answer":    {"O3", []*request.Block{reasoning("rs_1", "m1"), text("msg_2", "m2")}},
		"a text of a response without reasoning":      {"", []*request.Block{text("msg_4", "m4")}},
		"reasoning without an id":                     {"", []*request.Block{reasoning("", "m1"), prompt}},
		"the same text twice":                         {"O4", []*request.Block{text("msg_4", "m4"), text("msg_4", "m4")}},
		"a call without a result":                     {"O1", []*request.Block{call}},
		"a result without a call":                     {"O2", []*request.Block{result}},
		"an image":                                    {"", []*request.Block{image("", dot)}},
		"a linked image":                              {"", []*request.Block{image("https://example.com/x", "")}},
		"an image without data":                       {"O9", []*request.Block{image("", "")}},
		"an image with other data":                    {"O9", []*request.Block{image("", "AAAA")}},
	} {
		q := request.Request{Turns: []request.Turn{{Role: request.RoleSystem}}}
		for _, b := range c.blocks {
			role := change.RoleAssistant
			switch {
			case b.Type == request.ToolResult:
				role = request.RoleTool
			case b.Source.Message == "m0":
				role = change.RoleUser
			}
			q.Turns = append(q.Turns, request.Turn{Role: role, Blocks: []*request.Block{b}})
		}
		body := encode.JSON(openai.Provider{}, q)
		known := endpoint.Known{Items: items, Encrypted: map[string]string{"x": endpoint.FirstAccount}}
		refused, err := endpoint.Refused("openai", "", body, known)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, v := range provider.Check(openai.Provider{}, q, true) {
			found = append(found, v.Rule)
		}
		found = slices.Compact(found)
		if got, want := strings.Join(found, " "), strings.Join(refused, " "); got != c.want || want != c.want {
			t.Errorf("%s: the rules find %q, the endpoint %q; want %q: %s", name, got, want, c.want, body)
		}
	}
}
