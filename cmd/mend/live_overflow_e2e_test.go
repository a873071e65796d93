//go:build e2e

package main

import (
	"strings"
	"testing"

	"mend/internal/damage"
	"mend/internal/opencode"
)

// TestLiveOverflow refuses requests as too long until the session is trimmed. OpenCode
// 1.1.53 does nothing about that. The next prompt is answered.
func TestLiveOverflow(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 8000)
	for _, version := range []string{"1.1.53"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h, session, g := home(t, version, true)
			damageSession(t, h, session, damage.LongOutputs)
			installPlugin(t, h)
			configure(t, h, `{"trimOverflow": true}`)
			server := h.Serve()
			g.set(func(body string) string {
				if countRepaired(h) == 0 || strings.Count(body, long) > 1 {
					return "prompt is too long: 240000 tokens > 200000 maximum"
				}
				return ""
			})
			server.Prompt(session, "one more")
			waitFor(t, "the trim", func() bool { return countRepaired(h) == 1 })
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Errorf("after the trim the prompt = %s; reply:\n%.500s\nlog:\n%s", r.Verdict, r.Output, readHookLogs(h))
			}
		})
	}
}
