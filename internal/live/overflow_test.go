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

// overflowEvent returns the error of a request that is too long. OpenCode names it ContextOverflowError if it then
// compacts the session.
func overflowEvent(name, text string) Event {
	return event(EventError, object{"sessionID": "ses_1", "error": object{"name": name, "data": object{"message": text}}})
}

const tooLong = "prompt is too long: 240000 tokens > 200000 maximum"

// TestOverflow: a session is trimmed after a request that was too long if the agent does not compact it, or if its
// compactions do not help.
func TestOverflow(t *testing.T) {
	summary := assistantMessage("msg_3")
	summary.Info.Finish, summary.Info.Summary = "stop", true
	givenUp := assistantMessage("msg_2")
	givenUp.Info.Time.Completed = 1.0
	done := assistantMessage("msg_4")
	done.Info.Finish = "stop"
	compacted := overflowEvent("ContextOverflowError", tooLong)
	for _, c := range []struct {
		name   string
		opt    Options
		events []Event
		trims  int
	}{
		{"off (#3899)", Options{}, []Event{overflowEvent("APIError", tooLong), idleEvent()}, 0},
		{"the agent does nothing (#96)", Options{TrimOverflow: true}, []Event{overflowEvent("APIError", tooLong), idleEvent()}, 1},
		{"the agent compacts", Options{TrimOverflow: true}, []Event{compacted, idleEvent()}, 0},
		{"twice", Options{TrimOverflow: true}, []Event{compacted, messageEvent(summary), compacted, idleEvent()}, 0},
		{"compactions do not help (#3127, #3558, opencode #4845, #15481, #15849)", Options{TrimOverflow: true}, []Event{compacted, messageEvent(givenUp), messageEvent(summary), compacted, messageEvent(givenUp), messageEvent(summary), compacted}, 1},
		{"a compaction helped in between", Options{TrimOverflow: true}, []Event{compacted, compacted, messageEvent(done), compacted, compacted}, 0},
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
			if e.Type == EventError { // each error follows a prompt of the agent or the user, and is reported twice
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

// TestOverflowRecorded: with the events of the real OpenCode each session is trimmed once. 1.1.53 ignores a request
// that is too long. 1.18.33 compacts the session again and again, so that it is trimmed only after its third error.
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

// TestOverflowResumed: a trimmed turn is continued a limited number of times, with the agent that the user chose and
// never with a default one (#3313).
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
			t.Errorf("agent %q, want the agent of the user's prompt", p.Agent)
		}
	}
}

// TestOverflowGivenUp: a message that the agent gave up, without an error and a finish reason, is not a success, so
// that the number of prompts after trims stays limited.
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

// recordedLines decodes the lines of a file.
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
