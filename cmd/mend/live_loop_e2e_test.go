//go:build e2e

package main

import (
	"strings"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// TestLiveLoop sends a prompt in a session whose last prompt is dated in the future and was not
// answered: OpenCode works on that prompt, and after each call of a tool again. mend ends the
// turn and repairs the session. With -record it writes the events to live/testdata.
func TestLiveLoop(t *testing.T) {
	storetest.InTurn(t, 2)
	t.Parallel()
	for i, version := range damage.Versions {
		if version == "1.1.53" || testing.Short() && version != "1.18.33" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(func(n int, r endpoint.Request) endpoint.Content {
				last := r.Messages[len(r.Messages)-1].Content
				if !r.IsTitle() && strings.Contains(last[len(last)-1].Text, "say goodbye") {
					return endpoint.Content{endpoint.Text("Running."), endpoint.Bash(r, "A", "echo hi", "says hi")}
				}
				return endpoint.Plain(n, r)
			})
			t.Cleanup(api.Close)
			h := opencode.New(t, exe, api, false)
			session := h.Unpack(fixtures[i])
			s := h.Store(session)
			messages, parts := s.Records()
			for _, p := range parts {
				if p.Owner == messages[damage.Goodbye].ID {
					s.Drop(p)
				}
			}
			s.Drop(messages[damage.Goodbye])
			damageSession(t, h, session, "last prompt dated in the future")
			installPlugin(t, h)
			configure(t, h, `{"preflight": "off"}`)
			server := h.Serve()
			log, toasts := followEvents(t, server), followToasts(t, server)
			server.NameModel = true
			server.Prompt(session, "say Hello") // it ends when the turn is aborted
			waitFor(t, "the repair", func() bool { return toasts.contains("Endless turn stopped. Send your prompt again.") })
			log.record(t, "loop_"+version)
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
			}
			if calls := api.Calls(); len(calls) > 60 {
				t.Errorf("%d requests", len(calls))
			}
		})
	}
}
