package repair_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// bad returns a rule of the toy agent that finds the texts with a word. fixes makes its fixes for a block.
func bad(word string, severity repair.Severity, fixes func(x *repair.Fault) []repair.Fix) repair.Rule {
	return repair.Rule{Code: word, Class: repair.IncompleteRecord, Severity: severity, Find: func(s *repair.Case) (fs []repair.Finding) {
		for _, ref := range s.Messages() {
			for _, b := range s.Stored(ref).Blocks() {
				if slices.Contains(strings.Fields(b.Text), word) {
					fs = append(fs, repair.Finding{Ref: b.Ref(), Block: b.Index, Text: word})
				}
			}
		}
		return fs
	}, Fixes: fixes}
}

func replaceWords(x *repair.Fault, words, loses string) repair.Fix {
	b := x.Target()
	return repair.Fix{Text: "The text becomes " + words, Loses: loses, Edit: func(d repair.Editor) error {
		if b == nil {
			return repair.ErrNoBlock
		}
		return d.SetText(b, words)
	}}
}

// single returns a fix for each of these words. The text after a slash in a word is the fix's loss.
func single(all ...string) func(x *repair.Fault) []repair.Fix {
	return func(x *repair.Fault) (fixes []repair.Fix) {
		for _, s := range all {
			words, loses, _ := strings.Cut(s, "/")
			fixes = append(fixes, replaceWords(x, words, loses))
		}
		return fixes
	}
}

func alike(f func(x *repair.Fault) []repair.Fix) func(x *repair.Fault) []repair.Fix {
	return func(x *repair.Fault) []repair.Fix {
		all := f(x)
		for i := range all {
			all[i].Alike = true
		}
		return all
	}
}

func whole(f func(x *repair.Fault) []repair.Fix) func(x *repair.Fault) []repair.Fix {
	return func(x *repair.Fault) []repair.Fix {
		all := f(x)
		for i := range all {
			all[i].Whole = true
		}
		return all
	}
}

// Each case tests one promise of the search. The texts are prompts, with answers between them.
func TestSearch(t *testing.T) {
	broken := repair.Broken
	ask := bad("x", broken, single("good"))
	ask.Class = repair.MissingHistory
	once := func(word string) repair.Rule {
		r := bad(word, broken, nil)
		r.Once = true
		return r
	}
	refuse := func(r repair.RefusalError) func(x *repair.Fault) []repair.Fix {
		return func(x *repair.Fault) []repair.Fix {
			refused := repair.Fix{Text: "refused", Edit: func(repair.Editor) error { return &r }}
			return []repair.Fix{refused, replaceWords(x, "good", "")}
		}
	}
	for _, x := range []struct {
		name    string
		rules   []repair.Rule
		texts   string // of the prompts
		request repair.Request
		want    string
		loses   string
		whyNot  string
	}{
		{"nothing is wrong", nil, "a,b", repair.Request{}, "a,b", "", ""},
		{"the first fix that holds", []repair.Rule{bad("x", broken, single("x x", "good", "best"))}, "x", repair.Request{}, "good", "", ""},
		{"a fix that makes another fault does not hold", []repair.Rule{bad("x", broken, single("y", "good")), bad("y", broken, nil)}, "x", repair.Request{}, "good", "", ""},
		{"nor one that makes a latent fault", []repair.Rule{bad("x", broken, single("y", "good")), bad("y", repair.Latent, nil)}, "x", repair.Request{}, "good", "", ""},
		{"what a fix causes is fixed with it", []repair.Rule{bad("x", broken, single("y")), bad("y", broken, single("good"))}, "x", repair.Request{}, "good", "", ""},
		{"a fix alone comes before two of the same loss", []repair.Rule{bad("x", broken, single("y", "best")), bad("y", broken, single("good"))}, "x", repair.Request{}, "best", "", ""},
		{"two fixes without loss come before one with loss", []repair.Rule{bad("x", broken, single("y", "best/much")), bad("y", broken, single("good"))}, "x", repair.Request{}, "good", "", ""},
		{"fixes without loss take none with loss along", []repair.Rule{bad("x", broken, single("y", "best/little")), bad("y", broken, single("good/much"))}, "x", repair.Request{}, "best", "little", ""},
		{"each message has its own fix", []repair.Rule{bad("x", broken, single("x x", "good"))}, "x,x,a,x", repair.Request{}, "good,good,a,good", "", ""},
		{"one that cannot be fixed leaves the others", []repair.Rule{bad("x", broken, func(x *repair.Fault) []repair.Fix {
			if x.Ref.Message == "m2" {
				return []repair.Fix{replaceWords(x, "y", "")}
			}
			return []repair.Fix{replaceWords(x, "good", "")}
		}), bad("y", broken, nil)}, "x,x,x,x", repair.Request{}, "good,good,x,good", "", "mend knows no change"},
		{"blocks of a message with fixes that are alike", []repair.Rule{bad("x", broken, alike(single("good")))}, "x+x+a+x", repair.Request{}, "good+good+a+good", "", ""},
		{"blocks of a message with fixes that are not", []repair.Rule{bad("x", broken, single("good"))}, "x+x+a+x", repair.Request{}, "good+good+a+good", "", ""},
		{"whole fixes, one after the other", []repair.Rule{bad("x", broken, whole(single("good")))}, "x,x,x", repair.Request{}, "good,good,good", "", ""},
		{"whole fixes that are alike", []repair.Rule{bad("x", broken, whole(alike(single("good"))))}, "x,x,x", repair.Request{}, "good,good,good", "", ""},
		{"whole fixes, one of which does not hold", []repair.Rule{bad("x", broken, func(x *repair.Fault) []repair.Fix {
			words := "good"
			if x.Ref.Message == "m2" {
				words = "y"
			}
			return whole(alike(single(words)))(x)
		}), bad("y", broken, nil)}, "x,x,x", repair.Request{}, "good,good,x", "", "mend knows no change"},
		{"a refused fix: the next one", []repair.Rule{bad("x", broken, refuse(repair.RefusalError{Why: "no"}))}, "x", repair.Request{}, "good", "", ""},
		{"a refusal for good", []repair.Rule{bad("x", broken, refuse(repair.RefusalError{Why: "no", Final: true}))}, "x", repair.Request{}, "x", "", "no To continue without it: mend fix ses_1 --set-aside."},
		{"a refusal that helps", []repair.Rule{bad("x", broken, refuse(repair.RefusalError{Why: "no", Final: true, Helps: true}))}, "x", repair.Request{}, "x", "", "no"},
		{"no fix", []repair.Rule{bad("x", broken, nil)}, "x", repair.Request{}, "x", "", "mend knows no change"},
		{"what is latent stays", []repair.Rule{bad("x", repair.Latent, single("good"))}, "x", repair.Request{}, "x", "", ""},
		{"what is latent, asked for", []repair.Rule{bad("x", repair.Latent, single("good"))}, "x", repair.Request{Latent: true}, "good", "", ""},
		{"a note stays", []repair.Rule{bad("x", repair.Note, single("good"))}, "x", repair.Request{Latent: true}, "x", "", ""},
		{"a class that is asked for", []repair.Rule{bad("x", repair.Note, single("good"))}, "x", repair.Request{Classes: []repair.Class{repair.IncompleteRecord}}, "good", "", ""},
		{"another class that is asked for", []repair.Rule{bad("x", broken, single("good"))}, "x", repair.Request{Classes: []repair.Class{repair.InvalidFile}}, "x", "", ""},
		{"a class that is left alone", []repair.Rule{bad("x", broken, single("good"))}, "x", repair.Request{Except: []repair.Class{repair.IncompleteRecord}}, "x", "", ""},
		{"unattended, a class that is only asked about", []repair.Rule{ask}, "x", repair.Request{Unattended: true}, "x", "", "mend knows no change"},
		{
			"what a fix causes is fixed with it, and nothing that was there before",
			[]repair.Rule{
				bad("x", broken, single("z")), bad("z", broken, single("good")), bad("y", repair.Latent, single("fine")),
			},
			"x,y",
			repair.Request{},
			"good,y", "", "",
		},
		{
			"a fix that adds a finding of a rule that counts once",
			[]repair.Rule{bad("x", broken, single("y")), once("y")},
			"x+y",
			repair.Request{},
			"y+y", "", "mend knows no change",
		},
		{
			"a fix that makes the first finding of such a rule",
			[]repair.Rule{bad("x", broken, single("y")), once("y")},
			"x+a",
			repair.Request{},
			"x+a", "", "mend knows no change",
		},
		{"fixes that are alike, one of which does not hold", []repair.Rule{bad("x", broken, func(x *repair.Fault) []repair.Fix {
			words := "good"
			if x.Ref.Part == "m0p1" {
				words = "y"
			}
			return alike(single(words))(x)
		}), bad("y", broken, nil)}, "x+x+x", repair.Request{}, "good+x+good", "", "mend knows no change"},
		{"a part that moves with its problem is not fixed", []repair.Rule{bad("x", broken, func(x *repair.Fault) []repair.Fix {
			move := repair.Fix{Text: "It moves.", Edit: func(d repair.Editor) error { return d.MoveFirst(x.Target()) }}
			return []repair.Fix{move, replaceWords(x, "good", "")}
		})}, "a+x", repair.Request{}, "a+good", "", ""},
		{"parts that go, each of which uncovers the next one", []repair.Rule{func() repair.Rule {
			first := firstText("x")
			first.Fixes = func(x *repair.Fault) []repair.Fix {
				return []repair.Fix{{Text: "It goes.", Edit: func(d repair.Editor) error { return d.Remove(x.Target()) }}}
			}
			return first
		}()}, "x+a+x+x+x+x+x", repair.Request{}, "a", "", ""},
		{"a second finding that the same fix removes", []repair.Rule{bad("x", broken, single("good")), bad("y", broken, single("y"))}, "x y", repair.Request{}, "good", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			var all []message
			for p := range strings.SplitSeq(x.texts, ",") {
				m := prompt()
				for s := range strings.SplitSeq(p, "+") {
					m.steps[0] = append(m.steps[0], text(s))
				}
				all = append(all, m)
			}
			r, err := repair.Plan("ses_1", newCase(newToy(claude, all...), x.rules...), x.request)
			if err != nil {
				t.Fatal(err)
			}
			var prompts, loses, whyNot []string
			for _, m := range stateOf(r.After).messages {
				var words []string
				for _, b := range m.steps[0] {
					words = append(words, b.Text)
				}
				prompts = append(prompts, strings.Join(words, "+"))
			}
			for _, d := range r.Fixed {
				if d.Loses != "" {
					loses = append(loses, d.Loses)
				}
			}
			for _, d := range r.Unfixable {
				whyNot = append(whyNot, d.WhyNot)
			}
			if got := strings.Join(prompts, ","); got != x.want || (len(r.Plan.Ops) > 0) != (got != x.texts) {
				t.Errorf("got %s with %d ops, want %s", got, len(r.Plan.Ops), x.want)
			}
			if got := strings.Join(loses, " "); got != x.loses {
				t.Errorf("lost %q, want %q", got, x.loses)
			}
			if got := strings.Join(whyNot, " "); !strings.HasPrefix(got, x.whyNot) || (got == "") != (x.whyNot == "") {
				t.Errorf("unfixable: %q, want %q", got, x.whyNot)
			}
		})
	}
}

// examinations returns how often a session of messages with these texts is examined for a repair with the fixes.
func examinations(t *testing.T, fixes func(x *repair.Fault) []repair.Fix, messages ...message) (repair.Result, int) {
	t.Helper()
	examined := 0
	rule := bad("x", repair.Broken, fixes)
	find := rule.Find
	rule.Find = func(c *repair.Case) []repair.Finding {
		examined++
		return find(c)
	}
	r, err := repair.Plan("ses_1", newCase(newToy(claude, messages...), rule), repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return r, examined
}

// A search examines the session a few times, however many findings it has.
func TestSearchIsShort(t *testing.T) {
	const n, most = 64, 12
	var one, two []message
	for range n {
		one = append(one, prompt(text("x")))
	}
	for range n / 2 {
		two = append(two, prompt(text("x"), text("x")))
	}
	for name, x := range map[string]struct {
		messages []message
		fixes    func(x *repair.Fault) []repair.Fix
	}{
		"fixes of messages":              {one, single("good")},
		"the second fixes":               {one, single("x x", "good")},
		"whole fixes that are alike":     {one, whole(alike(single("good")))},
		"fixes that lose something else": {one, single("x x/a", "x x/b", "good/c")},
		"fixes of two texts":             {two, single("good")},
		"the second fixes of two texts":  {two, alike(single("x x", "good"))},
	} {
		if r, examined := examinations(t, x.fixes, x.messages...); len(r.Fixed) != n || examined > most {
			t.Errorf("%s: %d fixed, examined %d times", name, len(r.Fixed), examined)
		}
	}
}

// A search that finds no end stops, and says so: here each part of the findings fails again.
func TestSearchStops(t *testing.T) {
	const n, most = 160, 700 // outcomes of the search, and of the search for what can be set aside
	var texts []*request.Block
	for range n {
		texts = append(texts, text("x"))
	}
	r, examined := examinations(t, alike(single("x x")), prompt(texts...))
	if len(r.Fixed) != 0 || examined > most || !strings.HasPrefix(r.Unfixable[0].WhyNot, "mend stopped after 300 attempts.") {
		t.Errorf("%d fixed, examined %d times: %q", len(r.Fixed), examined, r.Unfixable[0].WhyNot)
	}
}

// A whole fix is the fix of all findings that it removes, and each finding is described as it was at first.
func TestDescribedFixes(t *testing.T) {
	both := func(x *repair.Fault) []repair.Fix {
		return []repair.Fix{{Text: "All become good.", Whole: true, Edit: func(d repair.Editor) error {
			for _, ref := range x.Messages() {
				if b := x.Stored(ref).Blocks()[0]; b.Text != "z" {
					if err := d.SetText(b, "good"); err != nil {
						return err
					}
				}
			}
			return nil
		}}}
	}
	z := bad("z", repair.Broken, nil)
	z.Why = func(x *repair.Fault) string { return describe(stateOf(x.Case).messages) }
	c := newCase(words("x", "y", "z"), bad("x", repair.Broken, both), bad("y", repair.Broken, nil), z)
	r, err := repair.Plan("ses_1", c, repair.Request{})
	if err != nil || len(r.Fixed) != 2 || r.Fixed[0].Fix != "All become good." || r.Fixed[1].Fix != r.Fixed[0].Fix {
		t.Errorf("fixed %+v, %v", r.Fixed, err)
	}
	z.Fixes = single("good")
	s := newCase(words("x", "z"), bad("x", repair.Broken, single("good")), z)
	r, err = repair.Plan("ses_1", s, repair.Request{})
	if err != nil || len(r.Fixed) != 2 || r.Fixed[1].Why != "user[x] user[z]" {
		t.Errorf("fixed %+v, %v", r.Fixed, err)
	}
}

// If a finding has no fix and cannot be set aside, the user can continue before the prompt of its turn.
func TestForkAdvice(t *testing.T) {
	for _, x := range []struct {
		texts string // of prompts and answers in turn
		want  string
	}{
		{"x,a", "Continue in a new session."},
		{"a,x", "Continue in a new session."},
		{"a,b,x", "Fork before m2."},
		{"l,b,x", "Fork before m2."},
		{"a,b,c,x", "Fork before m2."},
		{"a,b,x,d,x,f", "Fork before m2."},
		{"a,b,c,d,x,f", "Continue in a new session."}, // the provider refuses the rest, too
	} {
		var all []message
		for i, s := range strings.Split(x.texts, ",") {
			m := prompt(text(s))
			if i%2 == 1 {
				m = answer(text(s))
			}
			all = append(all, m)
		}
		needed := repair.Rule{Code: "needed", Class: repair.MissingHistory, Severity: repair.Broken}
		needed.Find = func(c *repair.Case) []repair.Finding { // if a text is set aside
			if strings.Count(describe(stateOf(c).messages), "[x]") < strings.Count(x.texts, "x") {
				return []repair.Finding{{Text: "needed"}}
			}
			return nil
		}
		c := newCase(newToy(claude, all...), bad("x", repair.Broken, nil), bad("l", repair.Latent, nil), needed)
		c.ForkBefore = func(_ repair.State, prompt change.Ref) string {
			if prompt.Message == "m4" {
				return ""
			}
			return fmt.Sprintf("Fork before %s.", prompt.Message)
		}
		r, err := repair.Plan("ses_1", c, repair.Request{})
		if err != nil || len(r.Unfixable) != strings.Count(x.texts, "x") ||
			!strings.HasSuffix(r.Unfixable[0].WhyNot, " "+x.want) {
			t.Errorf("%s: %+v, %v, want %q", x.texts, r.Unfixable, err, x.want)
		}
	}
}

// A fix may give a message another id. The findings of the message stay the same then.
func TestRenamedMessage(t *testing.T) {
	rule := bad("x", repair.Broken, func(x *repair.Fault) []repair.Fix {
		return []repair.Fix{{Text: "It gets another id.", Edit: func(d repair.Editor) error {
			all := d.(*toyEditor).s.messages
			all[0].id = "n0"
			for i, b := range all[0].steps[0] {
				b := *b
				b.Source = partOf("n0", i)
				if i == 0 {
					b.Text = "good"
				}
				all[0].steps[0][i] = &b
			}
			return nil
		}}}
	})
	c := newCase(newToy(claude, prompt(text("x"), text("y"))), rule, bad("y", repair.Latent, nil))
	c.Renamed = func(_, after repair.State) map[change.Ref]change.Ref {
		if after.(*toy).messages[0].id == "m0" {
			return nil
		}
		return map[change.Ref]change.Ref{
			*refOf("m0"): *refOf("n0"), *partOf("m0", 0): *partOf("n0", 0), *partOf("m0", 1): *partOf("n0", 1),
		}
	}
	r, err := repair.Plan("ses_1", c, repair.Request{})
	if err != nil || len(r.Fixed) != 1 || r.Fixed[0].Message != "m0" || len(r.Remaining) != 1 {
		t.Errorf("fixed %+v, remaining %+v, %v", r.Fixed, r.Remaining, err)
	}
}

// If each fix causes the next finding, all the fixes are kept or none.
func TestFixesHoldTogether(t *testing.T) {
	for end, isFixed := range []bool{true, true, true, true, true, false} {
		var rules []repair.Rule
		for i := range end {
			next := fmt.Sprint("f", i+1)
			rules = append(rules, bad(fmt.Sprint("f", i), repair.Broken, single(next)))
		}
		r, err := repair.Plan("ses_1", newCase(newToy(claude, prompt(text("f0"))), rules...), repair.Request{})
		if err != nil || (len(r.Remaining) == 0) != isFixed || (len(r.Plan.Ops) > 0) != (isFixed && end > 0) {
			t.Errorf("%d faults: %d ops, %d remain, %v", end, len(r.Plan.Ops), len(r.Remaining), err)
		}
	}
}

// A session in use is changed only with Force.
func TestBusy(t *testing.T) {
	s := newToy(claude, prompt(text("x")))
	s.busy = "a process uses it"
	c := newCase(s, bad("x", repair.Broken, single("good")))
	if _, err := repair.Plan("ses_1", c, repair.Request{}); !errors.Is(err, repair.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	if r, err := repair.Plan("ses_1", c, repair.Request{Force: true}); err != nil || len(r.Plan.Ops) == 0 || !r.Plan.Force {
		t.Errorf("with force: %d ops, %v", len(r.Plan.Ops), err)
	}
	if _, err := repair.Trim("ses_1", c, repair.TrimRequest{}); !errors.Is(err, repair.ErrBusy) {
		t.Errorf("trim: got %v, want ErrBusy", err)
	}
	if _, err := repair.Uncompact("ses_1", c, repair.UncompactRequest{}); !errors.Is(err, repair.ErrBusy) {
		t.Errorf("uncompact: got %v, want ErrBusy", err)
	}
}

// A diagnosis contains each class once for a record, the worst of a message first, and the fix that holds.
func TestDiagnose(t *testing.T) {
	c := newCase(newToy(claude, prompt(text("n x y")), prompt(text("x"))),
		bad("n", repair.Note, nil), bad("x", repair.Broken, single("good")), bad("y", repair.Latent, single("good")))
	var got []string
	for _, d := range repair.Diagnose(c) {
		got = append(got, fmt.Sprintf("%s %s %s %s", d.Rule, d.Severity, d.Ref.Message, d.Fix))
	}
	want := []string{"n note m0 The text becomes good", "x broken m1 The text becomes good"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The plan changes only what its fixes change, and explains why.
func TestPlan(t *testing.T) {
	c := newCase(newToy(claude, prompt(text("x")), answer(text("ok")), prompt(text("x"))), bad("x", repair.Broken, single("good/words")))
	r, err := repair.Plan("ses_1", c, repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	refs := map[change.Ref]bool{}
	for _, op := range r.Plan.Ops {
		refs[messageOf(op.Ref)] = true
	}
	if len(refs) != 2 || !refs[*refOf("m0")] || !refs[*refOf("m2")] {
		t.Errorf("ops on %v", refs)
	}
	if f := r.Plan.Cause.Findings; len(f) != 1 || f[0].Count != 2 || f[0].Rule != "x" || f[0].Loses != "words" || r.Plan.Session != "ses_1" {
		t.Errorf("the cause has %+v", f)
	}
	if r.SentBefore != 3 || r.SentAfter != 3 || r.Added != 0 || len(r.Proof) != 1 || len(r.Proof[0].Rules) != 0 {
		t.Errorf("%d blocks before, %d after, %d added; proof %v", r.SentBefore, r.SentAfter, r.Added, r.Proof)
	}
}

func messageOf(ref change.Ref) change.Ref {
	ref.Kind, ref.Part = change.KindMessage, ""
	return ref
}
