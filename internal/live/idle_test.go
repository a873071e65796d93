package live

import (
	"errors"
	"strings"
	"testing"

	"mend/repair"
)

// interruptedSession returns a fakeAgent whose idle session has unfinished calls.
func interruptedSession() *fakeAgent {
	m := assistantMessage("msg_2", toolCall("prt_1", "completed"), toolCall("prt_2", "running"), toolCall("prt_3", "pending"))
	m.Info.Finish, m.Info.Time.Completed = "tool-calls", float64(5)
	f := &fakeAgent{messages: []Message{prompt("msg_1", "do it"), m}, entry: "quail"}
	f.stored = f.messages
	return f
}

// TestIdle: an idle session is repaired if its last message has unfinished calls and no reason to stop.
func TestIdle(t *testing.T) {
	const steps = "messages, busy, started ses_1, repair, toast, finished ses_1"
	for _, c := range []struct {
		name     string
		prep     func(*fakeAgent)
		opt      Options
		want     string
		repaired bool
	}{
		{"interrupted calls", func(*fakeAgent) {}, Options{}, steps, true},
		{"unfinished without a reason", func(f *fakeAgent) { f.messages[1].Info.Finish, f.messages[1].Info.Time.Completed = nil, nil }, Options{}, steps, true},
		{"no parts", func(f *fakeAgent) {
			f.messages = []Message{f.messages[0], {Info: f.messages[1].Info}}
		}, Options{}, "messages", false},
		{"a newer prompt", func(f *fakeAgent) { f.messages = append(f.messages, prompt("msg_3", "")) }, Options{}, "messages", false},
		{"another role at the end", func(f *fakeAgent) { f.messages = append(f.messages, Message{Info: Info{ID: "msg_3", Role: "system"}}) }, Options{}, steps, true},
		{"no messages at all", func(f *fakeAgent) { f.messages = nil }, Options{}, "messages", false},
		{"calls that have a result, or failed (#4469)", func(f *fakeAgent) {
			f.messages[1].Parts = []Part{toolCall("prt_1", "completed"), toolCall("prt_2", "error")}
		}, Options{}, "messages", false},
		{"all finished", func(f *fakeAgent) { f.messages[1].Parts = f.messages[1].Parts[:1] }, Options{}, "messages", false},
		{"a reason to stop", func(f *fakeAgent) { f.messages[1].Info.Finish = "stop" }, Options{}, "messages", false},
		{"it stopped", func(f *fakeAgent) { f.messages[1].Info.Finish = true }, Options{}, "messages", false},
		{"a time and no reason", func(f *fakeAgent) { f.messages[1].Info.Finish = nil }, Options{}, "messages", false},
		{"a time as text", func(f *fakeAgent) { f.messages[1].Info.Finish, f.messages[1].Info.Time.Completed = "", "now" }, Options{}, "messages", false},
		{"an error", func(f *fakeAgent) { f.messages[1].Info.Error = errorJSON(otherText) }, Options{}, "messages", false},
		{"disabled", func(*fakeAgent) {}, Options{KeepInterrupted: true}, "messages", false},
		{"a call that still runs, as in a subagent (#3996, #4032, #4542)", func(f *fakeAgent) { f.busy = true }, Options{}, "messages, busy", false},
		{"busy unknown", func(f *fakeAgent) { f.errors = map[string]error{"busy": errTest} }, Options{}, "messages, busy", false},
		{"no messages", func(f *fakeAgent) { f.errors = map[string]error{"messages": errTest} }, Options{}, "messages", false},
		{"nothing to repair", func(f *fakeAgent) { f.entry = "" }, Options{}, "messages, busy, started ses_1, repair, finished ses_1", false},
		{"a repair that fails", func(f *fakeAgent) { f.errors = map[string]error{"repair": errTest} }, Options{}, "messages, busy, started ses_1, repair, finished ses_1", false},
	} {
		f := interruptedSession()
		c.prep(f)
		if got := f.hook(c.opt).idle(t.Context()); got != c.repaired {
			t.Errorf("%s: repaired = %t, want %t", c.name, got, c.repaired)
		}
		if got := strings.Join(f.recordedCalls(), ", "); got != c.want {
			t.Errorf("%s: did %s, want %s", c.name, got, c.want)
		}
		// The agent does not continue by itself, so mend notifies the user (#4123).
		if c.repaired && (len(f.toasts) != 1 || !strings.Contains(f.toasts[0].Message, "Send a prompt")) {
			t.Errorf("%s: toasts %+v", c.name, f.toasts)
		}
	}
}

// TestIdleAgain: an idle session is handled again after a failed repair, but not after a successful one.
func TestIdleAgain(t *testing.T) {
	f := interruptedSession()
	h := f.hook(Options{})
	f.errors = map[string]error{"repair": errors.New("no")}
	h.idle(t.Context())
	f.errors = nil
	for n, want := range []bool{true, false} {
		if got := h.idle(t.Context()); got != want {
			t.Errorf("call %d = %t, want %t", n, got, want)
		}
	}
}

// TestIdleRequest: the repair request for interrupted calls has their class and text, and overrides the busy check.
func TestIdleRequest(t *testing.T) {
	f := interruptedSession()
	f.hook(Options{}).idle(t.Context())
	r := f.requests[0]
	if r.Cancelled != interruptedText || !r.Force || !r.Latent || len(r.Classes) != 1 || r.Classes[0] != repair.ToolResultMissing {
		t.Errorf("request %+v", r)
	}
}
