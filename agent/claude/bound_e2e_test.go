//go:build e2e

package claude_test

import (
	"bytes"
	"fmt"
	"testing"

	fixture "mend/internal/test/claude"
	"mend/internal/test/endpoint"
	"mend/repair"
)

// TestRealBoundThinking repairs the id of a call that is before thinking of a model that binds it: before the repair
// every prompt is refused; after it the real program is refused once, tries again without any thinking, and sends none
// of it later.
func TestRealBoundThinking(t *testing.T) {
	h := fixture.NewHome(t, install(t))
	api := fixture.NewEndpoint(func(n int, r endpoint.Request) endpoint.Content {
		answer := fixture.Script(n, r)
		if answer[0].Type == "thinking" {
			answer[0] = endpoint.SignedThinking(fmt.Sprintf("Considering request %d.", n)) // each is another block
		}
		return answer
	})
	t.Cleanup(api.Close)
	ask := func(prompt string, resume bool) (answered bool, rules []string) {
		before := len(api.Calls())
		r := h.PromptAt(api, fixture.Session, prompt, resume)
		for _, c := range api.Calls()[before:] {
			if len(c.Request.Tools) == 0 {
				continue
			}
			rules = append(rules, c.Rule)
			t.Logf("%.20q: binding %q, bound to another conversation %q, %s %s", prompt, c.Request.Thinking.BlockBinding.PrefixMismatchBehavior, c.Unbound, c.Rule, c.Message)
		}
		return r.Answered, rules
	}
	for i, prompt := range []string{`run CALL [["Bash",{"command":"echo hi"}]]END`, "the second prompt"} {
		if ok, _ := ask(prompt, i > 0); !ok {
			t.Fatalf("%q is not answered", prompt)
		}
	}
	h.Put(fixture.Session, bytes.ReplaceAll(h.Read(fixture.Session), []byte(`"toolu_`), []byte(`"toolu:`)))
	damaged := h.Read(fixture.Session)
	if ok, rules := ask("the third prompt", true); ok || len(rules) == 0 || rules[0] != "R13" {
		t.Errorf("before the repair: answered %t, %q", ok, rules)
	}
	h.Put(fixture.Session, damaged)
	c := client(t, h)
	head, err := c.Session(t.Context(), fixture.Session)
	must(t, err)
	p, err := c.ProposeRepair(t.Context(), head, repair.Request{})
	if err != nil || p.Plan.Cause.Bound == nil || p.Plan.Cause.Bound.Spoiled != 2 || p.Plan.Cause.Bound.Removed {
		t.Fatalf("ProposeRepair = %+v, %v", p.Plan.Cause, err)
	}
	if _, err := c.Apply(t.Context(), p.Plan); err != nil {
		t.Fatal(err)
	}
	if ok, rules := ask("the third prompt", true); !ok || len(rules) != 2 || rules[0] != "R28" || rules[1] != "" {
		t.Errorf("after the repair: answered %t, %q, want one refusal with R28 and an answer", ok, rules)
	}
	stripped := expectedCase(h.Read(fixture.Session)) // the program recorded that it sends that thinking no more
	compareRequest(t, "after the refusal", stripped, h.Prompt(fixture.Session, prompt, true))
}
