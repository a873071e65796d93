package diagnose

import (
	"testing"

	"mend/change"
)

// The readable values of a damaged message are used: here the only model of the session.
func TestValuesOfDamagedMessage(t *testing.T) {
	s := build(user(hi), answer(hi))
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Role == change.RoleAssistant {
			*m = rebuiltMessage(m, string(m.Data[:len(m.Data)-1])) // cut off after its last member
		} else {
			*m = rebuiltMessage(m, `{"role":"user","time":{"created":1}}`)
		}
	}
	c := &simulation{s: s}
	if got := c.messageContext(&s.Messages[1]); got.Role != change.RoleAssistant || got.Model != "claude-x" {
		t.Fatalf("of the damaged answer is known %+v, want its role and its model", got)
	}
	if got := c.messageContext(&s.Messages[0]).Model; got != "claude-x" {
		t.Errorf("the model of the prompt is %s, want that of the damaged answer", got)
	}
}
