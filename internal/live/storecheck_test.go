package live

import (
	"slices"
	"testing"
	"time"
)

// TestCheckStore checks that with Options.CheckStore neither agent nor store is changed
// unless both hold the same newest messages (found fault 13.1).
func TestCheckStore(t *testing.T) {
	stuck := assistantMessage("msg_2", toolCall("prt_1", "running"))
	for _, c := range []struct {
		name string
		prep func(*fakeAgent)
		same bool
	}{
		{name: "the same store", same: true},
		{name: "another store", prep: func(f *fakeAgent) { f.errors = map[string]error{"read": errTest} }},
		{name: "an older copy", prep: func(f *fakeAgent) { f.stored = f.stored[:1] }},
		{name: "an empty session in the store", prep: func(f *fakeAgent) { f.stored = nil }},
		{name: "a copy that has diverged", prep: func(f *fakeAgent) { f.stored = []Message{f.stored[0], prompt("msg_9", "x")} }},
		{name: "another message with the same id", prep: func(f *fakeAgent) {
			f.stored = slices.Clone(f.stored)
			f.stored[1].Info.Time.Created = 7
		}},
		{name: "a message whose error differs", prep: func(f *fakeAgent) {
			f.stored = slices.Clone(f.stored)
			if f.stored[1].Info.Error = nil; !f.messages[1].Info.HasError() {
				f.stored[1].Info.Error = errorJSON(emptyText)
			}
		}},
	} {
		for name, act := range map[string]func(*Hook, Info) bool{
			"recovery":            func(h *Hook, i Info) bool { return h.HandleSessionRecovery(t.Context(), i) },
			"recovery without id": func(h *Hook, i Info) bool { i.ID = ""; return h.HandleSessionRecovery(t.Context(), i) },
			"missed": func(h *Hook, _ Info) bool {
				if err := h.RecoverMissed(t.Context(), time.UnixMilli(0), time.Now(), ""); err != nil {
					t.Error(err)
				}
				return false
			},
			"explanation": func(h *Hook, i Info) bool {
				i.Error = errorJSON(modifiedText)
				return h.HandleSessionRecovery(t.Context(), i)
			},
			"idle": func(h *Hook, i Info) bool { return h.handleIdle(t.Context(), SessionRef{ID: i.SessionID}) },
		} {
			f, info := failedSession(emptyText)
			if name == "idle" {
				f.messages = []Message{f.messages[0], stuck}
				f.stored = f.messages
			}
			if c.prep != nil {
				c.prep(f)
			}
			h := f.hook(Options{CheckStore: true, AutoResume: true})
			for range 2 {
				act(h, info)
			}
			if acted := slices.ContainsFunc([]string{"abort", "toast", "repair", "prompt", "onAbort"}, func(verb string) bool { return f.count(verb) > 0 }); acted != c.same {
				t.Errorf("%s, %s: acted %t, want %t; did %v", c.name, name, acted, c.same, f.recorded())
			}
			if err := h.CheckStore(t.Context()); (err == nil) != c.same {
				t.Errorf("%s, %s: CheckStore = %v", c.name, name, err)
			}
		}
	}
}
