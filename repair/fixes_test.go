package repair_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/chat"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/repair"
)

// png is a picture of 1 × 1 pixels.
var png = []byte("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")

var (
	claude  = anthropic.Provider{}
	gpt     = openai.Provider{}
	gateway = chat.Provider{}
)

// A fixCase is a damaged session with the expected result of its repair.
type fixCase struct {
	name     string
	provider provider.Provider
	vendor   string
	thinking bool
	session  []message
	request  repair.Request
	rules    string // the rules of the fixed findings
	want     string // the session after the repair
	loses    string // a part of Loses; "" for nothing
	whyNot   string // a part of WhyNot; "" if every finding is fixed
}

func (x fixCase) run(t *testing.T) {
	s := newToy(x.provider, x.session...)
	s.vendor, s.thinking = x.vendor, x.thinking
	c := newCase(s)
	c.Texts = repair.TextsOf(x.request)
	r, err := repair.Plan("ses_1", c, x.request)
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(stateOf(r.After).messages); got != x.want {
		t.Errorf("got  %s\nwant %s", got, x.want)
	}
	var rules, loses, whyNot []string
	for _, d := range r.Fixed {
		rules = append(rules, d.Rule)
		if d.Loses != "" {
			loses = append(loses, d.Loses)
		}
		if d.Fix == "" {
			t.Errorf("%s has no text of its fix", d.Rule)
		}
	}
	for _, d := range r.Unfixable {
		whyNot = append(whyNot, d.WhyNot)
	}
	if got := strings.Join(rules, " "); got != x.rules {
		t.Errorf("fixed %q, want %q", got, x.rules)
	}
	if got := strings.Join(loses, " "); !strings.Contains(got, x.loses) || (got == "") != (x.loses == "") {
		t.Errorf("lost %q, want %q", got, x.loses)
	}
	if got := strings.Join(whyNot, " "); !strings.Contains(got, x.whyNot) || (got == "") != (x.whyNot == "") {
		t.Errorf("unfixable %q, want %q", got, x.whyNot)
	}
	if len(r.Plan.Ops) == 0 != (x.rules == "") {
		t.Errorf("%d ops", len(r.Plan.Ops))
	}
	again, err := repair.Plan("ses_1", newCase(newToy(x.provider, stateOf(r.After).messages...)), repair.Request{})
	if x.whyNot == "" && x.request.Error == nil && x.provider != nil && !x.thinking && (err != nil || len(again.Plan.Ops) > 0) {
		t.Errorf("the second plan has %d ops, %v", len(again.Plan.Ops), err)
	}
}

func runFixed(t *testing.T, all []fixCase) {
	t.Helper()
	for _, x := range all {
		t.Run(x.name, x.run)
	}
}

// TestFixCalls: the ids, inputs, names and results of calls are fixed.
func TestFixCalls(t *testing.T) {
	long := strings.Repeat("x", 65)
	runFixed(t, []fixCase{
		{
			name: "an id with a wrong character", provider: claude, rules: "R13",
			session: []message{prompt(text("hi")), answers(step(done("a:1", "ls", "{}", "out")), step(text("ok")))},
			want:    "user[hi] assistant[#call_m1p0:ls{}=out | ok]",
		},
		{
			name: "an empty id", provider: gateway, rules: "C4",
			session: []message{prompt(text("hi")), answers(step(text("I look"), done("", "ls", "{}", "out")), step(text("ok")))},
			want:    "user[hi] assistant[I look #call_m1p1:ls{}=out | ok]",
		},
		{
			name: "the id of an earlier call", provider: claude, rules: "R17",
			session: []message{
				prompt(text("hi")), answers(step(done("c", "ls", "{}", "1")), step(done("c", "ls", "{}", "2")), step(text("ok"))),
			},
			want: "user[hi] assistant[#c:ls{}=1 | #call_m1p1:ls{}=2 | ok]",
		},
		{
			name: "another call has the new id", provider: claude, rules: "R17",
			session: []message{
				prompt(text("hi")),
				answers(step(done("call_m1p1", "ls", "{}", "0"), done("c", "ls", "{}", "1")), step(text("ok"))),
				prompt(text("more")),
				answers(step(text("I look"), done("call_m3p1", "ls", "{}", "2")), step(text("ok"))),
				prompt(text("more")),
				answers(step(text("again"), done("c", "ls", "{}", "3")), step(text("ok"))),
			},
			want: "user[hi] assistant[#call_m1p1:ls{}=0 #c:ls{}=1 | ok] user[more] assistant[I look #call_m3p1:ls{}=2 | ok] " +
				"user[more] assistant[again #call_m5p1:ls{}=3 | ok]",
		},
		{
			name: "a new id that exists gets a suffix", provider: claude, rules: "R13",
			session: []message{
				prompt(text("hi")), answers(step(done("call_m3p0", "ls", "{}", "1")), step(text("ok"))),
				prompt(text("more")), answers(step(done("a:1", "ls", "{}", "2")), step(text("ok"))),
			},
			want: "user[hi] assistant[#call_m3p0:ls{}=1 | ok] user[more] assistant[#call_m3p0_mend:ls{}=2 | ok]",
		},
		{
			name: "a result in another record gets the id, too", provider: claude, rules: "R13 R13",
			session: []message{prompt(text("hi")), answer(call("a:1", "ls", "{}")), prompt(result("a:1", "out")), answer(text("ok"))},
			want:    "user[hi] assistant[#call_m1p0:ls{}] user[=call_m1p0=out] assistant[ok]",
		},
		{
			name: "two calls of a step with one id", provider: gateway, rules: "C3",
			session: []message{
				prompt(text("hi")), answers(step(done("c", "ls", "{}", "1"), done("c", "ls", "{}", "2")), step(text("ok"))),
			},
			want: "user[hi] assistant[#c:ls{}=1 #call_m1p1:ls{}=2 | ok]",
		},
		{
			name: "an id that is too long", provider: gpt, rules: "O6",
			session: []message{prompt(text("hi")), answers(step(done(long, "ls", "{}", "1")), step(text("ok")))},
			want:    "user[hi] assistant[#call_m1p0:ls{}=1 | ok]",
		},
		{
			name: "the id of an item that is too long", provider: gpt, rules: "O6",
			session: []message{prompt(text("hi")), answer(item("msg_"+long, text("ok"))), prompt(text("more")), answer(item("msg_1", text("ok")))},
			want:    "user[hi] assistant[ok] user[more] assistant[ok@msg_1]",
		},
		{
			name: "an input that is a text", provider: claude, rules: "R14",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", `"-l"`, "1")), step(text("ok")))},
			want:    `user[hi] assistant[#c:ls{"input":"-l"}=1 | ok]`,
		},
		{
			name: "an input that is a text with an object", provider: claude, rules: "R14",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", `"{\"a\":1}"`, "1")), step(text("ok")))},
			want:    `user[hi] assistant[#c:ls{"a":1}=1 | ok]`,
		},
		{
			name: "an input that is null or blank", provider: claude, rules: "R14 R14",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", "null", "1"), done("d", "ls", `" "`, "1")), step(text("ok")))},
			want:    `user[hi] assistant[#c:ls{}=1 #d:ls{}=1 | ok]`,
		},
		{
			name: "a name with a wrong character", provider: gpt, rules: "O5", loses: "The name that the model used.",
			session: []message{prompt(text("hi")), answers(step(done("c", "web search", "{}", "1")), step(text("ok")))},
			want:    "user[hi] assistant[#c:web_search{}=1 | ok]",
		},
		{
			name: "a name that is empty", provider: gpt, rules: "O5", loses: "The name that the model used.",
			session: []message{prompt(text("hi")), answers(step(done("c", "", "{}", "1")), step(text("ok")))},
			want:    "user[hi] assistant[#c:invalid{}=1 | ok]",
		},
		{
			name: "a text between a call and its result", provider: claude, rules: "R1",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", "{}", "1"), text("I look")), step(text("ok")))},
			want:    "user[hi] assistant[#c:ls{}=1 | I look | ok]",
		},
		{
			name: "a blank text between a call and its result", provider: claude, rules: "R1 R11",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", "{}", "1"), text(" ")), step(text("ok")))},
			want:    "user[hi] assistant[#c:ls{}=1 | ok]",
		},
		{
			name: "a result after the text of its prompt", provider: claude, whyNot: "mend knows no change",
			session: []message{prompt(text("hi")), answer(call("c", "ls", "{}")), prompt(text("stop"), result("c", "1")), answer(text("ok"))},
			want:    "user[hi] assistant[#c:ls{}] user[stop =c=1] assistant[ok]",
		},
		{
			name: "a call without a result", provider: claude, whyNot: "mend knows no change",
			session: []message{prompt(text("hi")), answer(call("c", "ls", "{}")), prompt(text("so?"))},
			want:    "user[hi] assistant[#c:ls{}] user[so?]",
		},
		{
			name: "ids of items of one response", provider: gpt, rules: "O3 O3",
			session: []message{
				prompt(text("hi")), answers(step(item("rs_1", think("", "sig")), item("fc_1", done("c", "ls", "{}", "1"))), step(text("ok"))),
				prompt(text("more")), answer(item("msg_1", &request.Block{Type: request.Text, Text: "yes", Reasoned: true})),
			},
			want: "user[hi] assistant[~(sig) #c:ls{}=1 | ok] user[more] assistant[yes]",
		},
		{
			name: "the id of an item in two messages", provider: gpt, rules: "O4",
			session: []message{
				prompt(text("hi")), answer(item("msg_1", text("a")), item("msg_3", text("b"))), prompt(text("more")), answer(item("msg_1", text("c"))),
				prompt(text("more")), answer(item("msg_2", text("d"))),
			},
			want: "user[hi] assistant[a b] user[more] assistant[c] user[more] assistant[d@msg_2]",
		},
		{
			name: "an output that is too long", provider: gpt, rules: "O12",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", "{}", strings.Repeat("x", 10485761))), step(text("ok")))},
			want:    "user[hi] assistant[#c:ls{}=" + request.Cleared + " | ok]",
		},
	})
}

// TestFixTexts: blank texts, messages without content and missing prompts are fixed.
func TestFixTexts(t *testing.T) {
	half := text("a�")
	half.HalfPair = true
	runFixed(t, []fixCase{
		{
			name: "an empty text beside another", provider: claude, rules: "R5",
			session: []message{prompt(text("hi")), answer(text(""), text("ok"))},
			want:    "user[hi] assistant[ok]",
		},
		{
			name: "a blank text alone", provider: claude, rules: "R11",
			session: []message{prompt(text("hi")), answer(text(" \n")), prompt(text("more"))},
			want:    "user[hi] assistant[[user interrupted]] user[more]",
		},
		{
			name: "the user's text for missing content", provider: claude, rules: "R11", request: repair.Request{Placeholder: "(nothing)"},
			session: []message{prompt(text(" ")), answer(text("ok"))},
			want:    "user[(nothing)] assistant[ok]",
		},
		{
			name: "a blank text after thinking", provider: claude, rules: "R11",
			session: []message{prompt(text("hi")), answer(think("so", "sig"), text(" ")), prompt(text("more"))},
			want:    "user[hi] assistant[~so(sig) [user interrupted]] user[more]",
		},
		{
			name: "a blank text after thinking and before a call", provider: claude, rules: "R11",
			session: []message{prompt(text("hi")), answers(step(think("so", "sig"), text(" "), done("c", "ls", "{}", "1")), step(text("ok")))},
			want:    "user[hi] assistant[~so(sig) #c:ls{}=1 | ok]",
		},
		{
			name: "an answer without content", provider: claude, rules: "R6",
			session: []message{prompt(text("hi")), answers(step()), prompt(text("more"))},
			want:    "user[hi] assistant[[user interrupted]] user[more]",
		},
		{
			name: "the first prompt is missing", provider: claude, rules: "R16",
			session: []message{answer(text("ok")), prompt(text("more"))},
			want:    "user[[user interrupted]] assistant[ok] user[more]",
		},
		{
			name: "half of a surrogate pair", provider: claude, rules: "R27",
			session: []message{prompt(half), answer(text("ok"))},
			want:    "user[a�] assistant[ok]",
		},
	})
}

// TestFixThinking: thinking in a wrong place, and thinking that the provider does not accept, is fixed.
func TestFixThinking(t *testing.T) {
	const fixedThinking = "This thinking block."
	runFixed(t, []fixCase{
		{
			name: "without a signature", provider: claude, rules: "R9", loses: fixedThinking,
			session: []message{prompt(text("hi")), answer(think("so", ""), text("ok"))},
			want:    "user[hi] assistant[ok]",
		},
		{
			name: "without a signature, alone", provider: claude, rules: "R9 R10", loses: "The thinking in this message",
			session: []message{prompt(text("hi")), answer(think("so", "")), prompt(text("more"))},
			want:    "user[hi] assistant[[user interrupted]] user[more]",
		},
		{
			name: "last", provider: claude, rules: "R10",
			session: []message{prompt(text("hi")), answer(text("ok"), think("so", "sig")), prompt(text("more"))},
			want:    "user[hi] assistant[~so(sig) ok] user[more]",
		},
		{
			name: "alone", provider: claude, rules: "R10",
			session: []message{prompt(text("hi")), answer(think("so", "sig")), prompt(text("more"))},
			want:    "user[hi] assistant[~so(sig) [user interrupted]] user[more]",
		},
		{
			name: "last, before a blank text", provider: claude, rules: "R10 R11",
			session: []message{prompt(text("hi")), answer(text(" "), think("so", "sig")), prompt(text("more"))},
			want:    "user[hi] assistant[~so(sig) [user interrupted]] user[more]",
		},
		{
			name: "after a call", provider: claude, rules: "R1 R10",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", "{}", "1"), think("so", "sig")), step(text("ok")))},
			want:    "user[hi] assistant[~so(sig) #c:ls{}=1 | ok]",
		},
		{
			name: "an open loop without thinking, while thinking is on", provider: claude, thinking: true, rules: "R3",
			session: []message{prompt(text("hi")), answer(done("c", "ls", "{}", "1"))},
			want:    "user[hi] assistant[#c:ls{}=1 | [user interrupted]]",
		},
		{
			name: "an open loop with thinking, while thinking is off", provider: claude, rules: "R4",
			session: []message{prompt(text("hi")), answer(think("so", "sig"), done("c", "ls", "{}", "1"))},
			want:    "user[hi] assistant[~so(sig) #c:ls{}=1 | [user interrupted]]",
		},
		{
			name: "thinking that is not first in an open loop: it stays, and the loop is closed", provider: claude, thinking: true, rules: "R3",
			session: []message{prompt(text("hi")), answer(text("ok"), think("so", "sig"), done("c", "ls", "{}", "1"))},
			want:    "user[hi] assistant[ok ~so(sig) #c:ls{}=1 | [user interrupted]]",
		},
		{
			name: "thinking after a call in an open loop", provider: claude, thinking: true, rules: "R1 R3 R10",
			session: []message{prompt(text("hi")), answer(done("c", "ls", "{}", "1"), think("so", "sig"))},
			want:    "user[hi] assistant[~so(sig) #c:ls{}=1 | [user interrupted]]",
		},
		{
			name: "a call without reasoning", provider: chat.Provider{Field: true}, vendor: chat.DeepSeek, rules: "V3",
			session: []message{prompt(text("hi")), answers(step(think("a", "s"), done("b", "ls", "{}", "0")), step(done("c", "ls", "{}", "1")), step(text("ok")))},
			want:    "user[hi] assistant[~a(s) #b:ls{}=0 | ~[user interrupted] #c:ls{}=1 | ok]",
		},
	})
}

// TestFixFiles: a file that cannot be sent gets another type, or a text replaces it.
func TestFixFiles(t *testing.T) {
	large := []byte(base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 6<<20)...)))
	const loses = "The file."
	runFixed(t, []fixCase{
		{
			name: "of another type than its data", provider: claude, rules: "R20",
			session: []message{prompt(text("hi"), image("image/jpeg", png)), answer(text("ok"))},
			want:    "user[hi <image/png>] assistant[ok]",
		},
		{
			name: "that cannot be decoded", provider: claude, rules: "R18", loses: loses,
			session: []message{prompt(text("hi"), image("image/png", []byte("AAAA"))), answer(text("ok"))},
			want:    "user[hi [image/png: it could not be sent to the model]] assistant[ok]",
		},
		{
			name: "of a type that the provider does not take", provider: claude, rules: "R19", loses: loses,
			session: []message{prompt(text("hi"), image("image/bmp", []byte("Qk0="))), answer(text("ok"))},
			want:    "user[hi [image/bmp: it could not be sent to the model]] assistant[ok]",
		},
		{
			name: "too large", provider: claude, rules: "R15", loses: loses,
			session: []message{prompt(text("hi"), image("image/png", large)), answer(text("ok"))},
			want:    "user[hi [image/png: it could not be sent to the model]] assistant[ok]",
		},
	})
}

// TestFixFilesOfResults: the first fix of a result replaces the files that cannot be sent, and the next one all files.
func TestFixFilesOfResults(t *testing.T) {
	const (
		kind = "The image gets the type of its data."
		file = "A line of text replaces the file and says what it was."
		part = "The file is removed from the tool result, and a line in the output says what it was."
	)
	bad := func() *request.Block { return image("image/png", []byte("AAAA")) }
	with := func(in ...*request.Block) *request.Block {
		return &request.Block{Type: request.ToolResult, ToolID: "c", Content: in}
	}
	stored := func(s *toy) *toy {
		for _, in := range s.messages[2].steps[0][0].Content {
			in.Source = partOf("m2", 0)
		}
		return s
	}
	talk := func(b *request.Block) *toy {
		return newToy(claude, prompt(text("hi")), answer(call("c", "ls", "{}")), prompt(b), answer(text("ok")))
	}
	const sent = "=c{[image/png: it could not be sent to the model]}"
	for _, x := range []struct {
		name  string
		s     *toy
		fixes []string
		want  string // the block after the first fix that can be applied
	}{
		{"a file", talk(bad()), []string{kind, file}, "[image/png: it could not be sent to the model]"},
		{"a file in a result", stored(talk(with(bad()))), []string{kind, part, part}, sent},
		{
			"one of the files in a result", stored(talk(with(bad(), image("image/png", png)))),
			[]string{kind, part, part},
			sent + "{<image/png>}",
		},
		{"files without records", talk(with(bad())), []string{kind, part}, sent},
		{"a result with a good file and without a call", func() *toy {
			s := stored(talk(with(image("image/png", png))))
			s.messages[2].steps[0][0].ToolID = "d"
			return s
		}(), []string{kind, part}, strings.Replace(sent, "=c", "=d", 1)},
		{
			"a call", newToy(claude, prompt(text("hi")), answer(text("a")), prompt(done("c", "ls", "{}", "1"))),
			[]string{kind, part},
			"",
		},
	} {
		c := newCase(x.s)
		f := repair.Finding{Code: "image", Ref: *partOf("m2", 0)}
		var fixes []string
		got := ""
		d := c.Draft()
		for _, fix := range c.Rules.Fault(c, f).Fixes() {
			if fixes = append(fixes, fix.Text); got == "" && d.Apply(fix) == nil {
				got = shownBlock(stateOf(d.Case()).messages[2].steps[0][0])
			}
		}
		if !slices.Equal(fixes, x.fixes) || got != x.want {
			t.Errorf("%s: %s after %q, want %s after %q", x.name, got, fixes, x.want, x.fixes)
		}
	}
}

// TestFixCallOfResult: a fix of an id is marked Whole if the call and its result are in different messages.
func TestFixCallOfResult(t *testing.T) {
	for _, x := range []struct {
		name  string
		s     *toy
		at    *change.Ref
		id    string
		apart bool
	}{
		{
			"a call", newToy(claude, answer(call("a:1", "ls", "{}")), prompt(result("a:1", "1"))), partOf("m0", 0),
			"call_m0p0", true,
		},
		{
			"its result", newToy(claude, answer(call("a:1", "ls", "{}")), prompt(result("a:1", "1"))), partOf("m1", 0),
			"call_m0p0", true,
		},
		{"a call without a result", newToy(claude, answer(call("a:1", "ls", "{}"))), partOf("m0", 0), "call_m0p0", false},
		{"a result without a call", newToy(claude, prompt(result("a:1", "1"))), partOf("m0", 0), "call_m0p0", false},
		{
			"a result in the same record", newToy(claude, answer(call("a:1", "ls", "{}"), result("a:1", "1"))).together(0),
			partOf("m0", 0), "call_m0p0", false,
		},
	} {
		c := newCase(x.s)
		fix := c.Rules.Fault(c, repair.Finding{Code: "R13", Ref: *x.at}).Fixes()[0]
		if !strings.Contains(fix.Text, x.id) || fix.Whole != x.apart || !fix.Alike {
			t.Errorf("%s: %+v, want %s, whole: %t", x.name, fix, x.id, x.apart)
		}
	}
}

// TestFixBlankWithThinking: a fix replaces all thinking and blank texts by one text, or removes the thinking.
func TestFixBlankWithThinking(t *testing.T) {
	for _, x := range []struct {
		code   string
		at     *change.Ref
		blocks []*request.Block
		fix    string // a part of the text of the fix
		want   string // "" if the fix cannot be applied
	}{
		{"thinking", refOf("m0"), step(think("a", "s"), text(" ")), "replaces it", "assistant[[user interrupted]]"},
		{"thinking", refOf("m0"), step(think("a", "s"), think("b", "s")), "replaces it", "assistant[[user interrupted]]"},
		{"thinking", refOf("m0"), step(think("a", "s"), text("b"), text(" ")), "is removed", "assistant[b  ]"},
	} {
		c := newCase(newToy(claude, answer(x.blocks...)))
		f := repair.Finding{Code: x.code, Ref: *x.at}
		got, found := "", false
		for _, fix := range c.Rules.Fault(c, f).Fixes() {
			if d := c.Draft(); strings.Contains(fix.Text, x.fix) {
				if found = true; d.Apply(fix) == nil {
					got = describe(stateOf(d.Case()).messages)
				}
			}
		}
		if !found || got != x.want {
			t.Errorf("%s of %s: got %s, want %s", x.code, describe(stateOf(c).messages), got, x.want)
		}
	}
}

// TestCloseLoop: a fix that closes an open loop is marked Whole if the newest call is in another message.
func TestCloseLoop(t *testing.T) {
	loop := answer(done("c", "ls", "{}", "1"))
	for message, whole := range map[string]bool{"m1": true, "m3": false} {
		s := newToy(claude, prompt(text("hi")), answer(text("a")), prompt(text("so")), loop)
		c := newCase(s)
		fixes := c.Rules.Fault(c, repair.Finding{Code: "R3", Ref: *partOf(message, 0)}).Fixes()
		if len(fixes) != 1 || fixes[0].Whole != whole {
			t.Errorf("%s: %+v", message, fixes)
		}
	}
}
