package repair_test

import (
	"testing"

	"mend/repair"
)

// errorAt returns an error of a rule at a position in the request; -1 stands for no position.
func errorAt(rule string, class repair.Class, index, block int, calls ...string) *repair.APIError {
	return &repair.APIError{Rule: rule, Class: class, Index: index, Block: block, Calls: calls, Text: "the error"}
}

// thoughts is a session in which each answer has signed thinking.
func thoughts() []message {
	return []message{
		prompt(text("1")), answer(think("a", "sa"), text("one")),
		prompt(text("2")), answer(think("b", "sb"), think("c", "sc"), text("two")),
		prompt(text("3")), answer(think("d", "sd"), text("three")),
		prompt(text("4")),
	}
}

// TestFixesOfErrors: only the content that an error names is fixed.
func TestFixesOfErrors(t *testing.T) {
	const loses = "thinking"
	const (
		one, two, three = "user[1] assistant[~a(sa) one] ", "user[2] assistant[~b(sb) ~c(sc) two] ", "user[3] assistant[~d(sd) three] "
		next            = "user[4]"
	)
	item1 := repair.APIError{Rule: "O10", Class: repair.ItemID, Index: -1, Block: -1, Items: []string{"msg_1"}, Text: "the error"}
	runFixed(t, []fixCase{
		{
			name: "the block that it names", provider: claude, session: thoughts(), rules: "R7", loses: loses,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, 1)},
			want:    one + "user[2] assistant[~b(sb) two] " + three + next,
		},
		{
			name: "the turn that it names", provider: claude, session: thoughts(), rules: "R7 R7", loses: loses,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, -1)},
			want:    one + "user[2] assistant[two] " + three + next,
		},
		{
			name:     "bound thinking: the block and all later ones",
			provider: claude, session: thoughts(), rules: "R28 R28", loses: loses,
			request: repair.Request{Error: errorAt("R28", repair.ThinkingSignature, 3, 1)},
			want:    one + "user[2] assistant[~b(sb) two] user[3] assistant[three] " + next,
		},
		{
			name: "one of the thoughts of the last answer, before a prompt", provider: claude, rules: "R7", loses: loses,
			session: []message{prompt(text("1")), answer(think("a", "sa"), think("b", "sb"), text("one")), prompt(text("2"))},
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 1, 0)},
			want:    "user[1] assistant[~b(sb) one] user[2]",
		},
		{
			name: "another block than thinking: the rest of its turn", provider: claude, session: thoughts(), rules: "R7 R7", loses: loses,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, 2)},
			want:    one + "user[2] assistant[two] " + three + next,
		},
		{
			name: "a turn without thinking: the nearest one before it", provider: claude, session: thoughts(), rules: "R7", loses: loses,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 2, 0)},
			want:    "user[1] assistant[one] " + two + three + next,
		},
		{
			name: "a number that is too large: the newest", provider: claude, session: thoughts(), rules: "R7", loses: loses,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 40, 0)},
			want:    one + two + "user[3] assistant[three] " + next,
		},
		{
			name: "no place: the newest", provider: claude, session: thoughts(), rules: "R7", loses: loses,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, -1, -1)},
			want:    one + two + "user[3] assistant[three] " + next,
		},
		{
			name: "changed thinking is in the newest, whatever place it names", provider: claude, session: thoughts(), rules: "R8", loses: loses,
			request: repair.Request{Error: errorAt("R8", repair.ThinkingBlockModified, 1, 0)},
			want:    one + two + "user[3] assistant[three] " + next,
		},
		{
			name: "all of its kind", provider: claude, session: thoughts(), rules: "R7 R7 R7 R7", loses: loses,
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, 0), All: true},
			want:    "user[1] assistant[one] user[2] assistant[two] user[3] assistant[three] " + next,
		},
		{
			name: "a model that does not think: all", provider: claude, session: thoughts(), rules: "thinking thinking thinking", loses: loses,
			request: repair.Request{Error: errorAt("", repair.ThinkingDisabledViolation, -1, -1)},
			want:    "user[1] assistant[one] user[2] assistant[two] user[3] assistant[three] " + next,
		},
		{
			name: "the thinking of an open tool loop stays", provider: claude, thinking: true, whyNot: "The tool loop of the newest",
			session: []message{prompt(text("1")), answer(think("a", "sa"), think("b", "sb"), done("c", "ls", "{}", "out"))},
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 1, 0)},
			want:    "user[1] assistant[~a(sa) ~b(sb) #c:ls{}=out]",
		},
		{
			name: "the only thought of an open tool loop stays", provider: claude, thinking: true, whyNot: "The tool loop of the newest",
			session: []message{prompt(text("1")), answer(think("a", "sa"), done("c", "ls", "{}", "out"))},
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 1, 0)},
			want:    "user[1] assistant[~a(sa) #c:ls{}=out]",
		},
		{
			name: "with a prompt after it, one of two thoughts stays", provider: claude, thinking: true, whyNot: "The tool loop of the newest",
			session: []message{prompt(text("1")), answer(think("a", "sa"), think("b", "sb"), done("c", "ls", "{}", "out")), prompt(text("2"))},
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 1, 0)},
			want:    "user[1] assistant[~a(sa) ~b(sb) #c:ls{}=out] user[2]",
		},
		{
			name: "with a prompt after it, the only thought goes, and the loop is closed", provider: claude, thinking: true, rules: "R7 R3", loses: loses,
			session: []message{prompt(text("1")), answer(think("a", "sa"), done("c", "ls", "{}", "out")), prompt(text("2"))},
			request: repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 1, 0)},
			want:    "user[1] assistant[#c:ls{}=out | [user interrupted]] user[2]",
		},
		{
			name: "an item that the provider does not have: all", provider: gpt, rules: "item item",
			session: []message{prompt(text("1")), answer(item("msg_1", text("a"))), prompt(text("2")), answer(item("msg_2", text("b")))},
			request: repair.Request{Error: &item1},
			want:    "user[1] assistant[a] user[2] assistant[b]",
		},
		{
			name: "encrypted reasoning of the place that it names", provider: gpt, rules: "encrypted O3 O3", loses: "encrypted",
			session: []message{prompt(text("1")), answer(item("rs_1", think("", "e1")), item("msg_1", text("a"))), prompt(text("2")), answer(item("rs_2", think("", "e2")), item("msg_2", text("b")))},
			request: repair.Request{Error: errorAt("", repair.EncryptedReasoning, 1, -1)},
			want:    "user[1] assistant[~ a] user[2] assistant[~(e2) b]",
		},
	})
}

// TestMatchError: the degree says how well a session matches an error.
func TestMatchError(t *testing.T) {
	long := "call_0123456789012345678901234567890123456789"
	broken := []message{
		prompt(text("1")), answer(call("toolu_1", "ls", "{}")), prompt(text("2")), answer(call("toolu_2", "ls", "{}"), call(long, "ls", "{}")), prompt(text("3")),
	}
	rule, class := "R1", repair.ToolResultMissing
	for _, x := range []struct {
		name  string
		error *repair.APIError
		all   []message
		want  repair.Degree
		n     int
	}{
		{"the place", errorAt(rule, class, 1, -1), broken, repair.BreaksThere, 1},
		{"another turn", errorAt(rule, class, 2, -1), broken, repair.BreaksElsewhere, 1},
		{"another block of the turn", errorAt(rule, class, 3, 1), broken, repair.BreaksElsewhere, 1},
		{"any block of a turn with one", errorAt(rule, class, 1, 4), broken, repair.BreaksThere, 1},
		{"no place", errorAt(rule, class, -1, -1), broken, repair.BreaksRule, 1},
		{"the call", errorAt(rule, class, -1, -1, "toolu_2"), broken, repair.BreaksThere, 3},
		{"a missing call", errorAt(rule, class, -1, -1, "toolu_3"), broken, 0, 0},
		{"a prefix of a short id", errorAt(rule, class, -1, -1, "toolu_"), broken, 0, 0},
		{"a truncated id", errorAt(rule, class, -1, -1, long[:33]), broken, repair.BreaksThere, 3},
		{"an id that is truncated too early", errorAt(rule, class, -1, -1, long[:31]), broken, 0, 0},
		{"another rule", errorAt("R13", repair.InvalidToolCall, -1, -1), broken, 0, 0},
		{"the rule of another provider", errorAt("O1", class, 1, -1), broken, repair.BreaksThere, 1},
		{"the rule of another provider, without a place", errorAt("O1", class, -1, -1), broken, repair.HasClass, 1},
		{"the class alone", errorAt("", class, -1, -1), broken, repair.BreaksRule, 1},
		{"nothing", errorAt("", "", -1, -1), broken, 0, 0},
		{"thinking at the place", errorAt("R7", repair.ThinkingSignature, 3, 1), thoughts(), repair.HasContent, -1},
		{"a text beside thinking", errorAt("R7", repair.ThinkingSignature, 3, 2), thoughts(), repair.HasContent, -1},
		{"no thinking in the turn", errorAt("R7", repair.ThinkingSignature, 2, -1), thoughts(), 0, 0},
		{"thinking anywhere", errorAt("R7", repair.ThinkingSignature, -1, -1), thoughts(), repair.HasContent, -1},
		{"no thinking at all", errorAt("R7", repair.ThinkingSignature, -1, -1), broken, 0, 0},
	} {
		got := repair.MatchError(newCase(newToy(claude, x.all...)), *x.error)
		if got.Degree != x.want || x.want != 0 && got.N != x.n {
			t.Errorf("%s: degree %d at %d, want %d at %d", x.name, got.Degree, got.N, x.want, x.n)
		}
	}
	invalid := newToy(claude, prompt(text("1")), answers(step(done("a:1", "ls", "{}", "out")), step(text("ok"))))
	if got := repair.MatchError(newCase(invalid), *errorAt("R17", repair.InvalidToolCall, -1, -1)); got.Degree != 0 {
		t.Errorf("another rule of the same class: degree %d, want 0", got.Degree)
	}
	quoted := repair.APIError{Class: repair.ItemID, Index: -1, Block: -1, Items: []string{"msg_2"}}
	items := newToy(gpt, prompt(text("1")), answer(item("msg_1", text("a")), item("msg_2", text("b"))))
	if got := repair.MatchError(newCase(items), quoted); got.Degree != repair.HasQuoted || got.N != 1 || got.M != 1 {
		t.Errorf("an item that the error names: %+v", got)
	}
}

// TestSuspects: the remaining content of the error's kind is suspect, because only the provider can judge it.
func TestSuspects(t *testing.T) {
	s := newToy(claude, thoughts()...)
	r, err := repair.Plan("ses_1", newCase(s), repair.Request{Error: errorAt("R7", repair.ThinkingSignature, 3, 0)})
	if err != nil || len(r.Suspects) != 3 || r.Suspects[0].Ref.Message != "m1" || r.Suspects[0].WhyNot != "" {
		t.Errorf("%d suspects: %+v, %v", len(r.Suspects), r.Suspects, err)
	}
}
