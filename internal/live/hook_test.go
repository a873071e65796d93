package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/repair"
)

// TestRecoverySteps: after an error these calls of agent and store follow, for each class and for each failure.
func TestRecoverySteps(t *testing.T) {
	steps := []string{"messages", "started ses_1", "abort", "toast", "repair", "toast", "finished ses_1"}
	fromStore := []string{"messages", "messages", "messages", "messages", "messages", "busy", "repair", "busy", "started ses_1", "toast", "finished ses_1"}
	for _, c := range []struct {
		name, text string
		noID       bool
		prep       func(*fakeAgent)
		opt        Options
		want       []string
		repaired   bool
	}{
		{name: "a missing result", text: resultText, repaired: true, want: steps},
		{name: "the order of thinking", text: orderText, repaired: true, want: steps},
		{name: "thinking that is disabled", text: disabledText, repaired: true, want: steps},
		{name: "empty content", text: emptyText, repaired: true, want: steps},
		{name: "an unknown tool", text: toolText, repaired: true, want: steps},
		{name: "without an id (#2046, #2895)", text: emptyText, noID: true, repaired: true, want: steps},
		{
			name: "resumed, by one prompt (#390)", text: orderText, opt: Options{AutoResume: true}, repaired: true,
			want: []string{"messages", "started ses_1", "abort", "toast", "repair", "toast", "messages", "prompt", "finished ses_1"},
		},
		{name: "not resumed after another class than thinking", text: resultText, opt: Options{AutoResume: true}, repaired: true, want: steps},
		{
			name: "an answer at the end that can be repaired (#3756, #3917)", text: prefillText, repaired: true,
			want: []string{"messages", "started ses_1", "abort", "repair", "toast", "finished ses_1"},
		},
		{name: "no toasts", text: emptyText, opt: Options{ToastTime: -1}, repaired: true, want: []string{"messages", "started ses_1", "abort", "repair", "finished ses_1"}},
		{name: "another error", text: otherText, want: nil},
		{name: "a disabled class", text: emptyText, opt: Options{Disabled: []repair.Class{repair.EmptyContentMessage}}, want: nil},
		{name: "a healthy session", text: emptyText, prep: func(f *fakeAgent) { f.entry = "" }, want: steps},
		{name: "a repair that fails", text: emptyText, prep: func(f *fakeAgent) { f.errors = map[string]error{"repair": errTest} }, want: steps},
		{name: "a repair that needs a question", text: emptyText, prep: func(f *fakeAgent) { f.errors = map[string]error{"repair": errAsk} }, want: steps},
		{
			name: "abort and toast fail", text: emptyText, repaired: true, want: steps,
			prep: func(f *fakeAgent) { f.errors = map[string]error{"abort": errTest, "toast": errTest} },
		},
		{
			name: "a newer prompt", text: emptyText,
			prep: func(f *fakeAgent) { f.messages = append(f.messages, prompt("msg_3", "again")) },
			want: []string{"messages"},
		},
		{
			name: "a newer assistant message", text: emptyText,
			prep: func(f *fakeAgent) { f.messages = append(f.messages, failedMessage("msg_4", emptyText)) },
			want: []string{"messages"},
		},
		{
			name: "a message that is not stored", text: emptyText, noID: true,
			prep: func(f *fakeAgent) { f.messages = f.messages[:1] },
			want: fromStore, repaired: true,
		},
		{
			name: "a message with another error", text: emptyText, noID: true,
			prep: func(f *fakeAgent) { f.messages[1] = failedMessage("msg_2", resultText) },
			want: fromStore, repaired: true,
		},
		{
			name: "a session without messages", text: emptyText, noID: true, prep: func(f *fakeAgent) { f.messages = nil },
			want: fromStore, repaired: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, info := failedSession(c.text)
			if c.prep != nil {
				c.prep(f)
			}
			if c.noID {
				info.ID = ""
			}
			if got := f.hook(c.opt).recover(t.Context(), info); got != c.repaired {
				t.Errorf("repaired = %t, want %t", got, c.repaired)
			}
			if diff := cmp.Diff(c.want, f.recordedCalls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIgnoredMessages: only failed assistant messages of a session are handled.
func TestIgnoredMessages(t *testing.T) {
	for name, change := range map[string]func(*Info){
		"a prompt":   func(i *Info) { i.Role = "user" },
		"no session": func(i *Info) { i.SessionID = "" },
		"no error":   func(i *Info) { i.Error = nil },
		"null":       func(i *Info) { i.Error = []byte("null") },
	} {
		f, info := failedSession(emptyText)
		change(&info)
		if f.hook(Options{}).recover(t.Context(), info) || f.recordedCalls() != nil {
			t.Errorf("%s: did %v, want nothing", name, f.recordedCalls())
		}
	}
}

// TestIsRecoverableError: an error is recoverable if its class is known and not disabled.
func TestIsRecoverableError(t *testing.T) {
	h := New(nil, new(fakeAgent), Options{Disabled: []repair.Class{repair.UnavailableTool}})
	for text, want := range map[string]bool{
		orderText: true, disabledText: true, resultText: true, emptyText: true, modifiedText: true, prefillText: true,
		toolText: false, otherText: false, "": false,
	} {
		if got := h.IsRecoverableError(errorJSON(text)); got != want {
			t.Errorf("IsRecoverableError(%q) = %t, want %t", text, got, want)
		}
	}
}

// TestLimit: a message is repaired again after a failure, but not beyond the limit until a turn succeeds.
func TestLimit(t *testing.T) {
	f, info := failedSession(emptyText)
	f.errors = map[string]error{"repair": errTest}
	h := f.hook(Options{MaxAttempts: 2})
	for n, want := range []int{1, 2, 2, 2} {
		h.recover(t.Context(), info)
		if got := f.count("repair"); got != want {
			t.Errorf("after error %d: %d repairs, want %d", n+1, got, want)
		}
	}
	if got := f.toasts[len(f.toasts)-1].Message; got != limitText(2) {
		t.Errorf("last toast = %q, want %q", got, limitText(2))
	}
	f.errors = nil
	if f.messages = []Message{prompt("msg_1", ""), failedMessage("msg_3", emptyText)}; h.recover(t.Context(), f.messages[1].Info) {
		t.Error("a further message was recovered beyond the limit")
	}
	done := assistantMessage("msg_5")
	done.Info.Finish = "stop"
	f.messages = []Message{prompt("msg_4", ""), done}
	h.idle(t.Context())
	f.messages = []Message{prompt("msg_6", ""), failedMessage("msg_7", emptyText)}
	if !h.recover(t.Context(), f.messages[1].Info) {
		t.Error("no recovery after a turn that succeeded")
	}
}

// TestNoLoop: if every repair succeeds and every turn fails, the limit holds, too (#1803).
func TestNoLoop(t *testing.T) {
	f, _ := failedSession(orderText)
	h := f.hook(Options{AutoResume: true})
	for n := range 10 {
		last := failedMessage(fmt.Sprintf("msg_%d", n+2), orderText)
		f.messages = []Message{prompt("msg_1", ""), last}
		h.recover(t.Context(), last.Info)
		h.idle(t.Context())
	}
	if got := f.count("repair"); got != defaultAttempts {
		t.Errorf("%d repairs, want %d", got, defaultAttempts)
	}
	if got := f.count("prompt"); got != defaultAttempts {
		t.Errorf("%d prompts, want %d", got, defaultAttempts)
	}
}

// TestConcurrentReports: several reports of one message cause one recovery.
func TestConcurrentReports(t *testing.T) {
	f, info := failedSession(emptyText)
	h := f.hook(Options{})
	var group sync.WaitGroup
	for n := range 20 {
		i := info
		if n%2 == 0 {
			i.ID = ""
		}
		group.Go(func() { h.recover(t.Context(), i) })
	}
	group.Wait()
	if n := f.count("repair"); n != 1 {
		t.Errorf("%d repairs, want 1", n)
	}
}

// TestStartAndEnd: the start and the end of a recovery are published, whatever fails in between, so that a program that
// sends prompts by itself can pause (#29).
func TestStartAndEnd(t *testing.T) {
	for _, verb := range []string{"abort", "toast", "repair", "messages", "none"} {
		f, info := failedSession(emptyText)
		h := f.hook(Options{})
		f.began = func() { f.errors = map[string]error{verb: errTest} } // from here on
		h.recover(t.Context(), info)
		actions := f.recordedCalls()
		if actions[1] != "started ses_1" || actions[len(actions)-1] != "finished ses_1" || f.count("finished") != 1 {
			t.Errorf("%s fails: did %v", verb, actions)
		}
	}
}

// TestAgentEndsDuringRecovery: the store is repaired even if the agent ends during the recovery.
func TestAgentEndsDuringRecovery(t *testing.T) {
	f, info := failedSession(emptyText)
	h := f.hook(Options{})
	f.began = func() {
		f.errors = map[string]error{"abort": errAgentEnded, "messages": errAgentEnded, "toast": errAgentEnded, "prompt": errAgentEnded}
	}
	if !h.recover(t.Context(), info) {
		t.Errorf("not recovered; did %v", f.recordedCalls())
	}
}

// TestAgentEndsAfterError: the store is repaired even if the agent ends after it reported an error and before it stored
// the error.
func TestAgentEndsAfterError(t *testing.T) {
	done := assistantMessage("msg_2")
	done.Info.Finish = "stop"
	for name, c := range map[string]struct {
		last     Message
		repaired bool
	}{
		"the error is stored": {failedMessage("msg_2", emptyText), true},
		"it is not stored":    {assistantMessage("msg_2"), true},
		"no answer":           {prompt("msg_2", ""), false},
		"another answer":      {done, false},
	} {
		f, info := failedSession(emptyText)
		info.ID, f.stored[1] = "", c.last
		f.errors = map[string]error{"messages": errAgentEnded, "toast": errAgentEnded, "abort": errAgentEnded}
		if got := f.hook(Options{}).recover(t.Context(), info); got != c.repaired {
			t.Errorf("%s: recovered = %t, want %t", name, got, c.repaired)
		}
		if c.repaired && !f.requests[0].Force {
			t.Errorf("%s: the repair waits for an agent that has ended", name)
		}
	}
}

// TestBusyStore: a repair waits for an agent that still writes, but not for ever.
func TestBusyStore(t *testing.T) {
	f, info := failedSession(emptyText)
	f.errors = map[string]error{"repair": fmt.Errorf("planning: %w", repair.ErrBusy)}
	f.onRepair = func() {
		if len(f.requests) == 3 {
			f.errors = nil
		}
	}
	if !f.hook(Options{}).recover(t.Context(), info) || len(f.requests) != 4 {
		t.Errorf("%d tries, want 4 and a repair", len(f.requests))
	}
	f, info = failedSession(emptyText)
	f.errors = map[string]error{"repair": repair.ErrBusy}
	if f.hook(Options{}).recover(t.Context(), info) || len(f.requests) != 4 {
		t.Errorf("%d tries, want 4 and no repair", len(f.requests))
	}
}

// TestRequest: a repair request has the error and the configured texts.
func TestRequest(t *testing.T) {
	for _, c := range []struct {
		text string
		opt  Options
		want repair.Request
	}{
		{emptyText, Options{Placeholder: "[empty]"}, repair.Request{Placeholder: "[empty]"}},
		{resultText, Options{}, repair.Request{}},
		{toolText, Options{}, repair.Request{Cancelled: unavailableToolText}},
	} {
		f, info := failedSession(c.text)
		h := f.hook(c.opt)
		h.recover(t.Context(), info)
		e := f.ParseAPIError(info.Error)
		c.want.Error = &e
		if diff := cmp.Diff([]repair.Request{c.want}, f.requests); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", c.text, diff)
		}
	}
}

// TestOtherFindings: the repair after an error also fixes all other findings, except those of disabled classes.
func TestOtherFindings(t *testing.T) {
	for _, off := range [][]repair.Class{nil, {repair.UnavailableTool}} {
		f, info := failedSession(emptyText)
		f.hook(Options{Disabled: off}).recover(t.Context(), info)
		if len(f.requests) != 1 || f.requests[0].Error.Class != repair.EmptyContentMessage || !slices.Equal(f.requests[0].Except, off) {
			t.Errorf("with %v disabled: requests %+v", off, f.requests)
		}
	}
}

// TestEndedContext: a recovery that has to wait for another one does not start after the end of its context.
func TestEndedContext(t *testing.T) {
	f, info := failedSession(emptyText)
	h := f.hook(Options{})
	release, err := h.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if h.recover(ctx, info) || f.recordedCalls() != nil {
		t.Errorf("did %v during another recovery, want nothing", f.recordedCalls())
	}
	release()
}
