//go:build e2e

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// refusedFirst has the kinds of damage that mend repairs only after the error, because the repair removes readable content.
var refusedFirst = map[string]bool{
	"part null": true, "part a list": true, "part a string": true, // their content
}

// unknownKinds is the damage with a part or a message of a kind that mend does not know. A newer version may have such
// a kind, so mend leaves the record alone, and the provider refuses what OpenCode sends without it.
var unknownKinds = map[string]bool{
	"type missing": true, "role missing in the first prompt": true, "an unknown part beside a text of no bytes": true,
}

// TestLivePreflight: with the plugin, damage between two prompts of a running server is repaired before the request, so
// that the next prompt is answered. Damage that only the provider can check, or whose repair removes readable content,
// is refused once and then repaired.
func TestLivePreflight(t *testing.T) {
	storetest.Long(t)
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
			for _, c := range damage.Table {
				if testing.Short() && !damage.Everyday(c.Name) || c.Want[i] == opencode.Alive || damage.AddsFile(c.Name) {
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

// TestLivePreflightUnnamed: a prompt without a model is answered at the second try at the latest. If OpenCode has
// stored no model with the session, as older versions do, it reads the session before it asks the plugin, and answers
// with HTTP 500 without an event. mend then finds the damage in the store.
func TestLivePreflightUnnamed(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for n, version := range []string{"1.18.34", "1.2.27"} {
		if testing.Short() && n > 0 {
			continue
		}
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
			configure(t, h, `{"preflightMs": 20000}`)
			fixture := 2 - n
			server := h.ServeStores(fixtures[fixture])
			failed := 0
			for _, c := range slices.DeleteFunc(slices.Clone(damage.Table), func(c damage.Kind) bool {
				return c.Want[fixture] != opencode.Dead || damage.AddsFile(c.Name)
			}) {
				if testing.Short() && !damage.Everyday(c.Name) {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					ts := newTestStore(t, fixture)
					damage.Edit(ts, ts.path, ts.session, c.Apply)
					forgetModel(t, ts.path)
					repairs := countRepaired(h)
					r, err := server.Try(ts.data)
					if err != nil {
						t.Fatal(err)
					}
					if r.Verdict == opencode.Alive {
						return
					}
					failed++
					waitFor(t, "a repair", func() bool { return countRepaired(h) > repairs })
					if r = server.TryAgain(); r.Verdict == opencode.Alive {
						return
					}
					time.Sleep(5 * time.Second) // 1.2.27 copies the model of a damaged prompt into the next one; mend waits until the store is quiet
					if r = server.TryAgain(); r.Verdict == opencode.Alive {
						return
					}
					t.Errorf("the next prompt = %s; reply:\n%.300s", r.Verdict, r.Output)
				})
			}
			if failed == 0 {
				t.Error("no prompt failed before the plugin was asked")
			}
		})
	}
}

// forgetModel removes the model that OpenCode 1.17 and later keep with a session.
func forgetModel(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Exec("UPDATE session SET model = NULL") // older versions have no such column
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func countRepaired(h *opencode.Home) int { return strings.Count(readHookLogs(h), "msg=repaired ") }

// TestLivePreflightSwitch: a session of Anthropic is continued with a model of another provider, which refuses the name
// of a tool that Anthropic accepts. With mend the prompt is answered.
func TestLivePreflightSwitch(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for _, version := range []string{"1.18.33", "1.1.53"} {
		if testing.Short() && version != "1.18.33" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h, session, _ := home(t, version, false)
			other := endpoint.NewKnown(nil, endpoint.Known{})
			t.Cleanup(other.Close)
			settings := fmt.Sprintf(`{"provider": {"local": {
				"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q, "apiKey": "x"},
				"models": {"fake-model": {"tool_call": true, "limit": {"context": 200000, "output": 8192}}},
			}}}`, other.URL+"/chat/v1")
			if err := os.WriteFile(filepath.Join(h.Project(), "opencode.jsonc"), []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			installPlugin(t, h)
			damageSession(t, h, session, "bad tool name")
			configure(t, h, `{"preflightMs": 20000}`) // on a busy machine
			server := h.Serve()
			prompt := func() []endpoint.Violation {
				t.Helper()
				before := len(other.Calls())
				callServer(t, server, http.MethodPost, "/session/"+session+"/message", map[string]any{
					"agent": "build", "model": map[string]any{"providerID": "local", "modelID": "fake-model"},
					"parts": []any{map[string]any{"type": "text", "text": "go on"}},
				}, nil)
				for _, c := range slices.Backward(other.Calls()[before:]) {
					if !c.Title {
						return c.Violations
					}
				}
				t.Fatalf("no request; log:\n%s", readHookLogs(h))
				return nil
			}
			if got := prompt(); len(got) != 0 {
				t.Errorf("the request breaks %v; log:\n%s", got, readHookLogs(h))
			}
			_, state := pluginHome(h)
			if n := countRepairs(t, state); n != 1 {
				t.Errorf("%d repairs, want 1; log:\n%s", n, readHookLogs(h))
			}
			if code, out := runMend(t, h.DataDir(), filepath.Join(state, "mend"), "undo", "--yes", "--session", session); code != frame.ExitDone {
				t.Fatalf("undo: %d %s", code, out)
			}
			if got := prompt(); len(got) == 0 { // an undone repair is not repeated
				t.Error("the provider accepts the damage")
			}
		})
	}
}

// TestLiveNewerVersion: if the newest OpenCode reports a version that mend does not know, broken sessions are still
// repaired before the request.
func TestLiveNewerVersion(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	const newest, newer = "1.18.34", "1.18.99"
	exe, err := opencode.Install(newest)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(uniqueAnswer)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, true)
	installPlugin(t, h)
	configure(t, h, `{"preflightMs": 20000}`)
	editPlugin(t, h, "const version = async", `const version = async () => "`+newer+`" //`)
	server := h.ServeStores(fixtures[2])
	server.NameModel()
	for _, c := range damage.Table {
		alive := c.Want[2] == opencode.Alive
		refused := unknowable(c.Want[2]) || refusedFirst[c.Name] || unknownKinds[c.Name]
		if testing.Short() && !damage.Everyday(c.Name) || damage.AddsFile(c.Name) || !alive && refused {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			ts := newTestStore(t, 2)
			damage.Edit(ts, ts.path, ts.session, c.Apply)
			if r, err := server.Try(ts.data); err != nil || r.Verdict != opencode.Alive {
				t.Fatalf("the prompt = %s, %v; reply:\n%.300s", r.Verdict, err, r.Output)
			}
		})
	}
	if log := readHookLogs(h); strings.Contains(log, "not checked before requests") {
		t.Errorf("log:\n%s", log)
	}
}
