package live

import (
	"context"
	"testing"
	"time"

	"mend/repair"
)

// TestNewerVersion checks what turns repairs before requests of a version off that is newer than
// those that mend was verified with.
func TestNewerVersion(t *testing.T) {
	request := func(version string) Event {
		return event(eventRequest, object{"sessionID": "ses_1", "version": version, "messages": []object{{"id": "msg_1", "parts": []object{{"id": "prt_1", "type": "text"}}}}})
	}
	refused, answered := errorEvent(emptyText), assistantMessage("msg_9")
	answered.Info.Finish, answered.Info.Time.Completed = "stop", 1
	for _, c := range []struct {
		name     string
		version  string
		steps    func(*fakeAgent, *Hook, *Watch)
		compared int
		off      bool
	}{
		{"the request is as expected", "9.9.9", func(_ *fakeAgent, h *Hook, _ *Watch) { h.CompareRequest(t.Context(), request("9.9.9")) }, 1, false},
		{"another request", "9.9.9", func(f *fakeAgent, h *Hook, _ *Watch) {
			f.difference = "it sends no text"
			h.CompareRequest(t.Context(), request("9.9.9"))
			h.CompareRequest(t.Context(), request("9.9.9")) // it is known
		}, 1, true},
		{"another request of a verified version", "1.18.33", func(f *fakeAgent, h *Hook, _ *Watch) {
			f.difference = "it sends no text"
			h.CompareRequest(t.Context(), request("1.18.33"))
		}, 0, false},
		{"it cannot be compared", "9.9.9", func(f *fakeAgent, h *Hook, _ *Watch) {
			f.errors = map[string]error{"compare": errTest}
			h.CompareRequest(t.Context(), request("9.9.9"))
		}, 1, false},
		{"a report that cannot be read", "9.9.9", func(_ *fakeAgent, h *Hook, _ *Watch) {
			h.CompareRequest(t.Context(), event(eventRequest, object{"sessionID": "../x"}))
			h.CompareRequest(t.Context(), event(eventRequest, "?"))
		}, 0, false},
		{"a repaired request is refused", "9.9.9", func(_ *fakeAgent, _ *Hook, w *Watch) { w.Accept(refused); drain(t, w) }, 0, true},
		{"a repaired request of a verified version is refused", "1.18.33", func(_ *fakeAgent, _ *Hook, w *Watch) { w.Accept(refused); drain(t, w) }, 0, false},
		{"a repaired request is answered, and a later one refused", "9.9.9", func(_ *fakeAgent, _ *Hook, w *Watch) {
			w.Accept(messageEvent(answered))
			w.Accept(refused)
			drain(t, w)
		}, 0, false},
		{"what only the provider sees", "9.9.9", func(_ *fakeAgent, _ *Hook, w *Watch) {
			w.Accept(errorEvent("messages.1.content.0: Invalid `signature` in `thinking` block"))
			drain(t, w)
		}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeAgent{entry: "quail", result: repair.Result{Fixed: []repair.Diagnosis{fixed(repair.EmptyContentMessage, "")}}}
			h := f.hook(Options{Log: logTo(t), Versions: versionMap{}})
			q := Question{Session: SessionRef{ID: "ses_1"}, Version: c.version, Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return true, nil }}
			if _, err := h.AnswerQuestion(t.Context(), time.Time{}, q); err != nil {
				t.Fatal(err)
			}
			c.steps(f, h, NewWatch(h))
			if got := f.count("compare"); got != c.compared {
				t.Errorf("%d comparisons, want %d", got, c.compared)
			}
			if _, err := h.AnswerQuestion(t.Context(), time.Time{}, q); (err != nil) != c.off {
				t.Errorf("the next repair = %v, want one: %t", err, !c.off)
			}
		})
	}
}
