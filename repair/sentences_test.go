package repair_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/gemini"
	"mend/internal/request"
	"mend/repair"
)

// halfInput returns a call with half of a surrogate pair in its input.
func halfInput() *request.Block { return call("c", "ls", `{"a":"\ud83d"}`) }

// halfOutput returns a call with half of a surrogate pair in its result.
func halfOutput() *request.Block {
	b := call("c", "ls", "{}")
	b.Output = json.RawMessage(`"\ud83d"`)
	return b
}

// TestSentences: the reason, the class and the first fix of a finding fit the content at its place.
func TestSentences(t *testing.T) {
	const message = -1 // the finding is at the message
	id := func(n int) string { return strings.Repeat("i", n) }
	document := &request.Block{Type: request.Document, File: request.File{Mime: "application/pdf"}}
	const (
		missing, invalid = repair.ToolResultMissing, repair.InvalidToolCall
		empty, order     = repair.EmptyContentMessage, repair.ThinkingBlockOrder

		marker, noIDs, newID = "A step-start marker", "The ids of the provider's items", "The call gets the new id"
		ends, only           = "The step ends with thinking", "The message is only thinking"
	)
	for _, x := range []struct {
		code   string
		at     int // the block
		blocks []*request.Block
		why    string       // a part of the reason
		class  repair.Class // "" for any
		fix    string       // a part of the text of the first fix; "" if there is none
	}{
		{"R13", message, step(), "rejects the id of a tool call", "", ""},
		{"R13", 0, step(call("", "ls", "{}")), "id is empty", "", "call_m1p0"},
		{"R13", 0, step(call("a:1", "ls", "{}")), `"a:1" contains characters`, "", "call_m1p0"},
		{"C4", message, step(), "The provider rejects the id of a tool call", "", ""},
		{"C4", 0, step(call("", "ls", "{}")), "call's id is empty", "", "call_m1p0"},
		{"C4", 0, step(call(id(64), "ls", "{}")), "contains characters", "", "call_m1p0"},
		{"C4", 0, step(call(id(65), "ls", "{}")), "has 65 characters; the provider accepts 64", "", "call_m1p0"},
		{"O6", message, step(), "The provider rejects the id of a tool call", invalid, ""},
		{"O6", 0, step(item(id(65), text("a"))), "The id of the item is longer", repair.ItemID, noIDs},
		{"O6", 0, step(item(id(65), call(id(65), "ls", "{}"))), "has 65 characters", invalid, newID},
		{"O6", 0, step(result(id(65), "1")), "has 65 characters", invalid, newID},
		{"O6", 0, step(item(id(65), call("", "ls", "{}"))), "call's id is empty", invalid, newID},
		{"O6", 0, step(item(id(64), call("c", "ls", "{}"))), "contains characters", invalid, newID},
		{"R14", message, step(), "not an object", "", ""},
		{"R14", 0, step(call("c", "ls", "null")), "not an object", "", "becomes an empty object"},
		{"R14", 0, step(call("c", "ls", "7")), "not an object", "", `wrapped in an object, under "input"`},
		{"R14", 0, step(call("c", "ls", `"{\"a\":1}"`)), "not an object", "", "parsed from text"},
		{"O5", message, step(), `The tool's name "" is invalid`, "", ""},
		{"O5", 0, step(call("c", "a b", "{}")), `The tool's name "a b" is invalid`, "", "The tool is renamed to a_b."},
		{"G9", message, step(), "not an object", "", ""},
		{"G9", 0, step(call("c", "", "7")), "has no name", "", "The tool is renamed to invalid."},
		{"G9", 0, step(call("c", "ls", "7")), "not an object", "", "wrapped in an object"},

		{"R1", message, step(), "A tool call would be sent without", missing, ""},
		{"R1", 0, step(call("c", "ls", "{}")), "The ls call c would be sent", missing, ""},
		{"R1", 0, step(call("c", "", "{}")), "The call c would be sent", missing, ""},
		{"R1", 0, step(call("", "ls", "{}")), "The ls call at m1p0 would be sent", missing, ""},
		{"R1", 1, step(call("c", "ls", ""), text("so"), call("d", "rm", "")), "A text follows the ls call", missing, marker},
		{"R1", 0, step(text("so")), "A text follows a call in", missing, marker},
		{"R1", 1, step(call("c", "ls", "{}"), text(" ")), "A text follows the ls call", missing, "The blank text"},
		{"R1", 1, step(call("c", "ls", "{}"), think("", "s")), "Thinking follows the ls call", order, "The thinking moves"},
		{"R1", 1, step(call("c", "ls", "{}"), image("image/png", png)), "A file follows", missing, marker},
		{"R1", 1, step(call("c", "ls", "{}"), document), "A file follows", missing, marker},
		{"R1", 1, step(call("c", "ls", "{}"), result("d", "")), "Content of type tool_result follows", missing, marker},
		{"R1", 1, step(call("c", "ls", "{}"), &request.Block{}), "Content of type (none) follows", missing, marker},
		{"unfinished", message, step(), "A call never got a result", "", ""},
		{"unfinished", 0, step(call("c", "ls", "{}")), "The ls call c never got a result", "", `failed with "Operation`},
		{"unfinished", 0, step(call("", "ls", "{}")), "The ls call at m1p0 never", "", ""},
		{"O4", message, step(), "same id", "", ""},
		{"O4", 0, step(text("a")), "same id", "", ""},
		{"O4", 0, step(item("msg_1", text("a"))), "same id", "", "from the messages with the same id"},

		{"R27", message, step(), "A text contains half", "", ""},
		{"R27", 0, step(text("a")), "A text contains half", "", "U+FFFD"},
		{"R27", 0, step(halfInput()), "The input of a tool call contains half", "", "U+FFFD"},
		{"R27", 0, step(halfOutput()), "The result of a tool call contains half", "", "U+FFFD"},
		{"R27", 0, step(result("c", "")), "The result of a tool call contains half", "", "U+FFFD"},
		{"R11", message, step(), "The text is only whitespace", "", ""},
		{"R11", 0, step(text(" ")), "The text is only whitespace", "", "The text becomes"},
		{"R5", 0, step(text("")), "The text is empty", "", "The text becomes"},
		{"R5", 0, step(text(""), text("a")), "The text is empty", "", "The blank text is removed"},
		{"R5", 0, step(call("c", "ls", "{}")), "", "", ""},
		{"B4", message, step(), "The text is only whitespace", "", ""},
		{"B4", 0, step(text("")), "The text is empty", "", "The text becomes"},
		{"B4", 0, step(done("c", "ls", "{}", " ")), "The output of the tool is blank", "", `becomes "(no output)"`},
		{"O12", message, step(), "The output of the tool is longer", "", ""},
		{"O12", 0, step(text("a")), "The text is longer", "", ""},
		{"O12", 0, step(done("c", "ls", "{}", "out")), "The output of the tool is longer", "", "marked as cleared"},
		{"R16", message, step(), "starts with an assistant message", "", "The empty first prompt m0 gets"},
		{"G4", message, step(), "follows no prompt", "", "The empty prompt m0"},
		{"G4", message, step(text(" ")), "follows no prompt", "", "The blank text is removed"},
		{"nothing", message, step(), "The message has no content", "", "is added to the message"},
		{"nothing", message, step(text(" ")), "has nothing that is sent", "", "The text becomes"},

		{"R10", message, step(), ends, order, ""},
		{"R10", 0, step(think("so", "sig")), only, empty, "is inserted after the thinking"},
		{"R10", 1, step(text("a"), think("so", "sig")), ends, order, "The thinking moves"},
		{"R10", 1, step(text(" "), think("so", "sig")), only, empty, "inserted after the thinking"},
		{"R10", 0, step(think("so", "sig"), text(" ")), only, empty, "The text becomes"},
		{"order", message, step(), "not first in its step", "", ""},
		{"R3", message, step(think("so", "sig")), "does not start with thinking", "", ""},
		{"R3", 0, step(text("a"), think("so", "sig")), "does not start with thinking", "", "The thinking m1p1 moves"},
		{"R3", 0, step(text("a"), think("so", "")), "does not start with thinking", "", "closes the tool loop"},
		{"R4", message, step(), "contains thinking", "", ""},
		{"R7", message, step(), "rejects the signature", "", ""},
		{"R28", message, step(), "has changed since the model wrote it", "", ""},
		{"V3", message, step(), "Moonshot (Kimi) refuses that, and so does DeepSeek", "", ""},
		{"thinking", message, step(), "contains 0 thinking blocks", "", ""},
		{"thinking", message, step(think("a", "s")), "contains thinking, but", "", `"[user interrupted]" replaces it`},
		{"thinking", message, step(think("a", "s"), think("b", "s"), text("c")), "2 thinking", "", "is removed; text"},

		{"R15", 0, step(image("image/png", png)), "larger than the provider's limit of 5", "", "The image gets the type"},
		{"B10", 0, step(image("image/png", png)), "limit of 3.75 MB, cannot be decoded", "", "The image gets the type"},
		{"R18", 0, step(image("image/png", png)), "cannot decode the image", "", "The image gets the type"},
		{"R19", 0, step(image("image/png", png)), "a type that the provider does not accept", "", "The image gets the type"},
		{"R20", 0, step(image("image/png", png)), "stored with a type that does not match its data", "", "The image gets the type"},
		{"R21", 0, step(image("image/png", png)), "more pixels a side", "", "The image gets the type"},
		{"image", 0, step(image("image/png", png)), "The provider rejected this image", "", "The image gets the type"},
		{"media", message, step(), "The agent fails on a file", "", ""},
	} {
		c := newCase(newToy(claude, prompt(text("hi")), answer(x.blocks...)))
		f := repair.Finding{Code: x.code, Ref: *refOf("m1")}
		if x.at >= 0 {
			f.Ref = *partOf("m1", x.at)
		}
		fault := c.Rules.Fault(c, f)
		if got := fault.Why(); !strings.Contains(got, x.why) {
			t.Errorf("%s %s: why is %q, want %q", x.code, describe(stateOf(c).messages[1:]), got, x.why)
		}
		if x.class != "" && fault.Class != x.class {
			t.Errorf("%s %s: the class is %s, want %s", x.code, describe(stateOf(c).messages[1:]), fault.Class, x.class)
		}
		first := ""
		if fixes := fault.Fixes(); len(fixes) > 0 {
			first = fixes[0].Text
		}
		if !strings.Contains(first, x.fix) || (first == "") != (x.fix == "") {
			t.Errorf("%s %s: the first fix is %q, want %q", x.code, describe(stateOf(c).messages[1:]), first, x.fix)
		}
	}
}

// TestFixesOfOtherProviders: violations of rules of Gemini and Bedrock are fixed.
func TestFixesOfOtherProviders(t *testing.T) {
	runFixed(t, []fixCase{
		{
			name: "a call after no prompt: a new one", provider: gemini.Provider{}, rules: "G4",
			session: []message{answers(step(done("c", "ls", "{}", "1")), step(text("ok")))},
			want:    "user[[user interrupted]] assistant[#c:ls{}=1 | ok]",
		},
		{
			name: "a call after an answer: a new prompt before it", provider: gemini.Provider{}, rules: "G4",
			session: []message{
				prompt(text("hi")), answer(text("a")), answers(step(done("c", "ls", "{}", "1")), step(text("ok"))),
			},
			want: "user[hi] assistant[a] user[[user interrupted]] assistant[#c:ls{}=1 | ok]",
		},
		{
			name: "a call without a name", provider: gemini.Provider{}, rules: "G9", loses: "The name",
			session: []message{prompt(text("hi")), answers(step(done("c", "", "{}", "1")), step(text("ok")))},
			want:    "user[hi] assistant[#c:invalid{}=1 | ok]",
		},
		{
			name: "the input of a call is a number", provider: gemini.Provider{}, rules: "G9",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", "7", "1")), step(text("ok")))},
			want:    `user[hi] assistant[#c:ls{"input":7}=1 | ok]`,
		},
		{
			name: "the output of a call is blank", provider: bedrock.Provider{}, rules: "B4",
			session: []message{prompt(text("hi")), answers(step(done("c", "ls", "{}", " ")), step(text("ok")))},
			want:    "user[hi] assistant[#c:ls{}=(no output) | ok]",
		},
		{
			name: "a blank text", provider: bedrock.Provider{}, rules: "B4",
			session: []message{prompt(text("hi")), answer(text(" "), text("ok"))},
			want:    "user[hi] assistant[ok]",
		},
	})
}

// TestFillPrompt: only a prompt without content gets the placeholder.
func TestFillPrompt(t *testing.T) {
	for _, x := range []struct {
		prompt message
		want   string // "" if it has content
	}{
		{prompt(), "user[[user interrupted]] assistant[ok]"},
		{prompt(text(" ")), "user[[user interrupted]] assistant[ok]"},
		{prompt(text(" "), text("")), "user[[user interrupted] [user interrupted]] assistant[ok]"},
		{prompt(text("hi")), ""},
	} {
		c := newCase(newToy(claude, x.prompt, answer(text("ok"))))
		f := repair.Finding{Code: "R16", Ref: *refOf("m1")}
		d := c.Draft()
		got := ""
		if err := d.Apply(c.Rules.Fault(c, f).Fixes()[0]); err == nil {
			got = describe(stateOf(d.Case()).messages)
		}
		if got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

// TestFixHalfPairs: each half of a surrogate pair in the input or in the result of a call is replaced.
func TestFixHalfPairs(t *testing.T) {
	both := halfInput()
	both.Output = halfOutput().Output
	for _, x := range []struct {
		block *request.Block
		want  string
	}{
		{halfInput(), `assistant[#c:ls{"a":"\ufffd"}]`},
		{halfOutput(), "assistant[#c:ls{}=\ufffd]"},
		{both, "assistant[#c:ls{\"a\":\"\\ufffd\"}=\ufffd]"},
	} {
		c := newCase(newToy(claude, answer(x.block)))
		f := repair.Finding{Code: "R27", Ref: *partOf("m0", 0)}
		d := c.Draft()
		if err := d.Apply(c.Rules.Fault(c, f).Fixes()[0]); err != nil {
			t.Error(err)
		}
		if got := describe(stateOf(d.Case()).messages); got != x.want {
			t.Errorf("got %s, want %s", got, x.want)
		}
	}
}

// TestExplain: the fix, the loss and the meaning of a rule are its own, or else those of its class.
func TestExplain(t *testing.T) {
	none := func(*repair.Fault) []repair.Fix { return nil }
	const noFix, classFix = "Ask the author.", "The call is marked as failed"
	rules := repair.NewRules(map[repair.Class]repair.Explanation{"own": {Meaning: "Own."}},
		repair.Rule{Code: "text", Class: repair.ToolResultMissing, Fixes: none, Fix: "It is edited.", NoFix: noFix},
		repair.Rule{Code: "no fix", Class: repair.ToolResultMissing, NoFix: noFix},
		repair.Rule{Code: "class", Class: repair.ToolResultMissing, Fixes: none, NoFix: noFix},
		repair.Rule{Code: "class without a fix", Class: repair.ToolResultMissing},
		repair.Rule{Code: "fixes", Class: "own", Fixes: none},
		repair.Rule{Code: "nothing", Class: "own2"},
		repair.Rule{Code: "own nothing", Class: "own"})
	for code, want := range map[string]struct{ fix, loses, noFix, meaning string }{
		"text":                {"It is edited.", "", "", "A tool call has no result"},
		"no fix":              {noFix, "", noFix, "A tool call has no result"},
		"class":               {classFix, "Nothing.", "", "A tool call has no result"},
		"class without a fix": {classFix, "Nothing.", "", "A tool call has no result"},
		"fixes":               {"mend fix shows what it changes, and asks.", "", "", "Own."},
		"own nothing":         {"mend knows no fix in the store.", "", "", "Own."},
		"unknown":             {"mend knows no fix in the store.", "", "", "The provider rejects requests"},
	} {
		got := rules.Explain(repair.Explanation{Code: code})
		if !strings.HasPrefix(got.Fix, want.fix) || got.Loses != want.loses || got.NoFix != want.noFix ||
			!strings.HasPrefix(got.Meaning, want.meaning) {
			t.Errorf("%s: %+v, want %+v", code, got, want)
		}
	}
	if got := len(rules.Guide().Rules()); got != len(rules.Own) {
		t.Errorf("the guide explains %d rules", got)
	}
}

// TestOwnRules: a rule of the agent with the code of a rule of the engine keeps its own functions.
func TestOwnRules(t *testing.T) {
	own := repair.Rule{
		Code: "R10", ClassOf: func(*repair.Fault) repair.Class { return repair.MissingHistory },
		Why: func(*repair.Fault) string { return "own" },
	}
	c := newCase(newToy(claude, prompt(text("hi"))), own, repair.Rule{Code: "R11"})
	for code, want := range map[string]string{
		"R10": "missing_history own", "R11": "empty_content_message The text is only whitespace; the provider rejects that.",
	} {
		x := c.Rules.Fault(c, repair.Finding{Code: code, Ref: *refOf("m0")})
		if got := string(x.Class) + " " + x.Why(); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
	x := c.Rules.Fault(c, repair.Finding{Code: "R10", Why: "the finding's", Text: "text"})
	if got := x.Why(); got != "the finding's" {
		t.Errorf("why is %q", got)
	}
	if got := c.Rules.Fault(c, repair.Finding{Code: "R0", Text: "text"}).Why(); got != "text" {
		t.Errorf("without a rule, why is %q", got)
	}
}

// TestNames pins the words of severities and tiers, and selects the word for how a session is shown.
func TestNames(t *testing.T) {
	for s, want := range []string{"severity(0)", "broken", "latent", "lost", "note", "severity(5)"} {
		if got := repair.Severity(s).String(); got != want {
			t.Errorf("severity %d is %s, want %s", s, got, want)
		}
	}
	for tier, want := range map[repair.Tier]string{
		repair.Auto: "without asking", repair.Ask: "and asks", repair.Report: "does not change",
	} {
		if got := tier.Meaning(); !strings.Contains(got, want) {
			t.Errorf("%s means %q", tier, got)
		}
	}
	onlyProvider := []repair.Class{
		repair.ThinkingSignature, repair.EncryptedReasoning, repair.ThinkingBlockModified, repair.ThinkingDisabledViolation,
	}
	for _, c := range append(repair.Classes(), append(onlyProvider, repair.ItemID)...) {
		if got := repair.OnlyProviderSees(c); got != slices.Contains(onlyProvider, c) {
			t.Errorf("only the provider sees %s: %t", c, got)
		}
	}
	for _, x := range []struct {
		shown []repair.Shown
		want  repair.Shown
	}{
		{nil, repair.Listed},
		{[]repair.Shown{repair.Listed}, repair.Listed},
		{[]repair.Shown{repair.Listed, repair.Archived}, repair.Archived},
		{[]repair.Shown{repair.Archived, repair.Hidden, repair.NoFolder}, repair.NoFolder},
		{[]repair.Shown{repair.NotLoaded, repair.TakenOver}, repair.TakenOver},
	} {
		var ds []repair.Diagnosis
		for _, s := range x.shown {
			ds = append(ds, repair.Diagnosis{Shown: s})
		}
		if got := repair.ShownAs(ds); got != x.want {
			t.Errorf("%q is shown as %q, want %q", x.shown, got, x.want)
		}
	}
}

// TestVersions: the verified versions include the oldest and the newest one.
func TestVersions(t *testing.T) {
	v := repair.Versions{Oldest: "1.2.0", Newest: "1.10.0"}
	for version, want := range map[string][2]bool{
		"1.1.9": {}, "1.2.0": {true, false}, "1.9.0": {true, false}, "1.10.0": {true, false}, "1.10.1": {false, true},
	} {
		if got := [2]bool{v.Verified(version), v.Newer(version)}; got != want {
			t.Errorf("%s: verified %t, newer %t", version, got[0], got[1])
		}
	}
}

// TestTurns: Turns returns the messages of a request with their blocks.
func TestTurns(t *testing.T) {
	s := newToy(claude, prompt(text("hi")), answers(step(text("a")), step(text("b"))), prompt(text("so")))
	q, refused := s.send()
	turns := repair.NewTurns(q, refused)
	if got := turns.Messages(); !slices.Equal(got, s.Messages()) {
		t.Errorf("messages %v", got)
	}
	if got := turns.Prompts(); !slices.Equal(got, s.Prompts()) {
		t.Errorf("prompts %v", got)
	}
	for ref, want := range map[change.Ref]int{*refOf("m0"): 1, *partOf("m1", 1): 2, *refOf("m7"): 0} {
		m := turns.Stored(ref)
		if len(m.Blocks()) != want || (len(m.Steps) > 0) != (want > 0) {
			t.Errorf("%s has %d steps, %d blocks", ref, len(m.Steps), len(m.Blocks()))
		}
	}
}
