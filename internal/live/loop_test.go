package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mend/repair"
)

// TestLoopRecorded passes the events of the real OpenCode to the watch, from a turn in a session
// whose prompt is dated in the future: the model calls its tool again and again.
func TestLoopRecorded(t *testing.T) {
	for _, version := range []string{"1.2.27", "1.18.33"} {
		events := recordedLines[Event](t, filepath.Join("testdata", "loop_"+version+".jsonl"))
		f := &fakeAgent{messages: []Message{prompt("msg_1", "do it")}, entry: "quail"}
		w := NewWatch(f.hook(Options{}))
		looks := 0
		for _, e := range events {
			w.Accept(e)
			if item := w.items["ses_1"]; item != nil && slices.ContainsFunc(item.tasks, func(t task) bool { return t.kind == taskEndless }) {
				looks++
			}
			drain(t, w)
		}
		if looks != 1 || f.count("abort") != 1 || f.toasts[0].Message != endlessText("quail") {
			t.Errorf("%s: %d looks at the store; did %v", version, looks, f.recorded())
		}
		req := f.requests[0]
		if !slices.Equal(req.Classes, []repair.Class{repair.AssistantPrefillUnsupported}) || !req.Latent || !req.Force {
			t.Errorf("%s: request %+v", version, req)
		}
	}
}

// TestCountRounds checks after how many answers the store is looked at.
func TestCountRounds(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	user := func(n int, created float64) Info {
		i := prompt(fmt.Sprintf("msg_%d", n), "").Info
		i.Time.Created = created
		return i
	}
	reply := func(n, parent int, finish any) Info {
		i := assistantMessage(fmt.Sprintf("msg_%d", n)).Info
		i.ParentID, i.Finish = fmt.Sprintf("msg_%d", parent), finish
		return i
	}
	replies := func(parent int, finish any, n int) (all []Info) {
		for k := range n {
			all = append(all, reply(100+k, parent, finish), reply(100+k, parent, finish)) // each is reported twice
		}
		return all
	}
	failed := reply(100, 2, "stop")
	failed.Error = errorJSON(otherText)
	summary := reply(100, 2, "stop")
	summary.Summary = true
	for _, c := range []struct {
		name   string
		events []Info
		looks  int
	}{
		{"a long turn", append([]Info{user(1, 10)}, replies(1, "tool-calls", 50)...), 0},
		{"a prompt that is answered", append([]Info{user(1, 10)}, replies(1, "stop", 1)...), 0},
		{"the last step of the turn before", append([]Info{user(1, 10), user(2, 20), reply(3, 1, "tool-calls")}, replies(2, "tool-calls", 9)...), 0},
		{"an older prompt that is reported again", append([]Info{user(2, 20), user(1, 10)}, replies(2, "tool-calls", 9)...), 0},
		{"answers to an older prompt", append([]Info{user(1, 10), user(2, 20)}, replies(1, "tool-calls", 3)...), 1},
		{"answers to a prompt of the future", append([]Info{user(2, 20), user(1, 2_000_000)}, replies(1, "tool-calls", 3)...), 1},
		{"two answers to it", append([]Info{user(2, 20), user(1, 2_000_000)}, replies(1, "tool-calls", 2)...), 0},
		{"answers that the agent does not see", append([]Info{user(1, 10)}, replies(1, "stop", 4)...), 1},
		{"and never sees", append([]Info{user(1, 10)}, replies(1, "stop", 100)...), 6},
		{"of a turn that began before the watch", replies(1, "stop", 4), 1},
		{"steps of a turn that began before the watch", replies(1, "tool-calls", 50), 0},
		{"a prompt after each answer", []Info{user(1, 10), reply(2, 1, "stop"), user(3, 20), reply(4, 3, "stop"), user(5, 30), reply(6, 5, "stop"), user(7, 40), reply(8, 7, "stop")}, 0},
		{"answers without an end", append([]Info{user(1, 10), user(2, 20)}, replies(1, nil, 9)...), 0},
		{"failures", append([]Info{user(1, 10)}, slices.Repeat([]Info{failed, summary}, 9)...), 0},
	} {
		var s turnState
		looks := 0
		for _, i := range c.events {
			var look bool
			if s, look = countRounds(s, i, now); look {
				looks++
			}
		}
		if looks != c.looks {
			t.Errorf("%s: %d looks at the store, want %d", c.name, looks, c.looks)
		}
	}
}

// TestHandleLoop checks that a turn is aborted only if the store has a fault, and that nothing
// is changed while the agent works.
func TestHandleLoop(t *testing.T) {
	for _, c := range []struct {
		name  string
		agent *fakeAgent
		want  []string
	}{
		{"no fault", &fakeAgent{}, []string{"repair"}},
		{"a fault", &fakeAgent{entry: "quail"}, []string{"repair", "started ses_1", "abort", "busy", "toast", "finished ses_1"}},
		{"the agent goes on", &fakeAgent{entry: "quail", busy: true}, []string{"repair", "started ses_1", "abort", "busy", "busy", "busy", "busy", "finished ses_1"}},
		{"the repair fails", &fakeAgent{entry: "quail", errors: map[string]error{"repair": errTest}}, []string{"repair"}},
	} {
		f := c.agent
		repaired := f.hook(Options{}).try(t.Context(), endless, SessionRef{ID: "ses_1"})
		if got := f.recorded(); !slices.Equal(got, c.want) || repaired != slices.Contains(c.want, "toast") {
			t.Errorf("%s: repaired %t, did %v, want %v", c.name, repaired, got, c.want)
		}
	}
}

// recordedLines reads a file of testdata.
func recordedLines[T any](t *testing.T, path string) (all []T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
	return all
}
