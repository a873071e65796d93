package live

import (
	"context"
	"encoding/json"
	"fmt"
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
	return event(eventError, object{"sessionID": "ses_1", "error": errorJSON(text)})
}

func messageEvent(m Message) Event { return event(eventMessage, object{"info": m.Info}) }

func idleEvent() Event { return event(eventIdle, object{"sessionID": "ses_1"}) }

// drain lets a Watch do all its work.
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

// What a stream of events leads to.
func TestWatch(t *testing.T) {
	aborted := event(eventError, object{"sessionID": "ses_1", "error": object{"name": "MessageAbortedError", "data": object{}}})
	abortedAnswer := assistantMessage("msg_2")
	abortedAnswer.Info.Error = json.RawMessage(`{"name":"AbortError"}`)
	status := func(kind string) Event {
		return event(eventStatus, object{"sessionID": "ses_1", "status": object{"type": kind}})
	}
	failed := failedMessage("msg_2", emptyText)
	for _, c := range []struct {
		name    string
		events  []Event
		stuck   bool
		repairs int
		looks   int // at an idle session; -1 for any number
	}{
		{"an error of the session", []Event{errorEvent(emptyText)}, false, 1, -1},
		{"a failed answer", []Event{messageEvent(failed)}, false, 1, -1},
		{"both, and idle", []Event{errorEvent(emptyText), idleEvent(), messageEvent(failed), status("idle")}, false, 1, -1},
		{"many", []Event{errorEvent(emptyText), errorEvent(emptyText), messageEvent(failed), messageEvent(failed), errorEvent(emptyText)}, false, 1, -1},
		{"another error", []Event{errorEvent(otherText)}, false, 0, 0},
		{"an error without a session", []Event{event(eventError, object{"error": errorJSON(emptyText)})}, false, 0, 0},
		{"the prompt told again behind it", []Event{errorEvent(emptyText), messageEvent(prompt("msg_1", "do it"))}, false, 1, -1},
		{"a deleted session", []Event{errorEvent(emptyText), event(eventDeleted, object{"info": object{"id": "ses_1"}})}, false, 0, 0},
		{"an answer that goes well", []Event{messageEvent(assistantMessage("msg_2"))}, false, 0, 0},
		{"unreadable", []Event{{Type: eventError, Properties: []byte("[")}, {Type: eventMessage, Properties: []byte(`{"info":"x"}`)}, {Type: eventIdle}}, false, 0, 0},
		{"of no interest", []Event{event("session.diff", object{"sessionID": "ses_1"})}, false, 0, 0},

		{"idle", []Event{idleEvent()}, true, 1, 1},
		{"idle by status", []Event{status("idle")}, true, 1, 1},
		{"busy", []Event{status("busy")}, true, 0, 0},
		{"idle many times", []Event{idleEvent(), status("idle"), idleEvent()}, true, 1, 1},
		{"idle after the user's abort", []Event{aborted, idleEvent()}, true, 0, 0},
		{"idle after an aborted answer", []Event{messageEvent(abortedAnswer), status("idle")}, true, 0, 0},
		{"idle twice after one abort", []Event{aborted, idleEvent(), idleEvent()}, true, 1, 1},
		{"idle after an abort and a prompt", []Event{aborted, messageEvent(prompt("msg_3", "")), idleEvent()}, true, 1, 1},
		{"idle after an abort and the end of the session", []Event{aborted, event(eventDeleted, object{"info": object{"id": "ses_1"}}), idleEvent()}, true, 1, 1},
	} {
		f, _ := failedSession(emptyText)
		if c.stuck {
			f = interruptedSession()
		}
		w := NewWatch(f.hook(Options{}))
		for _, e := range c.events {
			w.Accept(e)
		}
		drain(t, w)
		if got := f.count("repair"); got != c.repairs {
			t.Errorf("%s: %d repairs, want %d; did %v", c.name, got, c.repairs, f.recorded())
		}
		if got := f.count("messages"); c.looks >= 0 && got != c.looks {
			t.Errorf("%s: %d looks, want %d", c.name, got, c.looks)
		}
	}
}

// A turn that ends well lets the session be recovered anew, also if the next
// prompt comes before anybody has looked.
func TestSuccessResetsAttempts(t *testing.T) {
	f, _ := failedSession(emptyText)
	h := f.hook(Options{MaxAttempts: 1})
	w := NewWatch(h)
	h.dedupe.attempt("ses_1")
	calls := assistantMessage("msg_2")
	calls.Info.Finish = "tool-calls"
	for _, m := range []Message{assistantMessage("msg_2"), calls, failedMessage("msg_2", otherText)} {
		if w.Accept(messageEvent(m)); h.dedupe.attempt("ses_1") {
			t.Errorf("%+v counts as a turn that ended well", m.Info)
		}
	}
	done := assistantMessage("msg_2")
	done.Info.Finish = "stop"
	if w.Accept(messageEvent(done)); !h.dedupe.attempt("ses_1") {
		t.Error("a turn that ended well does not count")
	}
}

// Events come while a recovery runs, and Take never waits for it.
func TestAcceptWhileRunning(t *testing.T) {
	f, _ := failedSession(emptyText)
	began, goOn := make(chan struct{}), make(chan struct{})
	f.onRepair = func() {
		close(began)
		<-goOn
	}
	w := NewWatch(f.hook(Options{}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(t.Context())
	}()
	w.Accept(errorEvent(emptyText))
	<-began
	for n := range 2 * maxQueued {
		w.Accept(event(eventIdle, object{"sessionID": fmt.Sprintf("ses_%d", n+2)}))
	}
	if n := len(w.order); n != maxQueued {
		t.Errorf("%d sessions wait, want %d", n, maxQueued)
	}
	close(goOn)
	w.Close()
	<-done
	if got := f.count("messages"); got != maxQueued+2 {
		t.Errorf("%d looks, want %d", got, maxQueued+2)
	}
}

// A context that ends ends Run; a recovery that runs is finished first.
func TestRunEnds(t *testing.T) {
	f, _ := failedSession(emptyText)
	ctx, cancel := context.WithCancel(t.Context())
	f.onRepair = cancel
	w := NewWatch(f.hook(Options{}))
	w.Accept(errorEvent(emptyText))
	w.Accept(event(eventIdle, object{"sessionID": "ses_2"}))
	w.Run(ctx)
	if did := strings.Join(f.recorded(), ", "); !strings.HasSuffix(did, "onComplete ses_1") {
		t.Errorf("did %s", did)
	}
}

// The memory of a ledger is bounded, and what is newest stays.
func TestDedupeBound(t *testing.T) {
	l := newDedupe(1)
	for n := range 3 * maxRemembered {
		if id := fmt.Sprint(n); !l.claim(id, false) || !l.attempt(id) || l.claim(id, false) || l.attempt(id) {
			t.Fatalf("claim or try %s went wrong", id)
		}
	}
	if len(l.claimed.values) != maxRemembered || len(l.claimed.order) != maxRemembered || len(l.attempts.values) != maxRemembered {
		t.Errorf("remembers %d answers, want %d", len(l.claimed.values), maxRemembered)
	}
}
