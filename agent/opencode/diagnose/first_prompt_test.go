package diagnose

import (
	"strings"
	"testing"

	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/test/damage"
)

// dropMessages drops messages of the fixture, given by number, with their parts.
func dropMessages(s damage.Store, numbers ...int) {
	messages, parts := s.Records()
	for _, n := range numbers {
		for _, p := range parts {
			if p.Owner == messages[n].ID {
				s.Drop(p)
			}
		}
		s.Drop(messages[n])
	}
}

// TestLostFirstPrompt: after the repair of a first prompt that is missing or has lost its content, in every kind of
// store, the provider accepts the conversation and OpenCode 1.18 can show it. An undo restores every byte.
func TestLostFirstPrompt(t *testing.T) {
	for version, name := range damage.Versions {
		for _, c := range []struct {
			name  string
			apply func(damage.Store)
			ops   string // the changed records, with numbers for the fixture's ids
		}{
			{"lost its parts", func(s damage.Store) { s.Drop(damage.Parts(s, damage.FirstPrompt, "text")[0]) }, "create part of 0"},
			{"empty text", damage.Text(damage.FirstPrompt, ""), "change part of 0"},
			{"ignored text only", func(s damage.Store) {
				s.Put(damage.Parts(s, damage.FirstPrompt, "text")[0].Edit(func(f map[string]any) { f["ignored"] = true }))
			}, "create part of 0"},
			{"is missing", func(s damage.Store) { dropMessages(s, damage.FirstPrompt) }, "create message 0, create part of 0"},
			{"and an answer are missing", func(s damage.Store) { dropMessages(s, damage.FirstPrompt, damage.OneCall) }, "create message 0, create part of 0"},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				st := unpack(t, version, c.apply)
				before := st.load()
				after := applyFixes(before, "R16", allFixes)
				if after == nil {
					counts, f := faults(before, "R16")
					t.Fatalf("no fix removes %v; %v", f, counts)
				}
				var actions []string
				for _, o := range change.Diff(before.AllRecords, after.AllRecords) {
					verb := o.Verb() + " message 0"
					if o.Ref.Kind == change.KindPart {
						verb = o.Verb() + " part of 0"
					}
					actions = append(actions, verb)
				}
				if got := strings.Join(actions, ", "); got != c.ops {
					t.Errorf("the plan is: %s, want %s", got, c.ops)
				}
				m := &after.Messages[0]
				if m.Role != change.RoleUser || !strings.Contains(records(after), `"[user interrupted]"`) {
					t.Errorf("the first message is %s\n%s", m.Data, records(after))
				}
				if shown := render.Read(after).Screen(render.ProfileFor("1.18.33")); len(shown) > 0 {
					t.Errorf("the screen refuses %v", shown)
				}
				st.wantUndone(before, after)
			})
		}
	}
}

// TestFirstPrompt: a conversation that starts with an answer is fixed in the prompt before it, and the fix names that
// prompt.
func TestFirstPrompt(t *testing.T) {
	for _, c := range []struct {
		name  string
		turns []turn
		want  string
	}{
		{"an answer comes first", []turn{user(), answer(hi), user(hi)}, "note empty_content_message msg_01; broken first_prompt_missing msg_02"},
		{"another prompt comes first", []turn{user(), user(hi), answer(hi)}, "note empty_content_message msg_01"},
		{"a failed answer between", []turn{user(), failed("APIError", hi), user(hi), answer(hi)}, "note empty_content_message msg_01"},
		{"two lost", []turn{user(), user(), answer(hi)}, "note empty_content_message msg_01; note empty_content_message msg_02; broken first_prompt_missing msg_03"},
		{
			"an empty text, calls that never ended after it",
			[]turn{user(empty), calling(running("toolu_1"), running("toolu_2"))},
			"broken first_prompt_missing msg_02; latent tool_result_missing msg_02/prt_0201; latent tool_result_missing msg_02/prt_0202",
		},
		{"nothing else", []turn{user()}, "note empty_content_message msg_01"},
	} {
		s := build(c.turns...)
		if got := summary(diagnosed(s, Options{Now: now})); got != c.want {
			t.Errorf("%s: Diagnose = %s, want %s", c.name, got, c.want)
		}
		r := plan(t, s, Request{})
		if broken := strings.Contains(c.want, "broken"); broken != (len(r.Plan.Ops) > 0) || len(r.Unfixable) > 0 {
			t.Errorf("%s: Plan has %d ops, leaves %s", c.name, len(r.Plan.Ops), summary(r.Unfixable))
		}
		for _, d := range r.Fixed {
			if at := opSummary(r.Plan.Ops); d.Rule == "R16" && !strings.Contains(d.Fix, at) {
				t.Errorf("%s: Plan changes %s, the fix is %q", c.name, at, d.Fix)
			}
		}
	}
}
