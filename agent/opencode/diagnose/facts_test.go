package diagnose

import (
	"fmt"
	"testing"
	"time"

	"mend/agent/opencode/record"
	"mend/change"
)

// TestValuesOfDamagedMessage: the readable values of a damaged message are used. Here it has the only model of the
// session.
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
		t.Fatalf("the values of the damaged answer are %+v, want its role and its model", got)
	}
	if got := c.messageContext(&s.Messages[0]).Model; got != "claude-x" {
		t.Errorf("the model of the prompt is %s, want the damaged answer's", got)
	}
}

// TestManyIncompleteMessages: finding the values of all messages takes linear time. Quadratic work would take minutes.
func TestManyIncompleteMessages(t *testing.T) {
	s := build(user(hi), answer(hi))
	for i := range 20_000 {
		ref := change.Ref{Kind: change.KindMessage, Session: s.ID, Message: fmt.Sprintf("msg_1%06d", i)}
		data := fmt.Appendf(nil, `{"id":%q,"sessionID":%q,"role":"user","time":{"created":%d}}`, ref.Message, s.ID, 10_000+i)
		s.Messages = append(s.Messages, record.NewMessage(change.Record{Ref: ref, Mode: 0o600, Data: data}))
	}
	c := &simulation{s: s}
	start := time.Now()
	for i := range s.Messages {
		if x := c.messageContext(&s.Messages[i]); x.Agent != "build" || x.Model != "claude-x" {
			t.Fatalf("the values of message %d are %+v", i, x)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the values of %d messages took %v", len(s.Messages), took)
	}
}
