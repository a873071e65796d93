package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mend/change"
	"mend/repair"
)

// TestWatchStore checks when a change of the store leads to a repair without a question, and how
// often a session is tried.
func TestWatchStore(t *testing.T) {
	unreadable := []repair.Diagnosis{fixed(repair.UnreadableRecord, "")}
	for _, c := range []struct {
		name    string
		change  func(*fakeAgent)
		repairs int // tried after the first change
		again   int // and after the next
	}{
		{"broken", func(*fakeAgent) {}, 1, 2},
		{"healthy", func(f *fakeAgent) { f.broken = nil }, 0, 0},
		{"of another directory", func(f *fakeAgent) { f.others[0].Directory = "/q" }, 0, 0},
		{"busy", func(f *fakeAgent) { f.busy = true }, 0, 0},
		{"it must not be repaired unasked", func(f *fakeAgent) { f.errors = map[string]error{"checkUnasked": errTest} }, 1, 1},
		{"no repair", func(f *fakeAgent) { f.entry = "" }, 1, 1},
		{"a tree", func(f *fakeAgent) { f.state = change.Stamp{} }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeAgent{
					entry: "quail", result: repair.Result{Fixed: []repair.Diagnosis{unreadable[0]}}, state: change.Stamp{Sum: [32]byte{1}},
					others: []change.Head{{ID: "ses_2", Directory: "/p"}}, broken: map[string][]repair.Diagnosis{"ses_2": unreadable},
				}
				c.change(f)
				ctx, cancel := context.WithCancel(t.Context())
				go New(f, f, Options{}).FollowDirectory(ctx, "/p")
				set := func(sum byte) {
					f.mu.Lock()
					defer f.mu.Unlock()
					if f.state.Sum != ([32]byte{}) {
						f.state.Sum[0] = sum
					}
				}
				for sum := range byte(100) { // the agent is writing
					set(sum + 1)
					time.Sleep(storeInterval / 2)
				}
				if n := f.count("broken") + f.count("repair"); n > 0 {
					t.Errorf("looked %d times at a store that was being written", n)
				}
				time.Sleep(time.Minute)
				if got := f.count("repair"); got != c.repairs {
					t.Errorf("%d repairs, want %d", got, c.repairs)
				}
				looks := f.count("broken")
				if looks > 1 && !f.busy {
					t.Errorf("looked %d times at a store that did not change", looks)
				}
				set(200)
				time.Sleep(time.Minute)
				if got := f.count("repair"); got != c.again {
					t.Errorf("after another change %d repairs, want %d", got, c.again)
				}
				f.setBusy(false)
				time.Sleep(time.Minute)
				if got := f.count("repair"); c.name == "busy" && got != 1 {
					t.Errorf("%d repairs of a session that became idle, want 1", got)
				}
				for _, r := range f.requests {
					if r.Force {
						t.Error("forced, although another process may be working in the session")
					}
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}
