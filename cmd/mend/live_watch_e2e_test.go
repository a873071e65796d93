//go:build e2e

package main

import (
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"mend"
	"mend/change"
	"mend/internal/damage"
	"mend/internal/endpoint"
	"mend/internal/opencode"
	"mend/journal"
	"mend/live"
)

var soak = flag.Int("soak", 20, "recoveries of the soak test")

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
	opt := mend.Options{Agents: agents, Store: h.DataDir(), Journal: filepath.Join(state, "mend")}
	es, err := opt.Log(journal.Query{State: change.Committed})
	if err != nil {
		t.Fatal(err)
	}
	return len(es)
}

// TestLiveLimit checks that recoveries that change the store do not count as attempts: every
// error of five is repaired, and the counts show it.
func TestLiveLimit(t *testing.T) {
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
// new server works. It does not run in parallel: servers of OpenCode prefer one port, where
// the recovery would find that of another test.
func TestLiveServerKilled(t *testing.T) {
	for version := range archives {
		if testing.Short() && version != "1.1.53" {
			continue // the others wait for half a minute, beside nothing
		}
		t.Run(version, func(t *testing.T) {
			h, session, _ := home(t, version, true)
			damageSession(t, h, session, "blank answer")
			server := h.Serve()
			e := startLiveClient(t, h, server, live.Options{Timeout: 2 * time.Second})
			e.hook.SetOnAbort(func(string) { server.Close() })
			server.Prompt(session, "one more") // its answer may be lost with the server
			waitFor(t, "the repair", func() bool {
				es, err := e.opt.Log(journal.Query{})
				return err == nil && len(es) == 1 && es[0].State == change.Committed
			})
			if r := h.Serve().Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
			}
		})
	}
}

// TestLiveMendKilled kills mend during a recovery: nothing is left half done, and the
// next start recovers.
func TestLiveMendKilled(t *testing.T) {
	t.Parallel()
	for version := range archives {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
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
}

// TestLiveSoak checks that many recoveries leave no open file, thread, process or growing
// memory in mend.
func TestLiveSoak(t *testing.T) {
	h, session, _ := home(t, "1.18.33", true)
	server := h.Serve()
	state := t.TempDir()
	pid := startWatch(t, h, server, state).Process.Pid
	blank := damage.Text(damage.Hello, " \n")
	store := damage.Database{SQL: damage.SQL(t, filepath.Join(h.DataDir(), "opencode.db"))}
	counters := countsPath(filepath.Join(state, "mend"))
	var first usage
	for n := 1; n <= *soak; n++ {
		blank(store)
		if r := server.Prompt(session, "again"); r.Verdict != "R11" {
			t.Fatalf("prompt %d = %s; reply:\n%s", n, r.Verdict, r.Output)
		}
		waitFor(t, "the end of a recovery", func() bool {
			all, err := readCounts(counters)
			return err == nil && all.total(live.Repaired) == n
		})
		if n == *soak || n%2 == 0 { // a turn that ends well, so that the limit is not reached
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Fatalf("the prompt behind recovery %d = %s; reply:\n%s", n, r.Verdict, r.Output)
			}
		}
		if n == min(20, *soak/2) {
			first = measure(t, pid)
		}
	}
	last := measure(t, pid)
	if n := countRepairs(t, h, state); n != *soak {
		t.Errorf("%d repairs, want %d", n, *soak)
	}
	if last.files > first.files+5 || last.threads > first.threads+5 || last.memory > first.memory+(48<<20) || last.children != 0 {
		t.Errorf("after %d recoveries %+v, after the first %+v", *soak, last, first)
	}
	t.Logf("after the first: %+v; after %d: %+v", first, *soak, last)
}

// usage is the resources of a process.
type usage struct {
	files, threads, children int
	memory                   uint64 // resident, in bytes
}

func measure(t *testing.T, pid int) usage {
	t.Helper()
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		t.Fatal(err)
	}
	files, filesErr := p.NumFDs()
	threads, threadsErr := p.NumThreads()
	memory, err := p.MemoryInfo()
	if err := errors.Join(filesErr, threadsErr, err); err != nil {
		t.Fatal(err)
	}
	children, _ := p.Children() // an error if there is none
	return usage{int(files), int(threads), len(children), memory.RSS}
}

// TestLiveFound checks that a server on this machine is found.
func TestLiveFound(t *testing.T) {
	h, _, _ := home(t, "1.18.33", true)
	server := h.Serve()
	want := strings.Replace(server.URL, "localhost", "127.0.0.1", 1)
	found, _ := findServers(t.Context())
	for _, address := range found {
		if address == want {
			return
		}
	}
	t.Errorf("found %v, want %s among them", found, want)
}

// TestLiveOtherStore checks that nothing is repaired or aborted if the server reads another
// store (found fault 13.1). With the right store, mend repairs the same session.
func TestLiveOtherStore(t *testing.T) {
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
