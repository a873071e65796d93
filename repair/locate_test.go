package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/internal/provider"
	"mend/internal/provider/chat"
	"mend/internal/request"
	"mend/repair"
)

// TestNearestThinking: an error that names a message without thinking is about the nearest message with thinking, at most
// five before it or two after it, or else about the newest one.
func TestNearestThinking(t *testing.T) {
	for _, x := range []struct {
		messages int
		thinking []int // the answers that have it
		index    int   // in the error
		want     int   // the answer that loses its thinking
	}{
		{20, []int{5, 19}, 6, 5},
		{20, []int{7, 19}, 6, 7},
		{20, []int{5, 7, 19}, 6, 5},
		{20, []int{3, 7, 19}, 5, 3},
		{20, []int{7, 11, 19}, 5, 7},
		{20, []int{3, 9, 19}, 6, 3},
		{20, []int{9, 19}, 6, 19},
		{20, []int{3, 11, 19}, 7, 3},
		{20, []int{11, 19}, 7, 19},
		{20, []int{3, 13, 19}, 8, 3},
		{20, []int{13, 19}, 8, 19},
		{20, []int{3, 19}, 9, 19},
		{20, []int{1, 19}, 0, 1},
		{20, []int{3, 19}, 0, 19},
		{8, []int{1, 5}, 7, 5},
		{9, []int{1, 5}, 8, 5},
		{9, []int{1, 5}, 9, 5},
	} {
		var all []message
		for i := range x.messages {
			m := prompt(text("do"))
			if i%2 == 1 {
				m = answer(text("ok"))
			}
			if slices.Contains(x.thinking, i) {
				m = answer(think("so", "sig"), text("ok"))
			}
			all = append(all, m)
		}
		c := newCase(newToy(claude, all...))
		r, err := repair.Plan("ses_1", c, repair.Request{Error: errorAt("R7", repair.ThinkingSignature, x.index, -1)})
		var fixed []string
		for _, d := range r.Fixed {
			fixed = append(fixed, d.Message)
		}
		if want := fmt.Sprint("m", x.want); err != nil || !slices.Equal(fixed, []string{want}) {
			t.Errorf("thinking in %v, error at %d: fixed %v, %v, want %s", x.thinking, x.index, fixed, err, want)
		}
	}
}

// TestContentOfErrors: an error selects the content that it names by its place, id or link.
func TestContentOfErrors(t *testing.T) {
	const (
		one   = "user[1] assistant[~a(sa) one] "
		two   = "user[2] assistant[~b(sb) ~c(sc) two] "
		three = "user[3] assistant[~d(sd) three] "
		next  = "user[4]"

		thinking, file = "thinking", "The file."
		taken          = "[image/png: it could not be sent to the model]"
	)
	except := func(c repair.Class, e *repair.APIError) repair.Request {
		return repair.Request{Error: e, Except: []repair.Class{c}}
	}
	linked := func(url string) *request.Block {
		return &request.Block{Type: request.Image, File: request.File{Mime: "image/png", URL: url}}
	}
	link := errorAt("", repair.InvalidFile, -1, -1)
	link.Text = "Failed to download https://a.b/2.png: no"
	items := func(ids ...string) *repair.APIError {
		return &repair.APIError{Class: repair.ItemID, Index: -1, Block: -1, Items: ids, Text: "the error"}
	}
	badCalls := func() []message {
		return []message{
			prompt(text("1")), answers(step(done("a:1", "ls", "{}", "1")), step(text("ok"))),
			prompt(text("2")), answers(step(done("b:2", "ls", "{}", "2")), step(text("ok"))),
		}
	}
	named := errorAt("R13", repair.InvalidToolCall, -1, -1, "b:2")
	both := errorAt("R13", repair.InvalidToolCall, -1, -1, "b:2")
	both.Items = []string{"x"}
	runFixed(t, []fixCase{
		{
			name: "the first block of a turn", provider: claude, session: thoughts(), rules: "R7", loses: thinking,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, 0)},
			want:    one + "user[2] assistant[~c(sc) two] " + three + next,
		},
		{
			name:     "a block after the last one: the rest of its turn",
			provider: claude, session: thoughts(), rules: "R7 R7", loses: thinking,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, 3)},
			want:    one + "user[2] assistant[two] " + three + next,
		},
		{
			name: "a turn after the last one: the newest", provider: claude, session: thoughts(), rules: "R7", loses: thinking,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 7, -1)},
			want:    one + two + "user[3] assistant[three] " + next,
		},
		{
			name:     "a prompt before a model that does not think: the newest",
			provider: claude, rules: "thinking", loses: thinking,
			session: []message{
				prompt(text("1")), answer(text("one")), prompt(text("2")), answer(think("a", "s"), text("two")),
				prompt(text("3")), answer(think("b", "s"), text("three")),
			},
			request: repair.Request{Error: errorAt("", repair.ThinkingDisabledViolation, 0, -1)},
			want:    "user[1] assistant[one] user[2] assistant[~a(s) two] user[3] assistant[three]",
		},
		{
			name: "the first message", provider: claude, rules: "R7", loses: thinking,
			session: []message{answer(think("a", "s"), text("one")), prompt(text("1")), answer(think("b", "s"), text("two"))},
			request: except(repair.FirstPromptMissing, errorAt("R7", repair.ThinkingSignature, 0, -1)),
			want:    "assistant[one] user[1] assistant[~b(s) two]",
		},
		{
			name: "the prompt after the first message", provider: claude, rules: "R7", loses: thinking,
			session: []message{answer(think("a", "s"), text("one")), prompt(text("1")), answer(think("b", "s"), text("two"))},
			request: except(repair.FirstPromptMissing, errorAt("R7", repair.ThinkingSignature, 1, -1)),
			want:    "assistant[one] user[1] assistant[~b(s) two]",
		},
		{
			name: "a call by its id", provider: claude, session: badCalls(), rules: "R13",
			request: except(repair.InvalidToolCall, named),
			want:    "user[1] assistant[#a:1:ls{}=1 | ok] user[2] assistant[#call_m3p0:ls{}=2 | ok]",
		},
		{
			name: "a call by its id, beside an item", provider: claude, session: badCalls(), rules: "R13",
			request: except(repair.InvalidToolCall, both),
			want:    "user[1] assistant[#a:1:ls{}=1 | ok] user[2] assistant[#call_m3p0:ls{}=2 | ok]",
		},
		{
			name: "an item by its id", provider: gpt, rules: "item",
			session: []message{
				prompt(text("hi")), answer(item("msg_1", text("a"))), prompt(text("so")), answer(item("msg_2", text("b"))),
			},
			request: repair.Request{Error: items("msg_2")},
			want:    "user[hi] assistant[a@msg_1] user[so] assistant[b]",
		},
		{
			name: "a missing item: all", provider: gpt, rules: "item item",
			session: []message{
				prompt(text("hi")), answer(item("msg_1", text("a")), text("c")), prompt(text("so")),
				answer(item("msg_2", text("b"))),
			},
			request: repair.Request{Error: items("msg_3")},
			want:    "user[hi] assistant[a c] user[so] assistant[b]",
		},
		{
			name:     "reasoning before the first call of a turn without thinking",
			provider: chat.Provider{Field: true}, rules: "reasoning",
			session: []message{
				prompt(text("hi")), answers(step(done("a", "ls", "{}", "1"), done("b", "ls", "{}", "2")),
					step(think("so", "s"), done("c", "ls", "{}", "3")), step(text("ok"))),
			},
			request: repair.Request{Error: errorAt("V3", repair.ThinkingBlockOrder, -1, -1)},
			want:    "user[hi] assistant[~[user interrupted] #a:ls{}=1 #b:ls{}=2 | ~so(s) #c:ls{}=3 | ok]",
		},
		{
			name: "no reasoning for an error of another rule", provider: chat.Provider{Field: true},
			session: []message{prompt(text("hi")), answers(step(done("a", "ls", "{}", "1")), step(text("ok")))},
			request: repair.Request{Error: errorAt("R3", repair.ThinkingBlockOrder, -1, -1)},
			want:    "user[hi] assistant[#a:ls{}=1 | ok]",
		},
		{
			name: "an image by its place", provider: claude, rules: "image", loses: file,
			session: []message{prompt(text("hi"), image("image/png", png), image("image/png", png)), answer(text("ok"))},
			request: repair.Request{Error: errorAt("", repair.InvalidFile, 0, 2)},
			want:    "user[hi <image/png> " + taken + "] assistant[ok]",
		},
		{
			name: "a document by its place", provider: claude, rules: "image", loses: file,
			session: []message{
				prompt(text("hi"), &request.Block{Type: request.Document, File: request.File{Mime: "image/png", Data: png}}),
				answer(text("ok")),
			},
			request: repair.Request{Error: errorAt("", repair.InvalidFile, 0, 1)},
			want:    "user[hi " + taken + "] assistant[ok]",
		},
		{
			name: "a text at the place of an image", provider: claude,
			session: []message{prompt(text("hi"), image("image/png", png)), answer(text("ok"))},
			request: repair.Request{Error: errorAt("", repair.InvalidFile, 0, 0)},
			want:    "user[hi <image/png>] assistant[ok]",
		},
		{
			name: "an image by its link", provider: gateway, rules: "image", loses: file,
			session: []message{prompt(text("hi"), linked("https://a.b/1.png"), linked("https://a.b/2.png")), answer(text("ok"))},
			request: repair.Request{Error: link},
			want:    "user[hi <image/png> " + taken + "] assistant[ok]",
		},
		{
			name: "no image is named", provider: claude,
			session: []message{prompt(text("hi"), image("image/png", png)), answer(text("ok"))},
			request: repair.Request{Error: errorAt("", repair.InvalidFile, -1, -1)},
			want:    "user[hi <image/png>] assistant[ok]",
		},
	})
}

// TestErrorInRecord: if a record has several blocks, only the block that the error names is fixed.
func TestErrorInRecord(t *testing.T) {
	s := newToy(claude, thoughts()...).together(3)
	r, err := repair.Plan("ses_1", newCase(s), repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, 1)})
	if got := describe(stateOf(r.After).messages[3:4]); err != nil || got != "assistant[~b(sb) two]" {
		t.Errorf("got %s, %v", got, err)
	}
}

// ownRules is a provider with one more rule.
type ownRules struct {
	provider.Provider

	own provider.Rule
}

func (p ownRules) Rules() []provider.Rule { return append(p.Provider.Rules(), p.own) }

// TestMatchErrorElsewhere: an error may match another setting or a rule of the agent.
func TestMatchErrorElsewhere(t *testing.T) {
	loop := newToy(claude, prompt(text("1")), answer(done("c", "ls", "{}", "out")))
	loop.settings = []repair.Setting{{Thinking: false}, {Thinking: true}}
	first := newToy(claude, answer(text("so"), call("c", "ls", "{}")), prompt(text("1")), answer(text("ok")))
	twice := func() *toy {
		item1 := func(s string) *request.Block { return item("msg_1", text(s)) }
		return newToy(gpt, prompt(text("1")), answer(item1("a")), prompt(text("2")), answer(item1("b")))
	}
	quoted := errorAt("O4", repair.ItemID, 3, -1)
	quoted.Items = []string{"msg_1"}
	elsewhere := errorAt("O4", repair.ItemID, 4, -1)
	elsewhere.Items = quoted.Items
	long := "call_" + strings.Repeat("0", 40)
	own := newToy(ownRules{claude, provider.Rule{Code: "Z1", Find: func(q request.Request, _ bool) []request.Violation {
		return []request.Violation{provider.Violate(0, 0, q.Turns[0].Blocks[0]), {N: len(q.Turns), M: 0}}
	}}}, prompt(text("1")), answer(text("a")), prompt(text("2")))
	missing := repair.ToolResultMissing
	for _, x := range []struct {
		name  string
		s     *toy
		error *repair.APIError
		want  repair.Degree
		n, m  int
	}{
		{"in another setting", loop, errorAt("R3", repair.ThinkingBlockOrder, 1, -1), repair.BreaksItOtherwise, 1, 0},
		{"in the first turn", first, errorAt("R1", missing, 0, -1), repair.BreaksThere, 0, 1},
		{"another block of the first turn", first, errorAt("R1", missing, 0, 0), repair.BreaksElsewhere, 0, 1},
		{"a call of the first turn", first, errorAt("R1", missing, -1, -1, "c"), repair.BreaksThere, 0, 1},
		{
			"not in the first turn", newToy(claude, prompt(text("1")), answer(call("c", "ls", "{}"))),
			errorAt("R1", missing, 0, -1), repair.BreaksElsewhere, 1, 0,
		},
		{
			"a rule of another provider, not in the first turn",
			newToy(claude, prompt(text("1")), answer(call("c", "ls", "{}"))), errorAt("O1", missing, 0, -1),
			repair.BreaksElsewhere, 1, 0,
		},
		{"the rule alone", first, errorAt("R1", "", 0, -1), repair.BreaksThere, 0, 1},
		{
			"an id of the least length", newToy(claude, prompt(text("1")), answer(call(long, "ls", "{}"))),
			errorAt("R1", missing, -1, -1, long[:32]), repair.BreaksThere, 1, 0,
		},
		{
			"no thinking in the first turn", newToy(claude, thoughts()...), errorAt("R7", repair.ThinkingSignature, 0, -1), 0,
			0, 0,
		},
		{
			"thinking somewhere", newToy(claude, thoughts()...), errorAt("R7", repair.ThinkingSignature, 3, 1),
			repair.HasContent, -1, -1,
		},
		{"an item at the place", twice(), quoted, repair.BreaksThere, 3, 0},
		{"an item that the error names, at another place", twice(), elsewhere, repair.HasQuoted, 3, 0},
		{"the class of a rule of the agent", own, errorAt("", repair.IncompleteRecord, -1, -1), repair.BreaksRule, 0, 0},
		{"another class than the agent's", own, errorAt("", repair.InvalidFile, -1, -1), 0, 0, 0},
		{"after the last turn", own, errorAt("Z1", repair.IncompleteRecord, 3, 1), repair.BreaksElsewhere, 0, 0},
	} {
		c := newCase(x.s, repair.Rule{Code: "Z1", Class: repair.IncompleteRecord})
		got := repair.MatchError(c, *x.error)
		if got.Degree != x.want || x.want != 0 && (got.N != x.n || got.M != x.m) {
			t.Errorf("%s: degree %d at %d, %d, want %d at %d, %d", x.name, got.Degree, got.N, got.M, x.want, x.n, x.m)
		}
	}
}

// TestIsNearUnknown: a violation is near unknown content in its own turn and in the adjacent turns.
func TestIsNearUnknown(t *testing.T) {
	for unknown, want := range []string{"0 1", "0 1 2", "1 2 3", "2 3 4", "3 4 5"} {
		q := request.Request{Turns: make([]request.Turn, 5)}
		q.Turns[unknown].Unknown = true
		var near []string
		for n := -1; n <= 6; n++ {
			if repair.IsNearUnknown(q, request.Violation{N: n}) {
				near = append(near, fmt.Sprint(n))
			}
		}
		if got := strings.Join(near, " "); got != want {
			t.Errorf("unknown content in turn %d is near %s, want %s", unknown, got, want)
		}
	}
}
