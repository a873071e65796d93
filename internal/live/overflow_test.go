package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// overflowEvent returns the error of a request that is too long. OpenCode gives it the
// name ContextOverflowError if it answers with a compaction.
func overflowEvent(name, text string) Event {
	return event(EventError, object{"sessionID": "ses_1", "error": object{"name": name, "data": object{"message": text}}})
}

const tooLong = "prompt is too long: 240000 tokens > 200000 maximum"

// TestOverflow checks when a session is trimmed: after an error that the agent does not answer, or when its
// compactions do not help.
func TestOverflow(t *testing.T) {
	summary := assistantMessage("msg_3")
	summary.Info.Finish, summary.Info.Summary = "stop", true
	givenUp := assistantMessage("msg_2")
	givenUp.Info.Time.Completed = 1.0
	done := assistantMessage("msg_4")
	done.Info.Finish = "stop"
	own := overflowEvent("ContextOverflowError", tooLong)
	for _, c := range []struct {
		name   string
		opt    Options
		events []Event
		trims  int
	}{
		{"off (#3899)", Options{}, []Event{overflowEvent("APIError", tooLong), idleEvent()}, 0},
		{"the agent does nothing (#96)", Options{TrimOverflow: true}, []Event{overflowEvent("APIError", tooLong), idleEvent()}, 1},
		{"the agent compacts", Options{TrimOverflow: true}, []Event{own, idleEvent()}, 0},
		{"twice", Options{TrimOverflow: true}, []Event{own, messageEvent(summary), own, idleEvent()}, 0},
		{"compactions do not help (#3127, #3558, opencode #4845, #15481, #15849)", Options{TrimOverflow: true}, []Event{own, messageEvent(givenUp), messageEvent(summary), own, messageEvent(givenUp), messageEvent(summary), own}, 1},
		{"a compaction helped in between", Options{TrimOverflow: true}, []Event{own, own, messageEvent(done), own, own}, 0},
		{"another error", Options{TrimOverflow: true}, []Event{overflowEvent("APIError", "file name is too long")}, 0},
		{"a limit that is no number", Options{TrimOverflow: true}, []Event{overflowEvent("APIError", "max_tokens: must be >= 1"), idleEvent()}, 0},
		{"content that is missing", Options{TrimOverflow: true}, []Event{overflowEvent("APIError", "messages.4: all messages must have non-empty content"), idleEvent()}, 0},
		{"OpenAI's words", Options{TrimOverflow: true}, []Event{overflowEvent("APIError", "Your input exceeds the context window of this model. Please adjust your input and try again."), idleEvent()}, 1},
		{"Copilot's words (#2356)", Options{TrimOverflow: true}, []Event{overflowEvent("APIError", "prompt token count of 141422 exceeds the limit of 128000"), idleEvent()}, 1},
	} {
		f := &fakeAgent{messages: []Message{prompt("msg_1", "do it")}}
		f.entry = "quail"
		w := NewWatch(f.hook(c.opt))
		for n, e := range c.events {
			if e.Type == EventError { // each follows a prompt of the agent or the user, and is reported twice
				w.Accept(messageEvent(prompt(fmt.Sprintf("msg_1%d", n), "do it")))
				w.Accept(e)
			}
			w.Accept(e)
		}
		drain(t, w)
		if got := f.count("trim"); got != c.trims {
			t.Errorf("%s: %d trims, want %d; did %v", c.name, got, c.trims, f.recordedCalls())
		}
		if shown := slices.ContainsFunc(f.toasts, func(t Toast) bool { return t.Title == titleTrimmed }); shown != (c.trims > 0) {
			t.Errorf("%s: toasts %+v", c.name, f.toasts)
		}
		var actual, window int
		for _, e := range c.events {
			if u, err := e.decode(); err == nil && e.Type == EventError {
				actual, window = f.ParseAPIError(u.failure.Error).Sizes()
			}
		}
		if c.trims > 0 && (f.trims[0].Actual != actual || f.trims[0].Window != window || f.count("abort") != 1 || f.count("prompt") != 0) {
			t.Errorf("%s: %+v; did %v", c.name, f.trims, f.recordedCalls())
		}
	}
}

// TestOverflowRecorded passes the events of the real OpenCode to the watch: 1.1.53 ignores a request that is too long,
// 1.18.33 compacts the session again and again. Each session is trimmed once, the session of 1.18.33 only after its
// third error.
func TestOverflowRecorded(t *testing.T) {
	for version, want := range map[string]int{"1.1.53": 1, "1.18.33": 3} {
		f := &fakeAgent{messages: []Message{prompt("msg_1", "do it")}, entry: "quail"}
		w := NewWatch(f.hook(Options{TrimOverflow: true}))
		failed := map[string]bool{} // the prompts whose requests were too long
		for _, e := range recordedLines[Event](t, filepath.Join("testdata", "overflow_"+version+".jsonl")) {
			if w.Accept(e); e.Type == EventError && f.count("trim") == 0 {
				s := w.sessions["ses_1"]
				failed[s.prompt] = true
			}
			drain(t, w)
		}
		if len(failed) != want || f.count("trim") != 1 || f.count("abort") != 1 {
			t.Errorf("%s: %d errors, want %d; did %v", version, len(failed), want, f.recordedCalls())
		}
	}
}

// TestOverflowResumed checks that a trimmed turn is continued, but not forever, and by the agent that the
// user chose, never by a default one (#3313).
func TestOverflowResumed(t *testing.T) {
	f := &fakeAgent{messages: []Message{prompt("msg_1", "do it")}, entry: "quail"}
	f.messages[0].Info.Agent = "Planner (strict)"
	h := f.hook(Options{TrimOverflow: true, AutoResume: true})
	for range 10 {
		h.overflow(t.Context())
	}
	if got := f.count("prompt"); got != defaultAttempts {
		t.Errorf("%d prompts, want %d", got, defaultAttempts)
	}
	for _, p := range f.prompts {
		if p.Agent != "Planner (strict)" {
			t.Errorf("agent %q, want that of the prompt", p.Agent)
		}
	}
}

// TestOverflowGivenUp checks that a message that the agent gave up, without an error or an end, does not count as a
// success: trims that are followed by prompts stay limited.
func TestOverflowGivenUp(t *testing.T) {
	givenUp := assistantMessage("msg_2")
	givenUp.Info.Time.Completed = 1.0
	f := &fakeAgent{messages: []Message{prompt("msg_1", "do it")}, entry: "quail"}
	w := NewWatch(f.hook(Options{TrimOverflow: true, AutoResume: true}))
	for n := range 10 {
		w.Accept(messageEvent(prompt(fmt.Sprintf("msg_1%d", n), "do it")))
		w.Accept(overflowEvent("APIError", tooLong))
		w.Accept(messageEvent(givenUp))
		drain(t, w)
	}
	if got := f.count("prompt"); got != defaultAttempts {
		t.Errorf("%d prompts, want %d", got, defaultAttempts)
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
