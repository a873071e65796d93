//go:build e2e

package main

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mend/internal/live"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// TestLiveOverflow: a session whose requests are too long, in the words of several providers, is trimmed, and the next
// prompt is answered. OpenCode 1.1.53 ignores these errors. With -record the events are written to live/testdata.
func TestLiveOverflow(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 8000)
	for n, wording := range []string{
		"prompt is too long: 240000 tokens > 200000 maximum",
		"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
		"Your input exceeds the context window of this model. Please adjust your input and try again.",
		"prompt token count of 141422 exceeds the limit of 128000",
	} {
		if testing.Short() && n > 0 {
			continue
		}
		t.Run(wording[:20], func(t *testing.T) {
			t.Parallel()
			h, session, g := home(t, "1.1.53", true)
			damageSession(t, h, session, damage.LongOutputs)
			installPlugin(t, h)
			configure(t, h, `{"trimOverflow": true}`)
			server := h.Serve()
			events := followEvents(t, server)
			g.set(func(body string) string {
				if countRepaired(h) == 0 || strings.Count(body, long) > 1 {
					return wording
				}
				return ""
			})
			server.Prompt(session, "one more")
			waitFor(t, "the trim", func() bool { return countRepaired(h) == 1 })
			if n == 0 {
				events.record(t, "overflow_1.1.53")
			}
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Errorf("after the trim the prompt = %s; reply:\n%.500s\nlog:\n%s", r.Verdict, r.Output, readHookLogs(h))
			}
		})
	}
}

// TestLiveCompactions: OpenCode 1.18.33 compacts a session endlessly, because after each compaction the model calls the
// tool with the long output again. After three errors mend trims the output, and the turn is continued.
func TestLiveCompactions(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	var refused atomic.Int32
	script := func(n int, r endpoint.Request) endpoint.Content {
		last := r.Messages[len(r.Messages)-1].Content
		switch {
		case r.IsTitle():
			time.Sleep(5 * time.Second) // a summary takes long: mend aborts it
		case refused.Load() < 3 && last[len(last)-1].Type == "text":
			return endpoint.Content{endpoint.Text("Reading."), endpoint.Bash(r, "A", `head -c 9000 /dev/zero | tr '\0' y`, "much")}
		}
		return endpoint.Plain(n, r)
	}
	r := runFallback(t, "1.18.33", `{"trimOverflow": true, "autoResume": true}`, script)
	refuse := refuseWith(400, "invalid_request_error", "prompt is too long: 240000 tokens > 200000 maximum")
	r.gate.setIf("claude-fake", strings.Repeat("y", 8000), func(w http.ResponseWriter, q *http.Request) {
		refused.Add(1)
		refuse(w, q)
	})
	events := followEvents(t, r.server)
	session := r.newSession()
	callServer(t, r.server, http.MethodPost, "/session/"+session+"/prompt_async", map[string]any{
		"agent": "build", "parts": []any{map[string]any{"type": "text", "text": "look"}},
	}, nil)
	waitFor(t, "the trim", func() bool { return r.toasts.contains("Cleared 1 old tool output") })
	events.record(t, "overflow_1.18.33")
	if n := events.count(`"type":"session.error".*ContextOverflowError`); n != 3 {
		t.Errorf("%d errors, want 3", n)
	}
	waitFor(t, "the answer", func() bool {
		ms := r.messages(session)
		resumed := slices.ContainsFunc(ms, func(m live.Message) bool {
			return len(m.Parts) > 0 && m.Parts[0].Text == live.ResumeText
		})
		return resumed && ms[len(ms)-1].Info.Finish == "stop" && !r.busy(session)
	})
	r.server.NameModel = true
	if p := r.server.Prompt(session, "go on"); p.Verdict != opencode.Alive {
		t.Errorf("the next prompt = %s; reply:\n%s", p.Verdict, p.Output)
	}
}
