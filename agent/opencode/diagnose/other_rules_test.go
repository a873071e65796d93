package diagnose

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

// captureOf returns the session of a case, by its name.
func captureOf(t testing.TB, name string) *record.Session {
	t.Helper()
	all, err := readCaptured()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range all.Cases {
		if c.Name == name {
			return all.session(t, i)
		}
	}
	t.Fatalf("no case %q", name)
	return nil
}

// TestErrorsOfOtherProviders: an error of another provider leads to a fix of the content that it is about. All texts
// stay.
func TestErrorsOfOtherProviders(t *testing.T) {
	left := func(s *record.Session, field string) (n int) {
		for r := range s.Records {
			n += bytes.Count(r.Data, []byte(`"`+field+`"`))
		}
		return n
	}
	for _, c := range []struct {
		name, session, err string
		field              string // the field that is removed
		all                bool   // from all parts, or only from one message
	}{
		{"O8", "openai none", "The encrypted content gAAA...c90= could not be verified. Reason: Encrypted content organization_id did not match the target organization.", "reasoningEncryptedContent", true},
		{"O8, by its code", "openai none", `{"error":{"message":"Something went wrong","code":"invalid_encrypted_content"}}`, "reasoningEncryptedContent", true},
		{"O10", "openai-store none", "Item with id 'rs_0000060181' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", "itemId", true},
		{"O3", "openai-store none", "Item 'rs_0000060181' of type 'reasoning' was provided without its required following item.", "itemId", false},
		{"O4", "openai-store none", "Duplicate item found with id msg_00000601811. Remove duplicate items from your input and try again.", "itemId", false},
		{"G8", "gemini3 none", "Corrupted thought signature.", "thoughtSignature", true},
		{"G8 through OpenRouter", "gemini3 none", `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"Thought signature is not valid\"}}"}}}`, "thoughtSignature", true},
		{"B9", "bedrock none", "messages.3.content.0: Invalid `signature` in `thinking` block", "signature", false},
	} {
		s := captureOf(t, c.session)
		env := Environment{Target: capturedTarget}
		e := ParseAPIError([]byte(c.err))
		r := repair.Request{Error: &e}
		plan, err := repair.Plan(s.ID, New(s, r, env), r)
		if err != nil {
			t.Fatal(err)
		}
		after := stateOf(plan.After).s
		previous, current := left(s, c.field), left(after, c.field)
		if c.all && current > 0 || !c.all && (current == 0 || current == previous) {
			t.Errorf("%s: %d of %d %s are left; class %s, rule %s; %v", c.name, current, previous, c.field, e.Class, e.Rule, plan.Unfixable)
		}
		if texts(after) != texts(s) {
			t.Errorf("%s: texts are %q, want %q", c.name, texts(after), texts(s))
		}
		if got := codes(Diagnose(after, repair.Options{}, env).Found); got != "healthy" {
			t.Errorf("%s: after the repair %s", c.name, got)
		}
	}
}

// texts returns the readable texts and thinking of the model.
func texts(s *record.Session) string {
	var all []string
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			p := &s.Messages[i].Parts[j]
			all = append(all, p.Text, p.CallID)
		}
	}
	return strings.Join(all, "|")
}

// TestLongOutput: a tool's output that is too long for the provider is marked as cleared, and stays in the store.
func TestLongOutput(t *testing.T) {
	for _, c := range []struct{ session, want string }{
		{"openai none", "O12!"}, {"chat none", "C9!"}, {"anthropic none", "healthy"}, {"gemini3 none", "healthy"},
	} {
		s := captureOf(t, c.session)
		long := bytes.Repeat([]byte("x"), 10485761)
		at := slices.IndexFunc(s.Messages[1].Parts, func(p record.Part) bool { return p.IsTool() })
		if err := s.Messages[1].Parts[at].Set(jsonedit.Quote(string(long)), "state", "output"); err != nil {
			t.Fatal(err)
		}
		env := Environment{Target: capturedTarget}
		if got := codes(Diagnose(s, repair.Options{}, env).Found); got != c.want {
			t.Errorf("%s: found %s, want %s", c.session, got, c.want)
		}
		r := repair.Request{}
		plan, err := repair.Plan(s.ID, New(s, r, env), r)
		if err != nil {
			t.Fatal(err)
		}
		p := stateOf(plan.After).s.Messages[1].Parts[at]
		output, _ := jsonedit.Get(p.Data, "state", "output")
		compacted, ok := jsonedit.Get(p.Data, "state", "time", "compacted")
		if len(output) < len(long) || ok != (c.want != "healthy") {
			t.Errorf("%s: output of %d bytes, compacted %s", c.session, len(output), compacted)
		}
	}
}

// TestErrorOfUnknownProvider: after a provider's error mend checks the session by that provider's rules, even if the
// session seems to use another provider: the user may have given the provider any name.
func TestErrorOfUnknownProvider(t *testing.T) {
	s := captureOf(t, "openai call-id-long")
	env := Environment{Target: func(request.Model) render.Target { return render.Target{Package: "@ai-sdk/google"} }}
	if got := codes(Diagnose(s, repair.Options{}, env).Found); got != "healthy" {
		t.Fatalf("by Gemini's rules: %s", got)
	}
	e := ParseAPIError([]byte("Invalid 'input[4].call_id': string too long. Expected a string with maximum length 64, but got a string with length 100 instead."))
	r := repair.Request{Error: &e}
	plan, err := repair.Plan(s.ID, New(s, r, env), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Plan.Ops) != 1 {
		t.Errorf("Plan has %d ops, want 1; %v", len(plan.Plan.Ops), plan.Unfixable)
	}
}

// TestItemNumbers: with a ChatGPT login, the item numbers of an error do not count the system prompt.
func TestItemNumbers(t *testing.T) {
	s := captureOf(t, "openai none")
	first := s.Messages[0].Parts[0].Ref
	for _, c := range []struct {
		instructions bool
		index        int
		want         change.Ref
	}{{false, 0, change.Ref{}}, {false, 1, first}, {true, 0, first}} {
		env := Environment{Target: func(request.Model) render.Target {
			return render.Target{Package: "@ai-sdk/openai", Instructions: c.instructions}
		}}
		e := ParseAPIError(fmt.Appendf(nil, "Invalid 'input[%d].content[0].image_url'. Expected a base64-encoded data URL, but got empty base64-encoded bytes.", c.index))
		q, _ := New(s, repair.Request{Error: &e}, env).Next()
		if got := q.Turns[e.Index]; len(got.Blocks) > 1 || len(got.Blocks) == 1 && got.Blocks[0].Ref() != c.want || len(got.Blocks) == 0 && c.want.Kind != 0 {
			t.Errorf("instructions %t: input[%d] is of %v, want %v", c.instructions, c.index, got.Blocks, c.want)
		}
	}
}

// TestSwitches: after a switch of providers a session is checked by the rules of the provider of the next request. A
// captured session without damage is healthy with every provider.
func TestSwitches(t *testing.T) {
	models := map[string]string{
		"anthropic": "claude", "openai": "gpt", "chat": "model", "copilot": "gpt", "gemini": "gemini-3", "bedrock": "anthropic.claude",
	}
	for _, name := range []string{"anthropic none", "openai none", "chat none", "gemini3 none", "bedrock none", "copilot none"} {
		s := captureOf(t, name)
		for _, o := range Targets {
			model := models[o.Name]
			if model == "" {
				continue
			}
			env := Environment{Target: func(m request.Model) render.Target {
				if m.ProviderID == "other" {
					return o.Target
				}
				return capturedTarget(m)
			}}
			switched := *s
			switched.Messages = slices.Clone(s.Messages)
			last := record.NewMessage(withData(s.Messages[0].Record, fmt.Appendf(nil, `{"id":"msg_99","sessionID":"ses_1","role":"user","agent":"build","time":{"created":99000},"model":{"providerID":"other","modelID":%q}}`, model)))
			last.Ref.Message, last.ID = "msg_99", "msg_99"
			p := s.Messages[0].Parts[0]
			data := bytes.ReplaceAll(bytes.ReplaceAll(p.Data, []byte("msg_01"), []byte("msg_99")), []byte(p.ID), []byte("prt_9901"))
			np := record.NewPart(withData(p.Record, data))
			np.Ref.Message, np.Ref.Part, np.ID = "msg_99", "prt_9901", "prt_9901"
			last.Parts = []record.Part{np}
			switched.Messages = append(switched.Messages, last)
			d := Diagnose(&switched, repair.Options{}, env)
			if got := codes(d.Found); got != "healthy" || d.Target != o.Target {
				t.Errorf("%s, continued with %s: %s, target %+v", name, o.Name, got, d.Target)
			}
		}
	}
}
