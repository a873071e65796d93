//go:build e2e

package main

import (
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
	"mend/journal"
)

// startWatch starts "mend watch" as a process that ends with the test. It returns as soon as mend follows the store.
func startWatch(t *testing.T, h *opencode.Home, state string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := mendCommand(t, h, state, append([]string{"watch", "--set", "watchPollSeconds=1"}, args...)...)
	var out lockedBuffer
	cmd.Stdout = io.MultiWriter(&out, t.Output())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(t, "the watch", func() bool { return strings.Contains(out.text(), "Following OpenCode") })
	return cmd
}

func countRepairs(t *testing.T, state string) int {
	t.Helper()
	j := mend.OpenJournal(filepath.Join(state, "mend"))
	var es []change.Entry
	waitFor(t, "the journal", func() bool { // a repair may hold it
		var err error
		var locked *journal.LockedError
		if es, err = j.Log(journal.Query{State: change.Committed}); err != nil && !errors.As(err, &locked) {
			t.Fatal(err)
		}
		return err == nil
	})
	return len(es)
}

// TestLiveWatch: without the plugin, a session of the real program that breaks in any class is repaired through the
// journal after one error, and the next prompt works. Damage without a fix is not changed.
func TestLiveWatch(t *testing.T) {
	t.Parallel()
	for version := range archives {
		for _, c := range liveCases {
			if c.autoResume || testing.Short() && version != "1.18.33" {
				continue
			}
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				h, session, g := home(t, version, !c.thinkingDisabled)
				damageSession(t, h, session, c.damage)
				server, state := h.Serve(), t.TempDir()
				startWatch(t, h, state)
				g.set(c.refuse)
				if r := server.Prompt(session, "one more"); !strings.Contains(r.Output, `"error"`) {
					t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
				}
				if c.explainOnly {
					time.Sleep(4 * time.Second)
					g.set(nil)
				} else {
					waitFor(t, "the repair", func() bool { return countRepairs(t, state) > 0 })
				}
				if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
					t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
				}
				if n := countRepairs(t, state); c.explainOnly && n > 0 || n > 1 {
					t.Errorf("%d repairs", n)
				}
			})
		}
	}
}

// TestLiveWatchUpgrade: a watch that names no store follows each store as it appears while OpenCode is upgraded: the
// tree of the old version, then the databases of newer versions in the same folder. A broken session of each is
// repaired.
func TestLiveWatchUpgrade(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	h, session, _ := home(t, "1.1.53", true)
	state := t.TempDir()
	cmd := mendCommand(t, h, state, "watch", "--set", "watchPollSeconds=1", "--set", "skip=preflight")
	cmd.Args = cmd.Args[:len(cmd.Args)-2] // without a store
	cmd.Env = append(cmd.Env, "XDG_DATA_HOME="+filepath.Dir(h.DataDir()), "HOME="+state)
	out := &lockedBuffer{}
	cmd.Stdout = io.MultiWriter(out, t.Output())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for n, version := range damage.Versions {
		exe, err := opencode.Install(version)
		if err != nil {
			t.Fatal(err)
		}
		h.Upgrade(exe)
		if version == "1.18.33" { // it answers no prompt in a session without its folder
			h.SQL("update session set directory = ?", h.Project())
		}
		server := h.Serve()
		store := map[bool]string{true: "storage", false: "opencode.db"}[version == "1.1.53"]
		waitFor(t, "the store", func() bool {
			return strings.Contains(out.text(), "Following OpenCode in") && strings.Contains(out.text(), store+":")
		})
		damageSession(t, h, session, "blank answer")
		if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
			t.Fatalf("%s: the prompt = %s; reply:\n%s", version, r.Verdict, r.Output)
		}
		waitFor(t, "the repair", func() bool { return countRepairs(t, state) == n+1 })
		if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
			t.Errorf("%s: the next prompt = %s; reply:\n%s", version, r.Verdict, r.Output)
		}
		server.Close()
	}
}

// TestLiveLimit: a recovery that changes the store does not count as an attempt: each of five errors is repaired.
func TestLiveLimit(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	h, session, _ := home(t, "1.18.33", true)
	server := h.Serve()
	state := t.TempDir()
	startWatch(t, h, state, "--set", "skip=preflight")
	for n := 1; n <= 5; n++ {
		damageSession(t, h, session, "blank answer")
		if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
			t.Fatalf("prompt %d = %s; reply:\n%s", n, r.Verdict, r.Output)
		}
		waitFor(t, "the repair", func() bool { return countRepairs(t, state) == n })
	}
	var status struct {
		Recoveries map[string]map[string]int
	}
	waitFor(t, "the counters", func() bool {
		runJSON(t, h, state, &status, "status")
		return status.Recoveries["cured"]["empty_content_message"] == 5
	})
}

// TestLiveMendKilled: if mend is killed during a recovery, no change is left incomplete, and the next start recovers.
func TestLiveMendKilled(t *testing.T) {
	storetest.Long(t)
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
			first := startWatch(t, h, state, "--set", "skip=preflight")
			if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
				t.Fatalf("prompt %d = %s; reply:\n%s", n, r.Verdict, r.Output)
			}
			time.Sleep(time.Duration(rand.IntN(2500)) * time.Millisecond)
			_ = first.Process.Kill()
			_ = first.Wait()
			half := countRepairs(t, state)
			second := startWatch(t, h, state, "--set", "skip=preflight")
			waitFor(t, "the repair", func() bool { return countRepairs(t, state) == before+1 })
			t.Logf("kill %d: repaired %s", n, map[bool]string{true: "before", false: "at the next start"}[half > before])
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Fatalf("the prompt after kill %d = %s; reply:\n%s", n, r.Verdict, r.Output)
			}
			_ = second.Process.Kill()
			_ = second.Wait()
			before = countRepairs(t, state)
		}
		if out, err := mendCommand(t, h, state, "verify").Output(); err != nil {
			t.Errorf("verify: %v: %s", err, out)
		}
	})
}
