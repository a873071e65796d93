package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
	"mend/repair"
)

// inserts returns fixes that add texts after the block.
func inserts(texts ...string) func(x *repair.Fault) []repair.Fix {
	return func(x *repair.Fault) []repair.Fix {
		return []repair.Fix{{Text: "Texts are added.", Edit: func(d repair.Editor) error {
			for _, s := range texts {
				if err := d.InsertText(x.Target(), s); err != nil {
					return err
				}
			}
			return d.SetText(x.Target(), "good")
		}}}
	}
}

// violating returns Anthropic's provider with a rule that every request violates at turn n.
func violating(n int) provider.Provider {
	return ownRules{claude, provider.Rule{Code: "Z1", Find: func(request.Request, bool) []request.Violation {
		return []request.Violation{{N: n, M: -1}}
	}}}
}

// TestAdded: a repair counts the blocks that the request has only after it. It counts neither moved blocks, nor blocks of
// messages that it completes because the request was refused.
func TestAdded(t *testing.T) {
	uncompact := func(*repair.Fault) []repair.Fix {
		return []repair.Fix{{Text: "The summary is removed.", Whole: true, Edit: func(d repair.Editor) error {
			_, err := d.RemoveCompaction()
			return err
		}}}
	}
	talk := func(texts ...*request.Block) []message { return []message{prompt(texts...), answer(text("ok"))} }
	old := talk(text("x"), text("old"))
	summary := prompt(text("x"))
	summary.summary = true
	compacted := []message{prompt(text("a")), answer(text("b")), summary, answer(text("c"))}
	for _, x := range []struct {
		name     string
		provider provider.Provider
		all      []message
		fixes    func(x *repair.Fault) []repair.Fix
		request  repair.Request
		want     [3]int // blocks sent before and after, and added
	}{
		{"nothing to fix", claude, talk(text("a")), nil, repair.Request{}, [3]int{}},
		{"the text is new", claude, talk(text("x")), inserts("new"), repair.Request{}, [3]int{2, 3, 1}},
		{"two texts are new", claude, talk(text("x")), inserts("new", "newer"), repair.Request{}, [3]int{2, 4, 2}},
		{"the text was sent before", claude, old, inserts("old"), repair.Request{}, [3]int{3, 4, 0}},
		{"one of the texts was sent before", claude, old, inserts("old", "old"), repair.Request{}, [3]int{3, 5, 1}},
		{
			"the request was refused, according to an error", claude, talk(text("x")), inserts("new"),
			repair.Request{Error: errorAt("x", repair.IncompleteRecord, -1, -1)},
			[3]int{2, 3, 0},
		},
		{"the request was refused", violating(0), talk(text("x")), inserts("new"), repair.Request{}, [3]int{2, 3, 0}},
		{"messages are sent again", claude, compacted, uncompact, repair.Request{}, [3]int{2, 3, 2}},
		{"a refused request of other messages", violating(0), compacted, uncompact, repair.Request{}, [3]int{2, 3, 2}},
		{"the agent makes no request", violating(-1), compacted, uncompact, repair.Request{}, [3]int{2, 3, 0}},
	} {
		s := newToy(x.provider, x.all...)
		s.hideBefore = true
		r, err := repair.Plan("ses_1", newCase(s, bad("x", repair.Broken, x.fixes)), x.request)
		if got := [3]int{r.SentBefore, r.SentAfter, r.Added}; err != nil || got != x.want {
			t.Errorf("%s: sent and added %v, %v, want %v", x.name, got, err, x.want)
		}
	}
}

// TestRequests: a request selects the findings of an error or of hidden sessions.
func TestRequests(t *testing.T) {
	latent, incomplete := repair.Latent, repair.IncompleteRecord
	notFirst := func(x *repair.Fault) []repair.Fix {
		if x.Ref.Message == "m0" {
			return nil
		}
		return single("good")(x)
	}
	hidden := bad("h", repair.Broken, single("good"))
	hidden.Class = repair.HiddenSession
	other := bad("o", latent, single("good"))
	other.Class = repair.InvalidFile
	for _, x := range []struct {
		name    string
		rules   []repair.Rule
		texts   []string
		request repair.Request
		want    string
	}{
		{
			"the rule of the error",
			[]repair.Rule{bad("x", latent, single("good")), bad("y", latent, single("good"))},
			[]string{"x", "y"},
			repair.Request{Error: errorAt("x", incomplete, -1, -1)},
			"user[good] user[y]",
		},
		{
			"the class of the error",
			[]repair.Rule{bad("x", latent, single("good")), bad("y", latent, single("good")), other},
			[]string{"x", "y", "o"},
			repair.Request{Error: errorAt("", incomplete, -1, -1)},
			"user[good] user[good] user[o]",
		},
		{
			"the class of an error whose rule finds nothing",
			[]repair.Rule{bad("x", latent, single("good")), other},
			[]string{"x", "o"},
			repair.Request{Error: errorAt("R0", repair.InvalidFile, -1, -1)},
			"user[x] user[good]",
		},
		{
			"an error that matches nothing: the broken findings",
			[]repair.Rule{bad("x", repair.Broken, single("good"))},
			[]string{"x"},
			repair.Request{Error: errorAt("R7", repair.ThinkingSignature, -1, -1)},
			"user[good]",
		},
		{
			"the place of the error cannot be fixed: all of its kind",
			[]repair.Rule{bad("x", latent, notFirst)},
			[]string{"x", "x"},
			repair.Request{Error: errorAt("x", incomplete, 0, 0)},
			"user[x] user[good]",
		},
		{
			"the place of the error",
			[]repair.Rule{bad("x", latent, single("good"))},
			[]string{"x", "x"},
			repair.Request{Error: errorAt("x", incomplete, 0, 0)},
			"user[good] user[x]",
		},
		{
			"a hidden session",
			[]repair.Rule{bad("x", repair.Broken, single("good")), hidden},
			[]string{"x", "h"},
			repair.Request{Restore: true},
			"user[x] user[good]",
		},
	} {
		r, err := repair.Plan("ses_1", newCase(words(x.texts...), x.rules...), x.request)
		if got := describe(stateOf(r.After).messages); err != nil || got != x.want {
			t.Errorf("%s: %s, %v, want %s", x.name, got, err, x.want)
		}
		kind := change.CauseScan
		switch {
		case x.request.Restore:
			kind = change.CauseRestore
		case x.request.Error != nil:
			kind = change.CauseError
		}
		if r.Plan.Cause.Kind != kind {
			t.Errorf("%s: the cause is %s", x.name, r.Plan.Cause.Kind)
		}
	}
}

// TestCause: the cause has the whole error if that is more than its text. It lists at most 1000 findings, and counts the
// others.
func TestCause(t *testing.T) {
	rule := bad("x", repair.Broken, alike(single("good")))
	rule.Why = func(x *repair.Fault) string { return x.Ref.ID() }
	const whole = `{"error":"the error"}`
	for whole, want := range map[string]string{"the error": "", whole: whole} {
		e := errorAt("x", repair.IncompleteRecord, -1, -1)
		e.Whole = whole
		r, err := repair.Plan("ses_1", newCase(words("x"), rule), repair.Request{Error: e})
		if err != nil || r.Plan.Cause.Text != "the error" || r.Plan.Cause.Error.Whole != want {
			t.Errorf("whole %q: %+v, %v", whole, r.Plan.Cause.Error, err)
		}
	}
	const most = 1000
	m := prompt()
	for range most + 2 {
		m.steps[0] = append(m.steps[0], text("x"))
	}
	r, err := repair.Plan("ses_1", newCase(newToy(claude, m), rule), repair.Request{})
	all := r.Plan.Cause.Findings
	if err != nil || len(all) != most || len(r.Plan.Cause.Diagnoses) != most || all[0].Count+all[most-1].Count != 4 {
		t.Errorf("%d findings, %v", len(all), err)
	}
}

// A faultyState has a finding that comes neither from a request nor from a rule.
type faultyState struct{ *toy }

func (s faultyState) Faults() []repair.Finding {
	return []repair.Finding{{Code: "f", Ref: *refOf("m0")}}
}

// TestFindingsOfSettings: other settings are judged only if the session has findings.
func TestFindingsOfSettings(t *testing.T) {
	x := bad("x", repair.Broken, nil)
	settings := []repair.Setting{{Version: "new"}, {Version: "old"}}
	context := repair.Context{
		Rules:    repair.NewRules(nil, x),
		Settings: func(s repair.State, _ *repair.APIError) (repair.State, []repair.Setting) { return s, settings },
	}
	outdated := repair.Finding{Code: "refused", Ref: *partOf("m0", 0)}
	for _, y := range []struct {
		name string
		s    repair.State
		want bool
	}{
		{"no finding", words("outdated"), true},
		{"a finding of a rule", words("outdated", "x"), false},
		{"a fault", faultyState{words("outdated")}, false},
		{"both", faultyState{words("outdated", "x")}, false},
	} {
		if got := repair.New(y.s, context).Findings().IsWell(1, outdated); got != y.want {
			t.Errorf("%s: well in the other setting: %t", y.name, got)
		}
	}
	loop := newToy(claude, prompt(text("hi")), answer(done("c", "ls", "{}", "1")))
	loop.settings, loop.all = []repair.Setting{{Thinking: false}, {Thinking: true}}, true
	if found := newCase(loop).Findings().All(); len(found) > 0 {
		t.Errorf("an open loop without thinking: %+v", found)
	}
}

// TestSettingAfterRepair: if a repair changes the setting in use, the findings of the new setting are fixed, too.
func TestSettingAfterRepair(t *testing.T) {
	refused := repair.Rule{Code: "refused", Fixes: single("fine")}
	c := newCase(words("x", "outdated"), bad("x", repair.Broken, single("good")), refused)
	x := c.Context
	x.Settings = func(s repair.State, _ *repair.APIError) (repair.State, []repair.Setting) {
		version := "new"
		if strings.Contains(describe(s.(*toy).messages), "good") {
			version = "old"
		}
		return s, []repair.Setting{{Version: version}}
	}
	r, err := repair.Plan("ses_1", repair.New(c.State, x), repair.Request{})
	if got := describe(stateOf(r.After).messages); err != nil || got != "user[good] user[fine]" {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestAskedNotSetAside: a finding that only an error reveals is not offered to be set aside, because the command in the
// advice would not find it.
func TestAskedNotSetAside(t *testing.T) {
	own := bad("x", repair.Latent, nil)
	own.Asked = true
	s := newToy(claude, prompt(text("hi")), answer(text("a"), text("x")), prompt(text("b")))
	c := repair.New(s, repair.Context{Rules: repair.NewRules(nil, own), Asked: []repair.Class{repair.IncompleteRecord}})
	r, err := repair.Plan("ses_1", c, repair.Request{Latent: true})
	if err != nil || len(r.Unfixable) != 1 || r.Unfixable[0].CanSetAside || strings.Contains(r.Unfixable[0].WhyNot, "--set-aside") {
		t.Errorf("unfixable %+v, %v", r.Unfixable, err)
	}
}

// TestAsked: a user may ask for classes whose findings only an error reveals.
func TestAsked(t *testing.T) {
	own := bad("x", repair.Latent, nil)
	own.Asked = true
	s := newToy(claude, answer(think("so", "sig"), text("ok")), prompt(image("image/png", png)), answer(text("x")))
	for _, x := range []struct {
		asked []repair.Class
		want  []string
	}{
		{nil, nil},
		{[]repair.Class{repair.ThinkingSignature}, []string{"R7"}},
		{[]repair.Class{repair.IncompleteRecord}, []string{"x"}},
		{[]repair.Class{repair.IncompleteRecord, repair.ThinkingBlockModified}, []string{"x", "R8"}},
		{[]repair.Class{repair.InvalidFile}, nil}, // only an error names one
	} {
		var got []string
		c := repair.New(s, repair.Context{Rules: repair.NewRules(nil, own), Asked: x.asked})
		for _, f := range c.Findings().All() {
			if f.Severity == repair.Latent {
				got = append(got, f.Code)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("asked for %v: %v, want %v", x.asked, got, x.want)
		}
	}
}

// TestHealed: only a latent finding is healed by a version, and only if no error is needed to reveal it.
func TestHealed(t *testing.T) {
	for _, x := range []struct {
		severity repair.Severity
		asked    bool
		want     string
	}{{repair.Broken, false, ""}, {repair.Latent, false, "Version 2."}, {repair.Latent, true, ""}} {
		c := newCase(words("x"), repair.Rule{Code: "x", Healed: "Version 2.", Asked: x.asked})
		if got := c.Describe(repair.Finding{Code: "x", Severity: x.severity}); got.Healed != x.want || got.Ref != c.Session {
			t.Errorf("%s, asked %t: %+v", x.severity, x.asked, got)
		}
	}
}

// TestFindingsOf: a violation is a finding at its record, or at none. At content that the agent adds it is no finding.
func TestFindingsOf(t *testing.T) {
	stored := text("a")
	stored.Source, stored.Index = partOf("m0", 0), 2
	for _, x := range []struct {
		name string
		v    request.Violation
		want string
	}{
		{"a block", request.Violation{Refs: []change.Ref{*stored.Source}, Block: stored}, "m0p0 2"},
		{"a message", request.Violation{Refs: []change.Ref{*refOf("m0")}}, "m0 0"},
		{"a block without a record of its own", request.Violation{Block: stored}, " 2"},
		{"no place", request.Violation{N: -1}, " 0"},
		{"added content", request.Violation{Block: text("the next prompt")}, "none"},
	} {
		got := "none"
		for _, f := range repair.FindingsOf(request.Request{}, []request.Violation{x.v}) {
			got = fmt.Sprint(f.Ref.ID(), " ", f.Block)
		}
		if got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// TestDiagnosisOrder: diagnoses are in the order of the messages, including messages without content, and no two are the
// same.
func TestDiagnosisOrder(t *testing.T) {
	rule := repair.Rule{Code: "x", Class: repair.IncompleteRecord, Find: func(c *repair.Case) (fs []repair.Finding) {
		for _, ref := range slices.Backward(c.Messages()) {
			fs = append(fs, repair.Finding{Ref: ref})
		}
		return fs
	}}
	s := newToy(gpt, prompt(text("a")), prompt(), prompt(text("b")))
	ds := repair.Diagnose(newCase(s, rule))
	for i, d := range ds {
		if want := fmt.Sprint("m", i); d.Message != want {
			t.Errorf("diagnosis %d is at %s", i, d.Message)
		}
		for j, o := range ds {
			if d.Same(o) != (i == j) {
				t.Errorf("diagnoses %d and %d are the same: %t", i, j, d.Same(o))
			}
		}
	}
	if len(ds) != 3 {
		t.Errorf("%d diagnoses", len(ds))
	}
}

// TestResultFirst: a session that begins with a result has no open loop.
func TestResultFirst(t *testing.T) {
	c := newCase(newToy(claude, prompt(result("c", "1"))))
	if fs := c.Findings().All(); len(fs) != 1 || fs[0].Code != "R2" {
		t.Errorf("%+v", fs)
	}
}
