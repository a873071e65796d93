package live

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(kind string, properties any) Event {
	b, _ := json.Marshal(properties)
	return Event{Type: kind, Properties: b}
}

type object = map[string]any

func errorEvent(text string) Event {
	return event(EventError, object{"sessionID": "ses_1", "error": errorJSON(text)})
}

func messageEvent(m Message) Event { return event(EventMessage, object{"info": m.Info}) }

func idleEvent() Event { return event(EventIdle, object{"sessionID": "ses_1"}) }

// drain closes a Watch and waits until Run returns.
func drain(t *testing.T, w *Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	w.Close()
	w.Run(ctx)
	if ctx.Err() != nil {
		t.Fatal("Run did not end after Close")
	}
}

// TestWatch: these events cause these repairs and reads.
func TestWatch(t *testing.T) {
	aborted := event(EventError, object{"sessionID": "ses_1", "error": object{"name": "MessageAbortedError", "data": object{}}})
	abortedAnswer := assistantMessage("msg_2")
	abortedAnswer.Info.Error = json.RawMessage(`{"name":"AbortError"}`)
	status := func(kind string) Event {
		return event(EventStatus, object{"sessionID": "ses_1", "status": object{"type": kind}})
	}
	failed := failedMessage("msg_2", emptyText)
	for _, c := range []struct {
		name    string
		events  []Event
		idle    bool // the session has interrupted calls instead of an error
		repairs int
		reads   int // of messages; -1 for any number
	}{
		{"an error of the session", []Event{errorEvent(emptyText)}, false, 1, -1},
		{"a failed answer", []Event{messageEvent(failed)}, false, 1, -1},
		{"both, and idle", []Event{errorEvent(emptyText), idleEvent(), messageEvent(failed), status("idle")}, false, 1, -1},
		{"several reports of one error", []Event{errorEvent(emptyText), errorEvent(emptyText), messageEvent(failed), messageEvent(failed), errorEvent(emptyText)}, false, 1, -1},
		{"another error", []Event{errorEvent(otherText)}, false, 0, 0},
		{"an error without a session", []Event{event(EventError, object{"error": errorJSON(emptyText)})}, false, 0, 0},
		{"the prompt is sent again after the error", []Event{errorEvent(emptyText), messageEvent(prompt("msg_1", "do it"))}, false, 1, -1},
		{"a deleted session", []Event{errorEvent(emptyText), event(EventDeleted, object{"info": object{"id": "ses_1"}})}, false, 0, 0},
		{"an unfinished message", []Event{messageEvent(assistantMessage("msg_2"))}, false, 0, 0},
		{"unreadable", []Event{{Type: EventError, Properties: []byte("[")}, {Type: EventMessage, Properties: []byte(`{"info":"x"}`)}, {Type: EventIdle}}, false, 0, 0},
		{"irrelevant", []Event{event("session.diff", object{"sessionID": "ses_1"})}, false, 0, 0},

		{"idle", []Event{idleEvent()}, true, 1, 1},
		{"idle by status", []Event{status("idle")}, true, 1, 1},
		{"busy", []Event{status("busy")}, true, 0, 0},
		{"idle many times", []Event{idleEvent(), status("idle"), idleEvent()}, true, 1, 1},
		{"idle after the user's abort (#2984, #3065)", []Event{aborted, idleEvent()}, true, 0, 0},
		{"idle after an aborted answer", []Event{messageEvent(abortedAnswer), status("idle")}, true, 0, 0},
		{"idle twice after one abort", []Event{aborted, idleEvent(), idleEvent()}, true, 1, 1},
		{"idle after an abort and a prompt", []Event{aborted, messageEvent(prompt("msg_3", "")), idleEvent()}, true, 1, 1},
		{"idle after an abort and the end of the session", []Event{aborted, event(EventDeleted, object{"info": object{"id": "ses_1"}}), idleEvent()}, true, 1, 1},
	} {
		f, _ := failedSession(emptyText)
		if c.idle {
			f = interruptedSession()
		}
		w := NewWatch(f.hook(Options{}))
		for _, e := range c.events {
			w.Accept(e)
		}
		drain(t, w)
		if got := f.count("repair"); got != c.repairs {
			t.Errorf("%s: %d repairs, want %d; did %v", c.name, got, c.repairs, f.recordedCalls())
		}
		if got := f.count("messages"); c.reads >= 0 && got != c.reads {
			t.Errorf("%s: %d reads, want %d", c.name, got, c.reads)
		}
	}
}

// TestRecoveryRecorded: with the events of the real OpenCode, which reports several times that the provider refuses a
// request, the session is repaired once.
func TestRecoveryRecorded(t *testing.T) {
	for _, version := range []string{"1.1.53", "1.18.33"} {
		events := recordedLines[Event](t, filepath.Join("testdata", "recovery_"+version+".jsonl"))
		f := &fakeAgent{messages: []Message{prompt("msg_1", "one more")}, entry: "quail"}
		failures := 0
		for _, e := range events {
			if u, err := e.decode(); relevant(e.Type) && err == nil && u.failure != nil {
				if failures++; u.failure.ID != "" {
					f.messages = append(f.messages[:1], Message{Info: *u.failure})
				}
			}
		}
		w := NewWatch(f.hook(Options{}))
		for _, e := range events {
			w.Accept(e)
		}
		drain(t, w)
		if failures < 2 || f.count("repair") != 1 || f.count("abort") != 1 || f.count("prompt") != 0 {
			t.Errorf("%s: %d reports; did %v", version, failures, f.recordedCalls())
		}
	}
}

// TestSuccessResetsAttempts: a turn that succeeds resets the attempts, even if the next prompt follows at once.
func TestSuccessResetsAttempts(t *testing.T) {
	f, _ := failedSession(emptyText)
	h := f.hook(Options{MaxAttempts: 1})
	w := NewWatch(h)
	h.countAttempt("ses_1", 1)
	calls := assistantMessage("msg_2")
	calls.Info.Finish = "tool-calls"
	for _, m := range []Message{assistantMessage("msg_2"), calls, failedMessage("msg_2", otherText)} {
		if w.Accept(messageEvent(m)); h.countAttempt("ses_1", 1) {
			t.Errorf("%+v counts as a turn that succeeded", m.Info)
		}
	}
	done := assistantMessage("msg_2")
	done.Info.Finish = "stop"
	if w.Accept(messageEvent(done)); !h.countAttempt("ses_1", 1) {
		t.Error("a turn that succeeded does not count")
	}
}

// TestAcceptWhileRunning: Accept does not wait for a recovery, and drops the oldest of too many sessions.
func TestAcceptWhileRunning(t *testing.T) {
	f, _ := failedSession(emptyText)
	started, resume := make(chan struct{}), make(chan struct{})
	f.onRepair = func() {
		close(started)
		<-resume
	}
	w := NewWatch(f.hook(Options{}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(t.Context())
	}()
	w.Accept(errorEvent(emptyText))
	<-started
	for n := range 2 * maxQueued {
		w.Accept(event(EventIdle, object{"sessionID": fmt.Sprintf("ses_%d", n+2)}))
	}
	if n := len(w.queue); n != maxQueued {
		t.Errorf("%d sessions wait, want %d", n, maxQueued)
	}
	close(resume)
	w.Close()
	<-done
	if got := f.count("messages"); got != maxQueued+1 {
		t.Errorf("%d reads, want %d", got, maxQueued+1)
	}
}

// TestRunEnds: Run ends with its context, after the current recovery.
func TestRunEnds(t *testing.T) {
	f, _ := failedSession(emptyText)
	ctx, cancel := context.WithCancel(t.Context())
	f.onRepair = cancel
	w := NewWatch(f.hook(Options{}))
	w.Accept(errorEvent(emptyText))
	w.Accept(event(EventIdle, object{"sessionID": "ses_2"}))
	w.Run(ctx)
	if actions := strings.Join(f.recordedCalls(), ", "); !strings.HasSuffix(actions, "finished ses_1") {
		t.Errorf("did %s", actions)
	}
}
