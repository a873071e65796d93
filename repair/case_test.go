package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/internal/request"
	"mend/repair"
)

// words returns a session whose prompts are these words.
func words(all ...string) *toy {
	var messages []message
	for _, w := range all {
		messages = append(messages, prompt(text(w)))
	}
	return newToy(claude, messages...)
}

// repairWords returns the prompts after a repair, and the number of findings that remain.
func repairWords(t *testing.T, s *toy, own ...repair.Rule) string {
	t.Helper()
	r, err := repair.Plan("ses_1", newCase(s, own...), repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return describe(stateOf(r.After).messages) + fmt.Sprint(" ", len(r.Unfixable))
}

// TestSettings: a fix has to hold in each setting. A finding in a setting that is not in use is reported only on request.
func TestSettings(t *testing.T) {
	s := words("x")
	s.settings = []repair.Setting{{Version: "new"}, {Version: "old"}}
	x := bad("x", repair.Broken, single("outdated", "good"))
	if got := repairWords(t, s, x); got != "user[good] 0" {
		t.Errorf("with a fix that does not hold in another version: %s", got)
	}
	for _, all := range []bool{false, true} {
		s := words("outdated", "x")
		s.settings, s.all = []repair.Setting{{Version: "new"}, {Version: "old"}}, all
		found := newCase(s, x, repair.Rule{Code: "refused"}).Findings().All()
		refused := slices.IndexFunc(found, func(f repair.Finding) bool { return f.Code == "refused" })
		if (refused >= 0) != all || all && found[refused].Severity != repair.Latent {
			t.Errorf("with all settings %t: %+v", all, found)
		}
	}
	loop := newToy(claude, prompt(text("hi")), answer(think("so", "sig"), done("c", "ls", "{}", "1")))
	loop.settings, loop.all = []repair.Setting{{Thinking: true}, {Thinking: false}}, true
	if found := newCase(loop).Findings().All(); len(found) > 0 {
		t.Errorf("an open loop with thinking switched: %+v", found)
	}
	if n := len(newCase(loop).Settings()); n != 2 {
		t.Errorf("%d settings, want 2", n)
	}
}

// TestFindingsHiddenByFailure: findings that a failure of the agent hides are fixed after the failure.
func TestFindingsHiddenByFailure(t *testing.T) {
	refused := repair.Rule{Code: "refused", Fixes: single("good")}
	noFix := repair.Rule{Code: "refused"}
	dead := func(fixes ...string) repair.Rule { return repair.Rule{Code: "dead", Fixes: single(fixes...)} }
	for _, x := range []struct {
		name  string
		words []string
		rules []repair.Rule
		want  string
	}{
		{"in another message", []string{"dead", "refused"}, []repair.Rule{dead("good"), refused}, "user[good] user[good] 0"},
		{"in another message, without a fix", []string{"dead", "refused"}, []repair.Rule{dead("good"), noFix}, "user[good] user[refused] 1"},
		{
			"in its own message, with a fix",
			[]string{"dead", "a"},
			[]repair.Rule{dead("refused"), refused},
			"user[good] user[a] 0",
		},
		{"in its own message", []string{"dead", "a"}, []repair.Rule{dead("refused", "good"), noFix}, "user[good] user[a] 0"},
	} {
		if got := repairWords(t, words(x.words...), x.rules...); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// TestFixTriedAgain: a fix that did not hold is tried again after another finding was fixed.
func TestFixTriedAgain(t *testing.T) {
	first := bad("x", repair.Broken, func(x *repair.Fault) []repair.Fix {
		fix := replaceWords(x, "good", "")
		edit := fix.Edit
		fix.Edit = func(d repair.Editor) error {
			if strings.Contains(describe(stateOf(x.Case).messages), "z") {
				return repair.ErrNoEdit
			}
			return edit(d)
		}
		return []repair.Fix{fix}
	})
	if got := repairWords(t, words("x", "z"), first, bad("z", repair.Broken, single("good"))); got != "user[good] user[good] 0" {
		t.Error(got)
	}
}

// TestWriting: a message that the agent is writing has no finding.
func TestWriting(t *testing.T) {
	s := words("x", "x")
	s.writing = "m1"
	if got := repairWords(t, s, bad("x", repair.Broken, single("good"))); got != "user[good] user[x] 0" {
		t.Error(got)
	}
}

// TestPairCalls: a result belongs to the newest call before it with its id, or else to the last call with its id.
func TestPairCalls(t *testing.T) {
	s := newToy(claude, prompt(result("late", "0")), answer(call("a", "ls", "{}"), call("a", "rm", "{}")), prompt(result("a", "1")),
		answer(call("a", "cp", "{}"), call("late", "ls", "{}")), prompt(result("a", "2"), result("none", "3")))
	calls := newCase(s).Calls()
	var got []string
	for _, ref := range s.Messages() {
		for _, b := range s.Stored(ref).Blocks() {
			if b.Type != request.ToolUse {
				continue
			}
			for _, r := range calls.Results(b) {
				got = append(got, b.ToolName+"="+r.OutputText())
			}
		}
	}
	if want := []string{"rm=1", "cp=2", "ls=0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
