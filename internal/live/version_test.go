package live

import (
	"context"
	"testing"
	"time"

	"mend/repair"
)

// TestNewerVersion: for a version newer than all verified ones, a refused request turns off the repairs before
// requests, if it is the first one after such a repair.
func TestNewerVersion(t *testing.T) {
	refused, answered := errorEvent(emptyText), assistantMessage("msg_9")
	answered.Info.Finish, answered.Info.Time.Completed = "stop", 1
	for _, c := range []struct {
		name    string
		version string
		steps   func(*fakeAgent, *Watch)
		off     bool
	}{
		{"a repaired request is refused", "9.9.9", func(_ *fakeAgent, w *Watch) { w.Accept(refused); drain(t, w) }, true},
		{"a repaired request of a verified version is refused", "1.18.33", func(_ *fakeAgent, w *Watch) { w.Accept(refused); drain(t, w) }, false},
		{"a repaired request is answered, and a later one refused", "9.9.9", func(_ *fakeAgent, w *Watch) {
			w.Accept(messageEvent(answered))
			w.Accept(refused)
			drain(t, w)
		}, false},
		{"an error that only the provider can find", "9.9.9", func(_ *fakeAgent, w *Watch) {
			w.Accept(errorEvent("messages.1.content.0: Invalid `signature` in `thinking` block"))
			drain(t, w)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeAgent{entry: "quail", result: repair.Result{Fixed: []repair.Diagnosis{fixed(repair.EmptyContentMessage, "")}}}
			h := f.hook(Options{Log: logTo(t)})
			q := Question{Session: "ses_1", Version: c.version, Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return true, nil }}
			if _, err := h.ask(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			c.steps(f, NewWatch(h))
			if _, err := h.ask(t.Context(), q); (err != nil) != c.off {
				t.Errorf("the next repair = %v, want one: %t", err, !c.off)
			}
		})
	}
}
