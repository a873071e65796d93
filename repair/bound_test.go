package repair_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/internal/test/encode"
	"mend/internal/test/endpoint"
	"mend/repair"
)

// sentOf returns the request of a session, as the strict endpoint reads it.
func sentOf(t *testing.T, s *toy) endpoint.Request {
	t.Helper()
	q, _ := s.send()
	r, err := endpoint.Parse(encode.JSON(anthropic.Provider{}, q))
	if err != nil {
		t.Fatal(err)
	}
	r.Model = "claude-opus-5-5"
	return r
}

// boundTalk returns a session with three answers that have thinking. The blocks of fault are added to message at.
func boundTalk(at int, fault ...*request.Block) []message {
	all := []message{
		prompt(text("1")), answer(think("a", "sa"), text("one")),
		prompt(text("2")), answer(think("b", "sb"), text("two")),
		prompt(text("3")), answer(think("c", "sc"), text("three")),
		prompt(text("4")),
	}
	if len(fault) > 0 {
		all[at].steps[0] = append(all[at].steps[0], fault...)
	}
	return all
}

// TestRepairOfBoundThinking: a repair counts the thinking that it invalidates. The agent leaves that thinking out, or mend
// removes it. Either way the strict endpoint, which has seen each block after the content before it, accepts the next
// request.
func TestRepairOfBoundThinking(t *testing.T) {
	blank := func() *request.Block { return text(" ") }
	for _, x := range []struct {
		name    string
		session []message
		spoiled int
		dropped string // the session after the repair, if the agent leaves out such thinking
		removed string // the session after the repair, if mend removes it
	}{
		{
			"before all", boundTalk(0, blank()), 3,
			"user[1] assistant[~a(sa) one] user[2] assistant[~b(sb) two] user[3] assistant[~c(sc) three] user[4]",
			"user[1] assistant[one] user[2] assistant[two] user[3] assistant[three] user[4]",
		},
		{
			"before one", boundTalk(4, blank()), 1,
			"user[1] assistant[~a(sa) one] user[2] assistant[~b(sb) two] user[3] assistant[~c(sc) three] user[4]",
			"user[1] assistant[~a(sa) one] user[2] assistant[~b(sb) two] user[3] assistant[three] user[4]",
		},
		{
			"after all", boundTalk(6, blank()), 0,
			"user[1] assistant[~a(sa) one] user[2] assistant[~b(sb) two] user[3] assistant[~c(sc) three] user[4]",
			"user[1] assistant[~a(sa) one] user[2] assistant[~b(sb) two] user[3] assistant[~c(sc) three] user[4]",
		},
	} {
		for _, bound := range []request.Binding{request.Unbound, request.Dropped, request.Refused} {
			s := newToy(claude, x.session...)
			s.bound = bound
			known := endpoint.Bindings{}
			known.Learn(sentOf(t, s))
			r, err := repair.Plan("ses_1", newCase(s), repair.Request{})
			if err != nil {
				t.Fatal(err)
			}
			want, counted := x.dropped, x.spoiled
			if bound == request.Refused {
				want = x.removed
			}
			if bound == request.Unbound {
				counted = 0
			}
			then := change.BoundThinking{Spoiled: counted, Removed: bound == request.Refused && counted > 0}
			if got := describe(stateOf(r.After).messages); got != want || boundOf(r.Plan) != then {
				t.Errorf("%s, %d:\ngot  %s %+v\nwant %s %+v", x.name, bound, got, boundOf(r.Plan), want, then)
			}
			loses := r.Plan.Cause.Bound.Loses()
			if (loses != "") != (counted > 0) || counted > 1 && !strings.Contains(loses, fmt.Sprint(counted)) {
				t.Errorf("%s, %d: Loses = %q", x.name, bound, loses)
			}
			sent := sentOf(t, stateOf(r.After))
			places, message := known.Refused(sent)
			if bound == request.Dropped && len(places) != x.spoiled || bound == request.Refused && message != "" {
				t.Errorf("%s, %d: the endpoint refuses %q %s", x.name, bound, places, message)
			}
			if sent.Thinking.BlockBinding.PrefixMismatchBehavior = "drop_block"; bound == request.Dropped {
				if _, message := known.Refused(sent); message != "" {
					t.Errorf("%s, %d: with drop_block the endpoint refuses %s", x.name, bound, message)
				}
			}
		}
	}
}

// TestTrimSpoilsLess: a trim clears results nearer to the end if that invalidates less thinking.
func TestTrimSpoilsLess(t *testing.T) {
	for bound, want := range map[request.Binding]string{request.Unbound: "c1 c4", request.Dropped: "c6 c4"} {
		session := outputs()
		session[1].steps[0] = append([]*request.Block{think("a", "sa")}, session[1].steps[0]...)
		s := newToy(claude, session...)
		s.bound = bound
		got, err := repair.Trim("ses_1", newCase(s), repair.TrimRequest{Goal: 3400})
		var calls []string
		for _, o := range got.Outputs {
			for _, b := range s.Stored(o.Ref).Blocks() {
				if b.Ref() == o.Ref && b.ToolID != "" {
					calls = append(calls, b.ToolID)
				}
			}
		}
		if joined := strings.Join(calls, " "); err != nil || joined != want || got.Plan.Cause.Bound != nil {
			t.Errorf("%d: cleared %q, want %q; spoiled %+v, %v", bound, joined, want, got.Plan.Cause.Bound, err)
		}
	}
}

// TestFixThatSpoilsLess: of two fixes with the same loss the one that invalidates less thinking is chosen. Here a text is
// added after the thinking at the end of the last answer, instead of moving that thinking.
func TestFixThatSpoilsLess(t *testing.T) {
	session := func() []message {
		return []message{prompt(text("1")), answer(think("a", "sa"), text("one")), prompt(text("2")), answer(text("two"), think("b", "sb")), prompt(text("3"))}
	}
	for bound, want := range map[request.Binding]string{
		request.Unbound: "user[1] assistant[~a(sa) one] user[2] assistant[~b(sb) two] user[3]",
		request.Dropped: "user[1] assistant[~a(sa) one] user[2] assistant[two ~b(sb) [user interrupted]] user[3]",
	} {
		s := newToy(claude, session()...)
		s.bound = bound
		r, err := repair.Plan("ses_1", newCase(s), repair.Request{})
		if err != nil || r.Plan.Cause.Bound != nil {
			t.Errorf("%d: %+v, %v", bound, r.Plan.Cause.Bound, err)
		}
		if got := describe(stateOf(r.After).messages); got != want {
			t.Errorf("%d:\ngot  %s\nwant %s", bound, got, want)
		}
	}
}

// TestErrorOfBoundThinking: the error names the first block that the provider refuses. The fix removes that block and all
// later ones.
func TestErrorOfBoundThinking(t *testing.T) {
	all := boundTalk(0)
	s := newToy(claude, all...)
	known := endpoint.Bindings{}
	known.Learn(sentOf(t, s))
	for n, want := range []string{
		"user[0] assistant[one] user[2] assistant[two] user[3] assistant[three] user[4]",
		"user[0] assistant[~a(sa) one] user[0] assistant[two] user[3] assistant[three] user[4]",
		"user[0] assistant[~a(sa) one] user[0] assistant[~b(sb) two] user[0] assistant[three] user[4]",
	} {
		edited := s.clone()
		edited.messages[2*n].steps = [][]*request.Block{{{Type: request.Text, Text: "0", Source: partOf(fmt.Sprint("m", 2*n), 0)}}}
		_, message := known.Refused(sentOf(t, edited))
		e := anthropicError(message)
		if e.Rule != "R28" || e.Class != repair.ThinkingSignature || e.Index != 2*n+1 || e.Block != 0 {
			t.Errorf("%q is parsed as %s, %s, %d, %d", message, e.Rule, e.Class, e.Index, e.Block)
		}
		r, err := repair.Plan("ses_1", newCase(edited), repair.Request{Error: &e})
		if err != nil {
			t.Fatal(err)
		}
		got := describe(stateOf(r.After).messages)
		for i := range n { // these prompts stay
			want = strings.Replace(want, "user[0]", "user["+fmt.Sprint(i+1)+"]", 1)
		}
		if got != want {
			t.Errorf("edit before %d:\ngot  %s\nwant %s", n, got, want)
		}
		if _, message := known.Refused(sentOf(t, stateOf(r.After))); message != "" {
			t.Errorf("edit before %d: the endpoint refuses %s", n, message)
		}
	}
}

// TestErrorOfMissingThinking: with the second text of the error the provider refuses a request without thinking from the
// middle.
func TestErrorOfMissingThinking(t *testing.T) {
	s := newToy(claude, boundTalk(0)...)
	known := endpoint.Bindings{}
	known.Learn(sentOf(t, s))
	stripped := s.clone()
	stripped.messages[3].steps[0] = stripped.messages[3].steps[0][1:]
	_, message := known.Refused(sentOf(t, stripped))
	e := anthropicError(message)
	if !strings.Contains(message, "preceded this one") || e.Rule != "R28" || e.Index != 5 {
		t.Fatalf("%q is parsed as %s, %d", message, e.Rule, e.Index)
	}
	r, err := repair.Plan("ses_1", newCase(stripped), repair.Request{Error: &e})
	if err != nil {
		t.Fatal(err)
	}
	if _, message := known.Refused(sentOf(t, stateOf(r.After))); message != "" {
		t.Errorf("the endpoint refuses %s", message)
	}
	stripped = s.clone() // the first thinking may be missing
	stripped.messages[1].steps[0] = stripped.messages[1].steps[0][1:]
	if _, message := known.Refused(sentOf(t, stripped)); message != "" {
		t.Errorf("without the first thinking the endpoint refuses %s", message)
	}
}

// TestBoundThinkingInOpenLoop: thinking of an open tool loop is removed, and the loop is closed.
func TestBoundThinkingInOpenLoop(t *testing.T) {
	s := newToy(claude, prompt(text("1"), text(" ")), answer(think("a", "sa"), done("c1", "read", "{}", "out")))
	s.thinking, s.bound = true, request.Refused
	known := endpoint.Bindings{}
	known.Learn(sentOf(t, s))
	r, err := repair.Plan("ses_1", newCase(s), repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(stateOf(r.After).messages), `user[1] assistant[#c1:read{}=out | [user interrupted]]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, message := known.Refused(sentOf(t, stateOf(r.After))); message != "" || !boundOf(r.Plan).Removed {
		t.Errorf("the endpoint refuses %q; %+v", message, boundOf(r.Plan))
	}
}

// TestTrimAndUncompactOfBoundThinking: a trim and the removal of a compaction count the thinking that they invalidate.
func TestTrimAndUncompactOfBoundThinking(t *testing.T) {
	out := strings.Repeat("x", 4000)
	trimmed := newToy(claude, prompt(text("1")), answers(step(think("a", "sa"), done("c1", "read", "{}", out)), step(think("b", "sb"), text("one"))),
		prompt(text("2")), answer(think("c", "sc"), text("two")), prompt(text("3")))
	summary := prompt(text("a summary"))
	summary.summary = true
	compacted := newToy(claude, prompt(text("1")), answer(think("a", "sa"), text("one")), summary, answer(think("b", "sb"), text("two")), prompt(text("2")))
	compacted.hideBefore = true
	for _, bound := range []request.Binding{request.Dropped, request.Refused} {
		trimmed.bound, compacted.bound = bound, bound
		x, err := repair.Trim("ses_1", newCase(trimmed), repair.TrimRequest{})
		if want := (change.BoundThinking{Spoiled: 2, Removed: bound == request.Refused}); err != nil || boundOf(x.Plan) != want {
			t.Errorf("trim: %+v, %v, want %+v", boundOf(x.Plan), err, want)
		}
		u, err := repair.Uncompact("ses_1", newCase(compacted), repair.UncompactRequest{})
		if want := (change.BoundThinking{Spoiled: 1, Removed: bound == request.Refused}); err != nil || boundOf(u.Plan) != want {
			t.Errorf("uncompact: %+v, %v, want %+v", boundOf(u.Plan), err, want)
		}
	}
}

// TestBoundThinkingNotRemovable: a plan is refused if it invalidates thinking that cannot be removed.
func TestBoundThinkingNotRemovable(t *testing.T) {
	s := newToy(claude, boundTalk(0, text(" "))...)
	s.bound, s.locked = request.Refused, "sc"
	_, err := repair.Plan("ses_1", newCase(s), repair.Request{})
	code, hint := fail.Classify(err)
	if code != fail.Refused || hint == "" || !strings.Contains(fmt.Sprint(err), "cannot be removed. It is locked.") {
		t.Errorf("the error is %v (%v, %q)", err, code, hint)
	}
	c := newCase(s)
	c.Ask = func(repair.State, *repair.Finding, *request.Block) bool { return false }
	if _, err := repair.Plan("ses_1", c, repair.Request{}); !strings.Contains(fmt.Sprint(err), "mend knows no change") {
		t.Errorf("without a finding at the thinking: %v", err)
	}
}

// TestSpoiledThinking: thinking is bound to the input of the calls before it, and to the thinking before it unless all of
// that is removed.
func TestSpoiledThinking(t *testing.T) {
	without := func(messages ...int) []message {
		all := boundTalk(0)
		for _, i := range messages {
			all[i].steps[0] = all[i].steps[0][1:]
		}
		return all
	}
	calls := func(input string) []message {
		return []message{prompt(text("1")), answers(step(done("c", "ls", input, "1")), step(think("a", "sa"), text("ok")))}
	}
	for _, x := range []struct {
		name          string
		before, after []message
		want          int
	}{
		{"nothing", boundTalk(0), boundTalk(0), 0},
		{"the first thinking is removed", boundTalk(0), without(1), 0},
		{"all thinking but the last is removed", boundTalk(0), without(1, 3), 0},
		{"thinking in the middle is removed", boundTalk(0), without(3), 1},
		{"the input of a call changes", calls(`{"a":1}`), calls(`{"a":2}`), 1},
		{"the input of a call is the same", calls(`{"a":1}`), calls(`{"a": 1}`), 0},
	} {
		before, after := newToy(claude, x.before...), newToy(claude, x.after...)
		before.bound, after.bound = request.Dropped, request.Dropped
		if got := repair.SpoiledThinking(newCase(before), newCase(after)); len(got) != x.want {
			t.Errorf("%s: %d blocks, want %d", x.name, len(got), x.want)
		}
	}
}

// TestBoundThoughtsInOpenLoop: all thinking of an open loop is removed, and the loop is closed.
func TestBoundThoughtsInOpenLoop(t *testing.T) {
	blocks := step(think("a", "sa"), think("b", "sb"), done("c1", "read", "{}", "out"))
	s := newToy(claude, prompt(text("1"), text(" ")), answer(blocks...))
	s.thinking, s.bound = true, request.Refused
	r, err := repair.Plan("ses_1", newCase(s), repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(stateOf(r.After).messages), `user[1] assistant[#c1:read{}=out | [user interrupted]]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSettingsOfBoundThinking: thinking is removed under the settings of an error without a place.
func TestSettingsOfBoundThinking(t *testing.T) {
	s := newToy(claude, boundTalk(0, text(" "))...)
	s.bound = request.Refused
	x := newCase(s).Context
	var asked []repair.APIError
	x.Settings = func(s repair.State, e *repair.APIError) (repair.State, []repair.Setting) {
		if e != nil {
			asked = append(asked, *e)
		}
		return s, []repair.Setting{{}}
	}
	_, err := repair.Plan("ses_1", repair.New(s, x), repair.Request{})
	if err != nil || len(asked) != 1 || asked[0].Rule != "R28" || asked[0].Index != -1 || asked[0].Block != -1 {
		t.Errorf("asked for %+v, %v", asked, err)
	}
}

func boundOf(p change.Plan) (b change.BoundThinking) {
	if p.Cause.Bound != nil {
		b = *p.Cause.Bound
	}
	return b
}

var errorParser = provider.NewErrorParser(anthropic.ErrorTexts())

func anthropicError(message string) repair.APIError {
	body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": message}})
	return errorParser.Parse(body)
}
