package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mend/change"
	"mend/internal/live"
)

// childSteps passes steps, each "SECONDS EVENT [ARGUMENT]", to the policy, with After = 120 s, and returns its actions
// with their times.
func childSteps(t *testing.T, reaction, steps string) string {
	t.Helper()
	s := newChildState()
	o := ChildOptions{After: 2 * time.Minute, Action: reaction}
	var lines []string
	for step := range strings.SplitSeq(steps, "; ") {
		var at int64
		var kind, arg string
		if n, _ := fmt.Sscan(step, &at, &kind, &arg); n < 2 {
			t.Fatalf("step %q", step)
		}
		e := childEvent{at: at * 1000, session: "ses_child", parent: "ses_parent", title: "look", active: true}
		switch kind {
		case "tick":
			e = childEvent{at: e.at}
		case "delta":
		case "tool":
			e.call, e.status, e.doing = "c1", arg, "bash "+arg
		case "retry":
			e.until = e.at + 300_000
		case "updated":
			e.active = false
		case "idle":
			e.ended = true
		case "parent":
			e = childEvent{at: e.at, session: "ses_parent", ended: true}
		case "other":
			e = childEvent{at: e.at, session: "ses_other", ended: true}
		case "again": // the same parent starts another subagent
			e.session = "ses_child" + arg
		}
		var actions []action
		s, actions = watchChildren(s, e, o)
		for _, a := range actions {
			verb := map[actionKind]string{actToast: "toast", actAbort: "abort", actPrompt: "prompt"}[a.kind]
			lines = append(lines, fmt.Sprintf("%d %s %s", at, verb, strings.TrimPrefix(a.session, "ses_")))
		}
	}
	return strings.Join(lines, ", ")
}

// TestWatchChildren: a subagent counts as stuck after 120 s without an event and without a running tool. Then the set
// action follows.
func TestWatchChildren(t *testing.T) {
	for _, c := range []struct{ name, action, steps, want string }{
		{"silent", StuckNotify, "0 delta; 119 tick; 120 tick", "120 toast child"}, // #4528, #5971: the user was never told that a subagent had stopped
		{"not silent", StuckNotify, "0 delta; 100 delta; 120 tick; 219 tick", ""},
		{"a running tool", StuckNotify, "0 tool running; 9999 tick", ""},
		{"a tool that waits for its input", StuckNotify, "0 tool pending; 120 tick", "120 toast child"},
		{"a tool has ended", StuckNotify, "0 tool running; 300 tool completed; 400 tick; 420 tick", "420 toast child"},
		{"the provider named the time of the next try", StuckNotify, "0 retry; 300 tick; 419 tick; 420 tick", "420 toast child"},
		{"cool-down", StuckNotify, "0 delta; 120 tick; 130 tick; 419 tick; 420 tick", "120 toast child, 420 toast child"},
		{"it has ended", StuckNotify, "0 delta; 1 idle; 120 tick", ""}, // #5240: finished subagents are not woken
		{"its title is set after it has ended", StuckNotify, "0 delta; 1 idle; 2 updated; 122 tick", ""},
		{"the parent has ended", StuckNotify, "0 delta; 1 parent; 120 tick", ""},
		{"another session has ended", StuckNotify, "0 delta; 1 other; 120 tick", "120 toast child"},
		{"abort", StuckAbort, "0 delta; 120 tick", "120 abort child, 120 toast child"}, // #1769: users want it ended, not a note
		{"retry", StuckRetry, "0 delta; 120 tick", "120 abort child, 120 toast child, 120 prompt parent"},
		{
			"retry, at most twice", StuckRetry, "0 delta; 120 tick; 121 idle; 130 again 2; 250 tick; 251 again 3; 371 tick",
			"120 abort child, 120 toast child, 120 prompt parent, 250 abort child2, 250 toast child2, 250 prompt parent, 371 abort child3, 371 toast child3",
		},
		{
			"retry, at most twice, although each prompt begins a turn of the parent", StuckRetry, "0 delta; 120 tick; 121 parent; 130 again 2; 250 tick; 251 parent; 251 parent; 260 again 3; 380 tick",
			"120 abort child, 120 toast child, 120 prompt parent, 250 abort child2, 250 toast child2, 250 prompt parent, 380 abort child3, 380 toast child3",
		},
		{
			"retry again after half an hour", StuckRetry, "0 delta; 120 tick; 121 parent; 130 again 2; 250 tick; 251 parent; 2000 again 3; 2120 tick",
			"120 abort child, 120 toast child, 120 prompt parent, 250 abort child2, 250 toast child2, 250 prompt parent, 2120 abort child3, 2120 toast child3, 2120 prompt parent",
		},
	} {
		if got := childSteps(t, c.action, c.steps); got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.name, c.steps, got, c.want)
		}
	}
}

// TestWatchChildrenRecorded: in the events of the real programs a subagent whose tool runs for three seconds is not
// stuck, and one whose model is silent for eight seconds is.
func TestWatchChildrenRecorded(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "subagents_*.jsonl"))
	if err != nil || len(paths) != 3 {
		t.Fatalf("%q, %v, want three", paths, err)
	}
	for _, path := range paths {
		s := newChildState()
		var silent []string
		for _, e := range recordedLines[live.Event](t, path) {
			c, ok := decodeChild(e)
			if !ok {
				continue
			}
			for now := s.newest() + 100; c.parent != "" && now < c.at; now += 100 {
				var actions []action
				s, actions = watchChildren(s, childEvent{at: now}, ChildOptions{After: 2 * time.Second, Action: StuckNotify})
				for _, a := range actions {
					silent = append(silent, a.toast.Message)
				}
			}
			s, _ = watchChildren(s, c, ChildOptions{})
		}
		if len(silent) != 1 || !strings.HasPrefix(silent[0], "hang: silent for 2 s") {
			t.Errorf("%s: %q, want one about hang", path, silent)
		}
		if len(s.children) > 0 {
			t.Errorf("%s: %v have not ended", path, s.children)
		}
	}
}

// newest returns the time of the newest event, or a late time without events.
func (s *childState) newest() int64 {
	newest := int64(-1)
	for _, c := range s.children {
		newest = max(newest, c.last)
	}
	if newest < 0 {
		return 1 << 60
	}
	return newest
}

// TestStuckText: a toast has at most 15 words, whatever the name of the task.
func TestStuckText(t *testing.T) {
	long := child{title: "look at all of the files here (@general subagent)", doing: "todowrite completed"}
	for _, action := range []string{StuckNotify, StuckAbort, StuckRetry} {
		for _, c := range []child{{}, {title: "look (@general subagent)", doing: "thinking"}, long} {
			text := stuckText(c, 2*time.Minute, action, action == StuckRetry)
			if n := len(strings.Fields(text)); n > 15 {
				t.Errorf("%q has %d words", text, n)
			}
		}
	}
	if got, want := stuckText(long, 2*time.Minute, StuckAbort, false), "look at all of: silent for 120 s after todowrite completed. Ended."; got != want {
		t.Errorf("stuckText = %q, want %q", got, want)
	}
}

// TestChildWatch: a subagent is ended only if the agent reports that its session is busy, and its parent is prompted
// later.
func TestChildWatch(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fakeAgent)
		want   string
	}{
		{"stuck", func(*fakeAgent) {}, "busy, abort, toast, busy, messages, prompt"},
		{"the user aborts the turn", func(f *fakeAgent) {
			f.messages = []live.Message{{Info: live.Info{ID: "msg_1", Role: change.RoleAssistant, Error: json.RawMessage(`{"name":"MessageAbortedError"}`)}}}
		}, "busy, abort, toast, busy, messages"},
		{"idle", func(f *fakeAgent) { f.busy = false }, "busy"},
		{"cannot be asked", func(f *fakeAgent) { f.errors = map[string]error{"busy": errTest} }, "busy"},
		{"cannot be aborted", func(f *fakeAgent) { f.errors = map[string]error{"abort": errTest} }, "busy, abort"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeAgent{busy: true, silent: true}
				c.change(f)
				w := New(f.watch(), f, Options{Children: ChildOptions{After: 2 * time.Minute, Action: StuckRetry}})
				ctx, cancel := context.WithCancel(t.Context())
				go w.Run(ctx)
				activity := func(session string) live.Event {
					return event(eventActivity, object{"sessionID": session, "parentID": "ses_1", "title": "look", "time": time.Now().UnixMilli(), "status": object{"type": "busy"}})
				}
				w.Accept(activity("ses_2"))
				w.Accept(activity("../ses_3"))
				w.Accept(live.Event{Type: eventActivity, Properties: []byte("{")})
				time.Sleep(3 * time.Minute)
				f.setBusy(false) // the turn of the parent ends
				time.Sleep(time.Minute)
				if got := strings.Join(slices.Compact(f.recordedCalls()), ", "); got != c.want {
					t.Errorf("did %q, want %q", got, c.want)
				}
				cancel()
			})
		})
	}
}
