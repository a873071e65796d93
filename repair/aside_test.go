package repair_test

import (
	"strings"
	"testing"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// ruleAt returns a rule without a fix. It has a finding at ref, with these records, as long as the session has all of them.
func ruleAt(ref change.Ref, records ...change.Ref) repair.Rule {
	return repair.Rule{Code: "at " + ref.ID(), Class: repair.IncompleteRecord, Severity: repair.Broken, Find: func(s *repair.Case) []repair.Finding {
		for _, r := range append(records, ref) {
			if len(s.Stored(r).Steps) == 0 && r.Message != "" {
				return nil
			}
		}
		return []repair.Finding{{Ref: ref, Records: records}}
	}}
}

// requiredText returns a rule that has a finding if no block is exactly this text.
func requiredText(word string) repair.Rule {
	return repair.Rule{Code: "needs " + word, Class: repair.MissingHistory, Severity: repair.Broken, Find: func(s *repair.Case) []repair.Finding {
		for _, ref := range s.Messages() {
			for _, b := range s.Stored(ref).Blocks() {
				if b.Text == word {
					return nil
				}
			}
		}
		return []repair.Finding{{Text: word}}
	}}
}

// firstText returns a rule that finds only the first text with a word.
func firstText(word string) repair.Rule {
	r := bad(word, repair.Broken, nil)
	find := r.Find
	r.Find = func(s *repair.Case) []repair.Finding { return find(s)[:min(1, len(find(s)))] }
	return r
}

// TestSetAside: content of findings without a fix is set aside only on request, and as little of it as possible.
func TestSetAside(t *testing.T) {
	aside, broken := repair.Request{SetAside: true}, repair.Broken
	const offered = "To continue without it: mend fix ses_1 --set-aside."
	session := change.Ref{Kind: change.KindSession, Session: "ses_1"}
	talk := func() []message {
		return []message{prompt(text("hi")), answer(text("a"), text("x")), prompt(text("b"))}
	}
	calls := func(call *request.Block) []message {
		return []message{prompt(text("hi")), answer(text("a"), call), prompt(result("c1", "out"), text("b")), answer(text("c"))}
	}
	bash := func(word string) *request.Block {
		b := call("c1", "bash", "{}")
		b.Text = word
		return b
	}
	own := bash("x")
	own.Output = []byte(`"out"`)
	latent := repair.Request{SetAside: true, Latent: true, Except: []repair.Class{repair.ToolResultMissing}}
	for _, x := range []struct {
		name    string
		rules   []repair.Rule
		session []message
		request repair.Request
		want    string
		leftOut string
		whyNot  string
	}{
		{"not requested: it is offered", []repair.Rule{bad("x", broken, nil)}, talk(), repair.Request{}, "user[hi] assistant[a x] user[b]", "", offered},
		{
			"latent, not requested: it is offered",
			[]repair.Rule{bad("x", repair.Latent, nil)},
			talk(),
			repair.Request{Latent: true},
			"user[hi] assistant[a x] user[b]", "", "mend fix ses_1 --at-risk --set-aside.",
		},
		{
			"a call without a result",
			[]repair.Rule{bad("x", repair.Latent, nil)},
			calls(bash("x"))[:2], latent,
			"user[hi] assistant[a]", "1 tool call (bash)", "",
		},
		{
			"a call with its own result",
			[]repair.Rule{bad("x", broken, nil)},
			[]message{prompt(text("hi")), answers(step(text("a"), own), step(text("c")))},
			aside, "user[hi] assistant[a | c]",
			"1 tool result (bash)", "",
		},
		{
			"thinking",
			[]repair.Rule{bad("x", broken, nil)},
			[]message{prompt(text("hi")), answer(think("x", "s"), text("a")), prompt(text("b"))},
			aside,
			"user[hi] assistant[a] user[b]", "1 thinking block", "",
		},
		{
			"many records",
			[]repair.Rule{ruleAt(session, *refOf("m1"), *refOf("m2"), *refOf("m3"), *refOf("m4"))},
			append(talk(), talk()[1:]...), aside, "user[hi]", "4 unread records (m1; m2; m3)", "",
		},
		{"a block", []repair.Rule{bad("x", broken, nil)}, talk(), aside, "user[hi] assistant[a] user[b]", "1 answer (x)", ""},
		{"the only block: its message", []repair.Rule{bad("b", broken, nil)}, talk(), aside, "user[hi] assistant[a x]", "1 prompt (b)", ""},
		{"a message", []repair.Rule{ruleAt(*refOf("m1"))}, talk(), aside, "user[hi] user[b]", "1 answer (a)", ""},
		{"the first prompt: a text takes its place", []repair.Rule{bad("hi", broken, nil)}, talk(), aside, "user[[user interrupted]] assistant[a x] user[b]", "1 prompt (hi)", ""},
		{"a call with its result", []repair.Rule{bad("x", broken, nil)}, calls(bash("x")), aside, "user[hi] assistant[a] user[b] assistant[c]", "1 tool result (bash)", ""},
		{"a message with a call", []repair.Rule{ruleAt(*refOf("m1"))}, calls(bash("")), aside, "user[hi] user[b] assistant[c]", "1 answer (a), 1 tool result (bash)", ""},
		{"named records", []repair.Rule{ruleAt(session, *refOf("m1"), *refOf("m2"))}, talk(), aside, "user[hi]", "2 unread records (m1; m2)", ""},
		{"two findings", []repair.Rule{bad("x", broken, nil)}, []message{prompt(text("hi")), answer(text("a"), text("x y")), prompt(text("b"), text("x z"))}, aside, "user[hi] assistant[a] user[b]", "1 prompt (x z), 1 answer (x y)", ""},
		{"a fix comes first", []repair.Rule{bad("x", broken, single("good"))}, talk(), aside, "user[hi] assistant[a good] user[b]", "", ""},
		{"never the session", []repair.Rule{ruleAt(session)}, talk(), aside, "user[hi] assistant[a x] user[b]", "", "Continue in a new session."},
		{"not if that causes another finding", []repair.Rule{bad("x", broken, nil), requiredText("x")}, talk(), aside, "user[hi] assistant[a x] user[b]", "", "Continue in a new session."},
		{"not if the finding is then at the next message", []repair.Rule{firstText("x")}, []message{prompt(text("hi"), text("x")), answer(text("a"), text("x")), prompt(text("b"), text("x"))}, aside, "user[hi x] assistant[a x] user[b x]", "", "Continue in a new session."},
		{"a latent finding stays", []repair.Rule{bad("x", repair.Latent, nil)}, talk(), aside, "user[hi] assistant[a x] user[b]", "", ""},
		{"a latent finding, on request", []repair.Rule{bad("x", repair.Latent, nil)}, talk(), repair.Request{SetAside: true, Latent: true}, "user[hi] assistant[a] user[b]", "1 answer (x)", ""},
		{"never a lost finding", []repair.Rule{bad("x", repair.Lost, nil)}, talk(), repair.Request{SetAside: true, Classes: []repair.Class{repair.IncompleteRecord}}, "user[hi] assistant[a x] user[b]", "", "mend knows no change"},
		{"never unattended", []repair.Rule{bad("x", broken, nil)}, talk(), repair.Request{SetAside: true, Unattended: true}, "user[hi] assistant[a x] user[b]", "", "mend knows no change"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r, err := repair.Plan("ses_1", newCase(newToy(claude, x.session...), x.rules...), x.request)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(stateOf(r.After).messages); got != x.want {
				t.Errorf("got  %s\nwant %s", got, x.want)
			}
			if got := strings.Join(r.LeftOut, ", "); got != x.leftOut {
				t.Errorf("left out %q, want %q", got, x.leftOut)
			}
			var whyNot []string
			for _, d := range r.Unfixable {
				whyNot = append(whyNot, d.WhyNot)
				if d.CanSetAside != strings.Contains(d.WhyNot, "To continue without it: ") {
					t.Errorf("CanSetAside is %t, and the reason %q", d.CanSetAside, d.WhyNot)
				}
			}
			marked := false
			for _, d := range r.Fixed {
				if marked = marked || d.SetAside; d.SetAside && d.Loses == "" {
					t.Errorf("%s is set aside, and Loses is empty", d.Rule)
				}
			}
			if marked != (x.leftOut != "") {
				t.Errorf("SetAside is %t", marked)
			}
			if got := strings.Join(whyNot, " "); !strings.Contains(got, x.whyNot) || (got == "") != (x.whyNot == "") {
				t.Errorf("unfixable %q, want %q", got, x.whyNot)
			}
		})
	}
}

// TestSetAsideInRecord: if a record has several blocks, only the block with the finding is set aside, with its result.
func TestSetAsideInRecord(t *testing.T) {
	bash := call("c1", "bash", "{}")
	bash.Text = "x"
	for want, s := range map[string]*toy{
		"user[hi] assistant[a]": newToy(claude, prompt(text("hi")), answer(text("a"), text("x"))).together(1),
		"user[hi] assistant[a c]": newToy(
			claude, prompt(text("hi")), answer(text("a"), bash, result("c1", "1"), text("c"))).together(1),
	} {
		request := repair.Request{SetAside: true, Except: []repair.Class{repair.ToolResultMissing}}
		r, err := repair.Plan("ses_1", newCase(s, bad("x", repair.Broken, nil)), request)
		if got := describe(stateOf(r.After).messages); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// TestSetAsideInOpenLoop: thinking of an open loop is not set aside.
func TestSetAsideInOpenLoop(t *testing.T) {
	blocks := step(think("x", "s"), think("y", "s"), text("a"), done("c", "ls", "{}", "1"))
	s := newToy(claude, prompt(text("hi")), answer(blocks...))
	s.thinking = true
	c := newCase(s, bad("x", repair.Broken, nil), requiredText("a"))
	r, err := repair.Plan("ses_1", c, repair.Request{SetAside: true})
	if err != nil || len(r.Plan.Ops) > 0 || len(r.Unfixable) != 1 ||
		!strings.HasPrefix(r.Unfixable[0].WhyNot, "The tool loop") {
		t.Errorf("%d ops, unfixable %+v, %v", len(r.Plan.Ops), r.Unfixable, err)
	}
}

// An unreadableState has a record that cannot be read.
type unreadableState struct {
	*toy

	ref change.Ref
}

func (u unreadableState) Records(yield func(*change.Record) bool) {
	for r := range u.toy.Records {
		if n := *r; r.Ref == u.ref {
			n.Defect = &change.Defect{Kind: change.Unreadable, Why: "permission denied"}
			r = &n
		}
		if !yield(r) {
			return
		}
	}
}

// TestSetAsideUnreadable: a message is not set aside if one of its parts cannot be read, because the journal could not store
// the part.
func TestSetAsideUnreadable(t *testing.T) {
	for part, offered := range map[change.Ref]bool{*partOf("m1", 0): false, *partOf("m0", 0): true} {
		s := newToy(claude, prompt(text("hi")), answer(text("a"), text("x")))
		session := change.Ref{Kind: change.KindSession, Session: "ses_1"}
		ds := repair.Diagnose(repair.New(unreadableState{s, part}, repair.Context{Session: session, Rules: repair.NewRules(nil, bad("x", repair.Broken, nil))}))
		if len(ds) != 1 || ds[0].CanSetAside != offered {
			t.Errorf("with %s unreadable: %+v", part, ds)
		}
	}
}
