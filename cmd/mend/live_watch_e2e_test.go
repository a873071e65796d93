//go:build e2e

package main

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/testdata"
)

// startWatch starts "mend watch" as a process that ends with the test. It returns when
// mend follows the events.
func startWatch(t *testing.T, h *opencode.Home, server *opencode.Server, state string) *exec.Cmd {
	t.Helper()
	cmd := mendCommand(t, h, state, "watch", "--server", server.URL)
	var log lockedBuffer
	cmd.Stderr = io.MultiWriter(&log, t.Output())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(t, "the watch", func() bool { return strings.Contains(log.text(), "msg=connected") })
	return cmd
}

// countRepairs counts the repairs in the journal of a state folder.
func countRepairs(t *testing.T, h *opencode.Home, state string) int {
	t.Helper()
	opt := mend.Options{Agents: agents, Store: h.DataDir(), Journal: mend.OpenJournal(filepath.Join(state, "mend"))}
	var es []change.Entry
	waitFor(t, "the journal", func() bool { // a repair may hold it
		var err error
		var locked *journal.LockedError
		if es, err = opt.Journal.Log(journal.Query{State: change.Committed}); err != nil && !errors.As(err, &locked) {
			t.Fatal(err)
		}
		return err == nil
	})
	return len(es)
}

// TestLiveLimit checks that recoveries that change the store do not count as attempts: every
// error of five is repaired, and the counts show it.
func TestLiveLimit(t *testing.T) {
	storetest.InTurn(t, 2)
	t.Parallel()
	h, session, _ := home(t, "1.18.33", true)
	server := h.Serve()
	state := t.TempDir()
	startWatch(t, h, server, state)
	for n := 1; n <= 5; n++ {
		damageSession(t, h, session, "blank answer")
		if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
			t.Fatalf("prompt %d = %s; reply:\n%s", n, r.Verdict, r.Output)
		}
		waitFor(t, "the repair", func() bool { return countRepairs(t, h, state) == n })
	}
	var status struct {
		Recoveries map[string]map[string]int
	}
	waitFor(t, "the counters", func() bool {
		runJSON(t, h, state, &status, "status")
		return status.Recoveries["cured"]["empty_content_message"] == 5
	})
}

// TestLiveServerKilled kills the server during a recovery: the store is repaired, and a
// new server works.
func TestLiveServerKilled(t *testing.T) {
	storetest.InTurn(t, 2)
	t.Parallel()
	onVersions(t, "1.1.53", func(t *testing.T, version string) { // the others wait for half a minute
		h, session, _ := home(t, version, true)
		damageSession(t, h, session, "blank answer")
		server := h.Serve()
		e := startLiveClient(t, h, server, live.Options{})
		e.hook.SetOnAbort(func(string) { server.Close() })
		server.Prompt(session, "one more") // its answer may be lost with the server
		waitFor(t, "the repair", func() bool {
			es, err := e.opt.Journal.Log(journal.Query{})
			return err == nil && len(es) == 1 && es[0].State == change.Committed
		})
		if r := h.Serve().Prompt(session, "say more"); r.Verdict != opencode.Alive {
			t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
		}
	})
}

// TestLiveMendKilled kills mend during a recovery: nothing is left half done, and the
// next start recovers.
func TestLiveMendKilled(t *testing.T) {
	storetest.InTurn(t, 1)
	t.Parallel()
	onVersions(t, "", func(t *testing.T, version string) {
		h, session, _ := home(t, version, true)
		server := h.Serve()
		state := t.TempDir()
		before := 0
		kills := 4
		if testing.Short() {
			kills = 2
		}
		for n := range kills {
			damageSession(t, h, session, "blank answer")
			first := startWatch(t, h, server, state)
			if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
				t.Fatalf("prompt %d = %s; reply:\n%s", n, r.Verdict, r.Output)
			}
			time.Sleep(time.Duration(rand.IntN(1200)) * time.Millisecond)
			_ = first.Process.Kill()
			_ = first.Wait()
			half := countRepairs(t, h, state)
			second := startWatch(t, h, server, state)
			waitFor(t, "the repair", func() bool { return countRepairs(t, h, state) == before+1 })
			t.Logf("kill %d: repaired %s", n, map[bool]string{true: "before", false: "at the next start"}[half > before])
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Fatalf("the prompt behind kill %d = %s; reply:\n%s", n, r.Verdict, r.Output)
			}
			_ = second.Process.Kill()
			_ = second.Wait()
			before = countRepairs(t, h, state)
		}
		if out, err := mendCommand(t, h, state, "verify").Output(); err != nil {
			t.Errorf("verify: %v: %s", err, out)
		}
	})
}

// TestLiveFound checks that a server on this machine is found.
func TestLiveFound(t *testing.T) {
	h, _, _ := home(t, "1.18.33", true)
	server := h.Serve()
	want := strings.Replace(server.URL, "localhost", "127.0.0.1", 1)
	found := findServers(t.Context(), nil, nil).servers
	for _, address := range found {
		if address == want {
			return
		}
	}
	t.Errorf("found %v, want %s among them", found, want)
}

// TestLiveUpgrade starts the watch before any server. It repairs the sessions of each server
// that comes at one port: the old version with its tree, then newer ones, which have a
// database in the same folder.
//
// It finds the servers of other tests, too, so these must not run beside it.
func TestLiveUpgrade(t *testing.T) {
	storetest.InTurn(t, 2)
	h, session, _ := home(t, "1.1.53", true)
	state := t.TempDir()
	cmd := mendCommand(t, h, state, "watch")
	cmd.Args = cmd.Args[:2] // without a store
	cmd.Env = append(cmd.Env, "XDG_DATA_HOME="+filepath.Dir(h.DataDir()))
	log := &lockedBuffer{}
	cmd.Stderr = io.MultiWriter(log, t.Output())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(t, "the watch", func() bool { return strings.Contains(log.text(), "msg=") })
	port := "" // that of the first server
	versions := damage.Versions[:]
	if testing.Short() {
		versions = []string{"1.1.53", "1.18.33"}
	}
	for n, version := range versions {
		exe, err := opencode.Install(version)
		if err != nil {
			t.Fatal(err)
		}
		h.Upgrade(exe)
		if testing.Short() && n == 1 { // unlike 1.2.27 it does not move sessions from a tree to a database
			session = h.Unpack(testdata.OpenCode11833)
		}
		if version == "1.18.33" { // it answers no prompt in a session whose folder is gone
			h.SQL("update session set directory = ?", h.Project())
		}
		began := time.Now()
		server := h.ServeAt(port)
		port = server.URL[strings.LastIndexByte(server.URL, ':')+1:]
		waitFor(t, "the connection", func() bool { return strings.Count(log.text(), "msg=connected server="+server.URL+" ") == n+1 })
		t.Logf("%s: connected %v after it was started", version, time.Since(began).Round(time.Millisecond))
		damageSession(t, h, session, "blank answer")
		if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
			t.Fatalf("%s: the prompt = %s; reply:\n%s", version, r.Verdict, r.Output)
		}
		waitFor(t, "the repair", func() bool { return countRepairs(t, h, state) == n+1 })
		if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
			t.Errorf("%s: the next prompt = %s; reply:\n%s", version, r.Verdict, r.Output)
		}
		server.Close()
	}
}

// TestLiveOtherStore checks that nothing is repaired or aborted if the server reads another
// store (found fault 13.1). With the right store, mend repairs the same session.
func TestLiveOtherStore(t *testing.T) {
	storetest.InTurn(t, 1)
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(nil)
			t.Cleanup(api.Close)
			h := opencode.New(t, exe, api, true)
			session := h.Unpack(fixtures[i])
			damageSession(t, h, session, "blank answer")
			elsewhere := t.TempDir()
			if err := os.CopyFS(elsewhere, os.DirFS(h.DataDir())); err != nil {
				t.Fatal(err)
			}
			server := h.Serve()
			seen := followToasts(t, server)
			cmd := mendCommand(t, h, t.TempDir(), "watch", "--server", server.URL)
			cmd.Args[len(cmd.Args)-1] = elsewhere
			log := &lockedBuffer{written: make(chan struct{}, 1)}
			cmd.Stderr = io.MultiWriter(log, t.Output())
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the watch", func() bool { return strings.Contains(log.text(), "msg=connected") })
			if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
				t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
			}
			waitFor(t, "the report", func() bool { return strings.Contains(log.text(), "only reported, not repaired") })
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if strings.Contains(log.text(), "msg=repaired") || seen.contains("Recover") || seen.contains("epair") {
				t.Errorf("toasts or repairs; log:\n%s", log.text())
			}
			state := t.TempDir()
			startWatch(t, h, server, state)
			waitFor(t, "the repair", func() bool { return countRepairs(t, h, state) == 1 })
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Errorf("the prompt behind the repair = %s; reply:\n%s", r.Verdict, r.Output)
			}
		})
	}
}

// TestLiveLoop sends a prompt in a session whose last prompt is dated in the future and was not
// answered: OpenCode works on that prompt, and after each call of a tool again. mend ends the
// turn and repairs the session. With -record it writes the events to live/testdata.
func TestLiveLoop(t *testing.T) {
	storetest.InTurn(t, 2)
	t.Parallel()
	for i, version := range damage.Versions {
		for _, transport := range []string{"watch", "plugin"} {
			if version == "1.1.53" || testing.Short() && (version != "1.18.33" || transport != "watch") {
				continue
			}
			t.Run(version+"/"+transport, func(t *testing.T) {
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
				if transport == "plugin" {
					installPlugin(t, h)
					configure(t, h, `{"preflight": "off"}`)
				}
				server := h.Serve()
				log, toasts := followEvents(t, server), followToasts(t, server)
				if transport == "watch" {
					startWatch(t, h, server, t.TempDir())
				}
				server.NameModel = true
				server.Prompt(session, "say Hello") // it ends when the turn is aborted
				waitFor(t, "the repair", func() bool { return toasts.contains("Endless turn stopped. Send your prompt again.") })
				if transport == "watch" {
					log.record(t, "loop_"+version)
				}
				if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
					t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
				}
				if calls := api.Calls(); len(calls) > 60 {
					t.Errorf("%d requests", len(calls))
				}
			})
		}
	}
}
