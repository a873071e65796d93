package live

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpstream: the cases of oh-my-opencode's tests that concern a running agent. Where upstream is wrong, a comment
// says why, and the case has mend's behaviour.
func TestUpstream(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"HND-01 HND-02 the same prefill error twice": func(t *testing.T) {
			f, info := failedSession(prefillText)
			f.entry = "" // the store is not damaged
			h := f.hook(Options{AutoResume: true})
			for n := range 2 {
				if h.recover(t.Context(), info) {
					t.Errorf("call %d = true, want false", n)
				}
			}
			wantTimes(t, f, map[string]int{"abort": 1, "toast": 1, "prompt": 0, "repair": 1})
		},
		"HND-04 no id, a bare array of messages": func(t *testing.T) {
			var ms []Message
			if err := json.Unmarshal([]byte(`[{"info":{"id":"msg_1","sessionID":"ses_1","role":"assistant","error":{"data":{"message":"tool_use without tool_result"}}},
				"parts":[{"id":"prt_1","type":"tool_use","callID":"toolu_array_response"}]}]`), &ms); err != nil {
				t.Fatal(err)
			}
			f := &fakeAgent{messages: ms, stored: ms, entry: "quail"}
			i := ms[0].Info
			i.ID = ""
			if !f.hook(Options{}).recover(t.Context(), i) {
				t.Error("not recovered")
			}
			// Upstream then prompts with a tool_result part, which OpenCode refuses
			// (docs/opencode.md). mend repairs the stored call.
			wantTimes(t, f, map[string]int{"repair": 1, "prompt": 0})
		},
		"HND-05 the search for the id fails": func(t *testing.T) {
			f, info := failedSession(resultText)
			info.ID, f.errors = "", map[string]error{"messages": errTest}
			if f.hook(Options{}).recover(t.Context(), info) {
				t.Error("recovered")
			}
			wantTimes(t, f, map[string]int{"messages": 1, "abort": 0, "repair": 0})
		},
		"HND-07 modified thinking": func(t *testing.T) {
			f, info := failedSession(modifiedText)
			if f.hook(Options{}).recover(t.Context(), info) {
				t.Error("recovered")
			}
			wantTimes(t, f, map[string]int{"toast": 1, "started": 0, "abort": 0, "messages": 0, "prompt": 0, "repair": 0, "finished": 0})
		},
		"HND-08 TRM-05 idle with interrupted tools, twice (#6605, #6607)": func(t *testing.T) {
			f := interruptedSession()
			h := f.hook(Options{})
			if first, second := h.idle(t.Context()), h.idle(t.Context()); !first || second {
				t.Errorf("repaired %t, %t, want true, false", first, second)
			}
			if got := f.requests[0].Cancelled; got != "Tool execution was interrupted before producing a result." {
				t.Errorf("text %q", got)
			}
			// One repair replaces the prompt of upstream, which OpenCode refuses.
			wantTimes(t, f, map[string]int{"repair": 1, "prompt": 0, "abort": 0})
		},
		"HND-10 idle after a newer prompt": func(t *testing.T) {
			f := interruptedSession()
			f.messages = append(f.messages, prompt("msg_3", ""))
			if f.hook(Options{}).idle(t.Context()) {
				t.Error("recovered")
			}
			wantTimes(t, f, map[string]int{"repair": 0})
		},
		"IDL-01 an abort is consumed once": func(t *testing.T) {
			s, _ := step(sessionState{}, update{failure: &Info{Error: []byte(`{"name":"MessageAbortedError"}`)}})
			s, first := step(s, update{idle: true})
			if _, second := step(s, update{idle: true}); first != 0 || second != AtIdle {
				t.Errorf("causes %v, %v, want none, then one", first, second)
			}
		},
		"IDL-03 another error is no abort": func(t *testing.T) {
			s, _ := step(sessionState{}, update{failure: &Info{Error: []byte(`{"name":"ProviderTimeoutError"}`)}})
			if _, cause := step(s, update{idle: true}); cause != AtIdle {
				t.Errorf("cause %v, want one", cause)
			}
		},
		// IDL-04 and IDL-06, an abort and then idle: rows of TestWatch.
		// IDL-07: mend has no other hook on this event.
		"IDL-09 IDL-10 a second idle is not suppressed": func(t *testing.T) {
			// Upstream drops a second idle event within half a second, but not after a
			// recovery. mend handles every idle event.
			f := interruptedSession()
			w := NewWatch(f.hook(Options{}))
			w.Accept(idleEvent())
			q, _ := w.next()
			w.Look(t.Context(), q)
			w.Accept(event(EventStatus, object{"sessionID": "ses_1", "status": object{"type": "idle"}}))
			drain(t, w)
			wantTimes(t, f, map[string]int{"repair": 1, "messages": 2})
		},
		"TRM-01 TRM-04 TRM-07 ids of calls (#2679, #2726)": func(t *testing.T) {
			// Upstream needs an id that the provider made, because it answers the call in a prompt. mend
			// repairs the stored call, whatever its ids.
			f := interruptedSession()
			p := toolCall("prt_missing_call", "running")
			p.CallID = "prt_not_a_tool_use_id"
			f.messages[1].Parts = []Part{p}
			if !f.hook(Options{}).idle(t.Context()) {
				t.Error("not recovered")
			}
		},
		"TRM-02 reading messages fails": func(t *testing.T) {
			f, info := failedSession(resultText)
			f.errors = map[string]error{"messages": errTest}
			if f.hook(Options{}).recover(t.Context(), info) {
				t.Error("recovered")
			}
		},
		"TRM-10 TRM-11 UNT-03 a prompt that fails": func(t *testing.T) {
			// Upstream treats some failures as successes. Here the journal decides whether the session was
			// repaired. A prompt that fails is logged and not sent again.
			f, info := failedSession(orderText)
			f.errors = map[string]error{"prompt": errTest}
			if !f.hook(Options{AutoResume: true}).recover(t.Context(), info) {
				t.Error("not recovered")
			}
			wantTimes(t, f, map[string]int{"prompt": 1})
		},
		"UNT-02 an unknown tool (#1803)": func(t *testing.T) {
			f, info := failedSession("No such tool: bash")
			f.messages[1].Parts = []Part{toolCall("prt_2", "running")}
			if !f.hook(Options{}).recover(t.Context(), info) {
				t.Error("not recovered")
			}
			// Upstream wraps the text in JSON for the prompt; the stored error of a
			// call is plain text.
			if got := f.requests[0].Cancelled; got != "Tool not available. Please continue without this tool." {
				t.Errorf("text %q", got)
			}
		},
		"RSM-01 the last prompt of the user": func(t *testing.T) {
			synthetic, marked := prompt("msg_2", "go on"), prompt("msg_3", "go on\n<!-- OMO_INTERNAL_INITIATOR -->")
			synthetic.Parts[0].Synthetic = true
			file := prompt("msg_0", "")
			file.Parts[0].Type = "file"
			for want, ms := range map[string][]Message{
				"msg_1": {prompt("msg_1", "real"), synthetic, marked},
				"msg_0": {file, synthetic},
				"":      {synthetic, assistantMessage("msg_4")},
			} {
				got := ""
				if m := lastUserPrompt(ms); m != nil {
					got = m.Info.ID
				}
				if got != want {
					t.Errorf("lastUserPrompt = %q, want %q", got, want)
				}
			}
		},
		"RSM-03 RSM-04 TRM-08 the prompt of a resumed turn (#4085)": func(t *testing.T) {
			f, info := failedSession(disabledText)
			if !f.hook(Options{AutoResume: true}).recover(t.Context(), info) {
				t.Error("not recovered")
			}
			// Upstream marks text and metadata only for its other hooks.
			want := []Prompt{{
				Parts: []PromptPart{{Type: "text", Text: "[session recovered - continuing previous task]", Synthetic: true}},
				Agent: "build", Model: &Model{ProviderID: "anthropic", ModelID: "claude"}, Variant: "max", Tools: map[string]bool{"bash": true},
			}}
			if diff := cmp.Diff(want, f.prompts); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
		},
		// RSM-06 is about a prompt that cannot be encoded. Every Prompt can be encoded.
	} {
		t.Run(name, test)
	}
}

func wantTimes(t *testing.T, f *fakeAgent, want map[string]int) {
	t.Helper()
	for verb, n := range want {
		if got := f.count(verb); got != n {
			t.Errorf("%s %d times, want %d; did %v", verb, got, n, f.recordedCalls())
		}
	}
}

// TestToasts: each class has its toast: those of docs/opencode.md, and mend's own.
func TestToasts(t *testing.T) {
	for _, c := range []struct{ text, title, message string }{
		{resultText, "Tool Crash Recovery", "Injecting cancelled tool results..."},
		{toolText, "Tool Recovery", "Recovering from unavailable tool call..."},
		{orderText, "Thinking Block Recovery", "Fixing message structure..."},
		{disabledText, "Thinking Strip Recovery", "Stripping thinking blocks..."},
		{modifiedText, "Thinking Block Recovery", "Latest assistant thinking blocks cannot be safely recovered; leaving history unchanged."},
		{prefillText, "Prefill Unsupported", "Prefill not supported; continuing without recovery."},
		{emptyText, "Empty Message Recovery", "Fixing empty message..."},
		{"tool_use.id: String should match pattern", "Tool Call Recovery", "Fixing an invalid tool call..."},
		{"image exceeds 5 MB maximum", "File Recovery", "Replacing a file that cannot be sent..."},
		{"messages: first message must use the user role", "First Prompt Recovery", "Fixing the start of the conversation..."},
		{"messages.1.content.0: Invalid `signature` in `thinking` block", "Thinking Signature Recovery", "Removing thinking with an invalid signature..."},
		{"encrypted content could not be verified", "Reasoning Recovery", "Removing reasoning that cannot be read..."},
	} {
		f, info := failedSession(c.text)
		if c.text == prefillText {
			f.entry = "" // the store is not damaged
		}
		f.hook(Options{}).recover(t.Context(), info)
		if len(f.toasts) == 0 {
			t.Errorf("%s: no toast", c.text)
			continue
		}
		shown := 3000
		if c.text == modifiedText || c.text == prefillText { // a result
			shown = 1_000
		}
		if diff := cmp.Diff(Toast{c.title, c.message, "warning", shown}, f.toasts[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}
