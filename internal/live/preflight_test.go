package live

import (
	"context"
	"errors"
	"testing"
	"time"

	"mend/repair"
)

func fixed(class repair.Class, loses string) repair.Diagnosis {
	return repair.Diagnosis{Severity: repair.Broken, Class: class, Loses: loses, Why: "why"}
}

// errAsk is the error of a repair that needs the user's consent.
var errAsk = &repair.AskError{Session: "ses_1", Why: "why"}

// TestPreflight: before a request a broken session is repaired, unless one of these conditions forbids it.
func TestPreflight(t *testing.T) {
	lossless := repair.Result{Fixed: []repair.Diagnosis{fixed(repair.EmptyContentMessage, "")}}
	for _, c := range []struct {
		name     string
		change   func(*fakeAgent, *Question)
		repaired bool
		err      error
	}{
		{"broken", func(*fakeAgent, *Question) {}, true, nil},
		{"healthy", func(f *fakeAgent, _ *Question) { f.entry = "" }, false, nil},
		{"an older version", func(_ *fakeAgent, q *Question) { q.Version = "0.0.1" }, false, unverifiedError{Version: "0.0.1"}},
		{"a newer version", func(_ *fakeAgent, q *Question) { q.Version = "9.9.9" }, true, nil},
		{"busy", func(f *fakeAgent, _ *Question) { f.busy = true }, false, errWorking},
		{"perhaps busy", func(f *fakeAgent, _ *Question) { f.errors = map[string]error{"busy": errTest} }, false, errWorking},
		{"not repaired without a question", func(f *fakeAgent, _ *Question) { f.errors = map[string]error{"checkUnasked": errTest} }, false, errTest},
		{"the user has to be asked", func(f *fakeAgent, _ *Question) { f.errors = map[string]error{"repair": errAsk} }, false, errAsk},
		{"too late", func(_ *fakeAgent, q *Question) { q.Begin = func(context.Context) (bool, error) { return false, nil } }, false, errTooLate},
		{"the agent has ended", func(_ *fakeAgent, q *Question) {
			q.Begin = func(context.Context) (bool, error) { return true, errAgentEnded }
		}, false, errAgentEnded},
		{"after the deadline", func(f *fakeAgent, q *Question) {
			q.Deadline = time.Nanosecond
			f.onRepair = func() { time.Sleep(time.Millisecond) }
		}, false, errTooLate},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeAgent{entry: "quail", result: lossless}
			f.result.Fixed = append([]repair.Diagnosis(nil), lossless.Fixed...)
			q := Question{Session: "ses_1", Version: "1.18.33", Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return true, nil }}
			c.change(f, &q)
			entry, err := f.hook(Options{Log: logTo(t)}).ask(t.Context(), q)
			if (entry != "") != c.repaired || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("repair %q, %v, want one: %t, %v; did %v", entry, err, c.repaired, c.err, f.recordedCalls())
			}
			toasts := 0
			if c.repaired || errors.Is(c.err, errAsk) {
				toasts = 1
			}
			if got := f.count("toast"); got != toasts {
				t.Errorf("%d toasts, want %d", got, toasts)
			}
		})
	}
}

// TestPreflightModel: a session is judged for the model that the prompt names.
func TestPreflightModel(t *testing.T) {
	for named, want := range map[bool]string{true: "gpt-5", false: ""} {
		f := &fakeAgent{entry: "quail"}
		q := Question{
			Session: "ses_1", Version: "1.18.33", Deadline: time.Minute, Model: &Model{"openai", "gpt-5", ""}, Named: named,
			Begin: func(context.Context) (bool, error) { return true, nil },
		}
		if _, err := f.hook(Options{}).ask(t.Context(), q); err != nil {
			t.Error(err)
		}
		if got := f.requests[0].Model.ModelID; got != want {
			t.Errorf("named %t: model %q, want %q", named, got, want)
		}
	}
}

// TestPreflightStored: at the start of an agent only the recent sessions of its directory are repaired, without force.
func TestPreflightStored(t *testing.T) {
	for _, c := range []struct {
		name      string
		directory string
		updated   int64
		repairs   int
	}{
		{"of the directory", "/p", time.Now().UnixMilli(), 1},
		{"of another directory", "/q", time.Now().UnixMilli(), 0},
		{"old", "/p", 1, 0},
	} {
		f := &fakeAgent{entry: "quail", updated: c.updated}
		q := Question{Directory: c.directory, Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return true, nil }}
		if err := f.hook(Options{}).LookAll(t.Context(), time.Now().Add(-time.Hour), q); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := f.count("repair"); got != c.repairs {
			t.Errorf("%s: %d repairs, want %d", c.name, got, c.repairs)
		}
		for _, r := range f.requests {
			if r.Force {
				t.Errorf("%s: the repair is forced, and the session may be busy", c.name)
			}
		}
	}
}

// TestQuestionOfBadSession: an invalid id is refused.
func TestQuestionOfBadSession(t *testing.T) {
	f := &fakeAgent{entry: "quail"}
	q := Question{Session: "../x", Deadline: time.Minute}
	if _, err := f.hook(Options{}).ask(t.Context(), q); err == nil || f.count("repair") > 0 {
		t.Errorf("Look = %v, want an error; did %v", err, f.recordedCalls())
	}
}

// TestUnanswered: a turn that ends without an answer is examined in the store. A turn that was answered or aborted is
// not.
func TestUnanswered(t *testing.T) {
	done := assistantMessage("msg_2")
	done.Info.Finish = "stop"
	asked := messageEvent(prompt("msg_1", "do it"))
	for _, c := range []struct {
		name    string
		events  []Event
		busy    bool
		repairs int
	}{
		{"no answer", []Event{asked, idleEvent()}, false, 1},
		{"idle twice", []Event{asked, idleEvent(), idleEvent()}, false, 1},
		{"an unknown error (#742)", []Event{asked, errorEvent(otherText), idleEvent()}, false, 1},
		{"answered", []Event{asked, messageEvent(done), idleEvent()}, false, 0},
		{"the prompt is reported again after the answer", []Event{asked, messageEvent(done), asked, idleEvent()}, false, 0},
		{"aborted", []Event{asked, event(EventError, object{"sessionID": "ses_1", "error": object{"name": "MessageAbortedError"}}), idleEvent()}, false, 0},
		{"no prompt", []Event{idleEvent()}, false, 0},
		{"still busy", []Event{asked, idleEvent()}, true, 0},
		{"deleted", []Event{asked, event(EventDeleted, object{"info": object{"id": "ses_1"}})}, false, 0},
	} {
		f := &fakeAgent{messages: []Message{prompt("msg_1", "do it")}, entry: "quail", busy: c.busy}
		w := NewWatch(f.hook(Options{}))
		for _, e := range c.events {
			w.Accept(e)
		}
		drain(t, w)
		if got := f.count("repair"); got != c.repairs {
			t.Errorf("%s: %d repairs, want %d; did %v", c.name, got, c.repairs, f.recordedCalls())
		}
	}
}
