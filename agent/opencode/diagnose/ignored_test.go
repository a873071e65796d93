package diagnose

import (
	"bytes"
	"slices"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// TestIgnoredBlankText: an ignored blank text is broken in an answer, where it is sent, and not in a prompt.
func TestIgnoredBlankText(t *testing.T) {
	blank := `"type":"text","text":" ","ignored":true`
	s := build(user(hi), answer(stepStart, blank, done), user(hi))
	r := plan(t, s, Request{})
	if len(r.Fixed) != 1 || r.Fixed[0].Rule != "R11" || r.Fixed[0].Fix == "" {
		t.Errorf("in an answer: fixed %s, left %s", summary(r.Fixed), summary(r.Remaining))
	}
	if ds := diagnosed(build(user(hi, blank), answer(stepStart, done)), Options{Now: now}); len(ds) > 0 {
		t.Errorf("in a prompt: found %s", summary(ds))
	}
}

// TestUnreadableStays: a message with an unreadable part is not changed, even if that would fix a finding.
func TestUnreadableStays(t *testing.T) {
	s := build(user(`"type":"text","text":""`, hi), answer(stepStart, done), user(hi))
	bad := &s.Messages[0].Parts[1]
	bad.Data, bad.Defect = nil, &change.Defect{Kind: change.Unreadable, Why: "permission denied"}
	*bad = record.NewPart(bad.Record)
	before := bytes.Clone(s.Messages[0].Parts[0].Data)
	r, err := Plan(s, Request{Options: Options{Now: now}, Latent: true})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, r.After.Messages[0].Parts[0].Data) {
		t.Errorf("a message with an unreadable part is changed: %s", summary(r.Fixed))
	}
	if slices.ContainsFunc(r.Plan.Ops, func(o change.Op) bool { return o.Ref.Message == s.Messages[0].ID }) {
		t.Errorf("the plan changes the message: %v", r.Plan.Ops)
	}
}

// TestIgnoredThinking: a repair by class of thinking that is not in the request does not panic.
func TestIgnoredThinking(t *testing.T) {
	s := build(user(hi), answer(stepStart, done, `"type":"reasoning","text":"hm","ignored":true,"metadata":{"anthropic":{"signature":"sig"},"openai":{"reasoningEncryptedContent":"x"}},"time":{"start":1,"end":2}`), user(hi))
	for _, class := range []repair.Class{repair.ThinkingBlockOrder, repair.EncryptedReasoning} {
		if _, err := Plan(s, Request{Options: Options{Now: now}, Classes: []repair.Class{class}, Latent: true}); err != nil {
			t.Error(err)
		}
	}
}
