//go:build e2e

package main

import (
	"strings"
	"testing"

	"mend/internal/damage"
	"mend/internal/endpoint"
	"mend/internal/opencode"
)

// refusedFirst are the damages whose repair removes something that can be read, or for
// which the plugin is not asked: the repair waits for the error.
var refusedFirst = map[string]bool{
	"part null": true, "part a list": true, "part a string": true, // what they held
	"last answer dated in the future": true, "last prompt dated in the future": true, "last prompt and answer dated in the future": true, // the dates
	"answer dated in the future": true, "prompt and answer dated in the future": true, "every message dated in the future": true,
}

// TestLivePreflight damages sessions between two prompts of a running server that has the
// plugin. The damage is repaired before the request, so the next prompt is answered. What
// only the provider can judge, and what a repair could fix only by removing something that
// can be read, is refused once and then repaired.
func TestLivePreflight(t *testing.T) {
	t.Parallel()
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(uniqueAnswer)
			t.Cleanup(api.Close)
			h := opencode.New(t, exe, api, true)
			installPlugin(t, h)
			configure(t, h, `{"preflightMs": 20000}`) // on a busy machine
			server := h.ServeStores(fixtures[i])
			server.NameModel()
			for n, c := range damage.Table {
				if !*everything && n%12 != i || c.Want[i] == opencode.Alive || damage.AddsFile(c.Name) {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					ts := newTestStore(t, i)
					damage.Edit(ts, ts.path, ts.session, c.Apply)
					r, err := server.Try(ts.data)
					if err != nil {
						t.Fatal(err)
					}
					if r.Verdict == opencode.Alive {
						return
					}
					if !unknowable(c.Want[i]) && !refusedFirst[c.Name] {
						t.Errorf("the prompt = %s; without mend it is %s; reply:\n%.300s", r.Verdict, c.Want[i], r.Output)
					}
					for range 2 { // the second error of a signature removes all of its kind
						repairs := countRepaired(h)
						if r = server.TryAgain(); r.Verdict == opencode.Alive {
							return
						}
						waitFor(t, "a repair", func() bool { return countRepaired(h) > repairs })
					}
					if r = server.TryAgain(); r.Verdict != opencode.Alive {
						t.Errorf("after the repairs the prompt = %s; reply:\n%.300s", r.Verdict, r.Output)
					}
				})
			}
		})
	}
}

// countRepaired returns the number of repairs in the log of the hooks.
func countRepaired(h *opencode.Home) int { return strings.Count(readHookLogs(h), "msg=repaired ") }
