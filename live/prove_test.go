package live

import (
	"slices"
	"testing"
	"time"
)

// With Prove an agent that may read another store gets no order, and the store is
// left alone, unless both hold the same newest messages (found fault 13.1).
func TestProve(t *testing.T) {
	stuck := answer("msg_2", call("prt_1", "running"))
	for _, c := range []struct {
		name string
		prep func(*fake)
		same bool
	}{
		{name: "the same store", same: true},
		{name: "another store", prep: func(f *fake) { f.fail = map[string]error{"read": errBoom} }},
		{name: "a copy from before", prep: func(f *fake) { f.stored = f.stored[:1] }},
		{name: "no message in the store", prep: func(f *fake) { f.stored = nil }},
		{name: "the agent went on and the copy did, too", prep: func(f *fake) { f.stored = []Message{f.stored[0], prompt("msg_9", "x")} }},
		{name: "another message of that id", prep: func(f *fake) {
			f.stored = slices.Clone(f.stored)
			f.stored[1].Info.Time.Created = 7
		}},
		{name: "an answer that did not fail as the agent says", prep: func(f *fake) {
			f.stored = slices.Clone(f.stored)
			if f.stored[1].Info.Error = nil; !f.messages[1].Info.failed() {
				f.stored[1].Info.Error = errorJSON(emptyText)
			}
		}},
	} {
		for name, act := range map[string]func(*Hook, Info) bool{
			"recovery":            func(h *Hook, i Info) bool { return h.HandleSessionRecovery(t.Context(), i) },
			"recovery without id": func(h *Hook, i Info) bool { i.ID = ""; return h.HandleSessionRecovery(t.Context(), i) },
			"sweep": func(h *Hook, _ Info) bool {
				if err := h.Sweep(t.Context(), time.UnixMilli(0), time.Now(), ""); err != nil {
					t.Error(err)
				}
				return false
			},
			"explanation": func(h *Hook, i Info) bool {
				i.Error = errorJSON(modifiedText)
				return h.HandleSessionRecovery(t.Context(), i)
			},
			"idle": func(h *Hook, i Info) bool { return h.HandleIdle(t.Context(), Place{Session: i.SessionID}) },
		} {
			f, info := broken(emptyText)
			if name == "idle" {
				f.messages = []Message{f.messages[0], stuck}
				f.stored = f.messages
			}
			if c.prep != nil {
				c.prep(f)
			}
			h := f.hook(Options{Prove: true, AutoResume: true})
			for range 2 {
				act(h, info)
			}
			if acted := slices.ContainsFunc([]string{"abort", "toast", "repair", "prompt", "onAbort"}, func(verb string) bool { return f.times(verb) > 0 }); acted != c.same {
				t.Errorf("%s, %s: acted %t, want %t; did %v", c.name, name, acted, c.same, f.log())
			}
			if err := h.SameStore(t.Context()); (err == nil) != c.same {
				t.Errorf("%s, %s: SameStore = %v", c.name, name, err)
			}
		}
	}
}
