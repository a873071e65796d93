//go:build e2e

package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// runMendIn runs mend on the store of a home, and returns the exit code and the output.
func runMendIn(t *testing.T, h *opencode.Home, journal string, args ...string) (int, string) {
	t.Helper()
	return runMend(t, h.DataDir(), journal, args...)
}

// serveDamaged starts a real server with the fixture of its version, and then damages the session.
func serveDamaged(t *testing.T, version string, archive []byte, apply func(damage.Store)) (h *opencode.Home, server *opencode.Server, session string) {
	t.Helper()
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h = opencode.New(t, exe, api, true)
	session = h.Unpack(archive)
	server = h.Serve()
	if r := server.Prompt(session, "is it well?"); r.Verdict != opencode.Alive {
		t.Fatalf("a prompt before the damage = %s; reply:\n%s", r.Verdict, r.Output)
	}
	apply(h.Store(session))
	return h, server, session
}

// conversation returns the rows of messages and parts. The server writes to other tables after it has answered.
func conversation(t *testing.T, h *opencode.Home) map[string]string {
	t.Helper()
	all, err := damage.Snapshot(filepath.Join(h.DataDir(), "opencode.db"))
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(key, _ string) bool {
		return !strings.HasPrefix(key, "message ") && !strings.HasPrefix(key, "part ")
	})
	return all
}

var databases = map[string][]byte{"1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833}

// TestBesideServer: while a real server has a session open, the next prompt works after a repair, and fails again after
// the undo.
func TestBesideServer(t *testing.T) {
	storetest.Long(t)
	for version, archive := range databases {
		t.Run(version, func(t *testing.T) {
			h, server, session := serveDamaged(t, version, archive, damage.Text(damage.Hello, " \n"))
			journal := t.TempDir()
			prompt := func(when, want string) {
				t.Helper()
				if r := server.Prompt(session, "one more"); r.Verdict != want {
					t.Fatalf("a prompt %s = %s, want %s; reply:\n%s", when, r.Verdict, want, r.Output)
				}
			}
			run := func(args ...string) {
				t.Helper()
				if code, out := runMendIn(t, h, journal, args...); code != frame.ExitDone {
					t.Fatalf("mend %v: exit code %d:\n%s", args, code, out)
				}
			}
			prompt("with the damage", "R11")
			damaged := conversation(t, h)
			run("repair", "--yes", session)
			run("undo", "--yes", "--session", session)
			if diff := cmp.Diff(damaged, conversation(t, h)); diff != "" {
				t.Fatalf("undo did not restore the database (-want +got):\n%s", diff)
			}
			run("repair", "--yes", session)
			prompt("after the repair", opencode.Alive)
			run("undo", "--yes", "--session", session)
			prompt("after undo", "R11")
			run("verify")
		})
	}
}

// TestRealServerBesideUnfinished: a session with an unfinished response is not busy because of a server of another
// store, or because of a server that started after the last write.
func TestRealServerBesideUnfinished(t *testing.T) {
	storetest.Long(t)
	for version, archive := range map[string][]byte{"1.1.53": testdata.OpenCode1153, "1.18.33": testdata.OpenCode11833} {
		t.Run(version, func(t *testing.T) {
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(nil)
			t.Cleanup(api.Close)
			other, h := opencode.New(t, exe, api, true), opencode.New(t, exe, api, true)
			id := other.Unpack(archive)
			session := h.Unpack(archive)
			damage.ByName(t, "killed after reasoning")(h.Store(session))
			run := func(when string, args ...string) {
				t.Helper()
				if code, out := runMendIn(t, h, filepath.Join(t.TempDir(), "journal"), args...); code != frame.ExitDone {
					t.Errorf("%s: mend %v: exit code %d:\n%s", when, args, code, out)
				}
			}
			server := other.Serve()
			if r := server.Prompt(id, "is it well?"); r.Verdict != opencode.Alive {
				t.Fatalf("the other server = %s", r.Verdict)
			}
			run("beside a server of another store", "repair", session, "--dry-run")
			h.Serve()
			run("beside a younger server", "repair", session, "--dry-run")
			run("beside a younger server", "repair", "--yes", session)
		})
	}
}

// TestHammeredServer: fifty repairs and undos of one session do not disturb a server that answers prompts in another
// session, and lose no message.
func TestHammeredServer(t *testing.T) {
	storetest.Long(t)
	for version, archive := range databases {
		t.Run(version, func(t *testing.T) {
			h, server, session := serveDamaged(t, version, archive, damage.Text(damage.Hello, " \n"))
			journal := t.TempDir()
			other := h.Run("say hello").Session
			stop, done := make(chan struct{}), make(chan int)
			go func() {
				n := 0
				defer func() { done <- n }()
				for ; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					if r := server.Prompt(other, "say hello"); r.Verdict != opencode.Alive {
						t.Errorf("prompt %d = %s; reply:\n%s", n, r.Verdict, r.Output)
						return
					}
				}
			}()
			for i := range 50 {
				for _, args := range [][]string{{"repair", "--yes", session}, {"undo", "--yes", "--session", session}} {
					if code, out := runMendIn(t, h, journal, args...); code != frame.ExitDone {
						t.Fatalf("round %d: mend %v: exit code %d:\n%s", i, args, code, out)
					}
				}
			}
			close(stop)
			prompts := <-done
			rows := h.SQL("select count(*) as n from message where session_id = ? and data like '%\"role\":\"user\"%'", other)
			if got, want := int(rows[0]["n"].(float64)), prompts+1; got != want {
				t.Errorf("%d prompts are stored, want %d", got, want)
			}
			t.Logf("50 repairs and undos beside %d prompts", prompts)
		})
	}
}

// TestKilledBesideWriter: if mend is killed at any moment while another program writes to the database, the recovery
// finishes or reverts the change.
func TestKilledBesideWriter(t *testing.T) {
	storetest.Long(t)
	bin := buildMend(t)
	dir := t.TempDir()
	session, err := testdata.Unpack(testdata.OpenCode11833, dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "opencode", "opencode.db")
	store := damage.Database{SQL: damage.SQL(t, path)}
	damage.Text(damage.Hello, " \n")(store)
	damage.Text(damage.SecondPrompt, " \n")(store)
	state := func() map[string]string {
		t.Helper()
		all, err := damage.Snapshot(path)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasPrefix(key, "todo ") }) // the writer's rows
		return all
	}
	env := append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	mend := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, append(args, "--store", path)...)
		cmd.Env = env
		return cmd
	}
	must := func(args ...string) {
		t.Helper()
		if out, err := mend(args...).CombinedOutput(); err != nil {
			t.Fatalf("mend %v: %v\n%s", args, err, out)
		}
	}
	damaged := state()
	must("repair", "--yes", session)
	mended := state()

	stop := make(chan struct{})
	go rowWriter(t, path, session, stop)
	defer close(stop)
	var whole, absent int
	for i := range 200 {
		args := []string{"repair", "--yes", session}
		if cmp.Equal(state(), mended) {
			args = []string{"undo", "--yes", "--session", session}
		}
		cmd := mend(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		must("recover")
		switch now := state(); {
		case cmp.Equal(now, mended):
			whole++
		case cmp.Equal(now, damaged):
			absent++
		default:
			t.Fatalf("kill %d of mend %v left a partial change:\n%s", i, args, cmp.Diff(damaged, now))
		}
	}
	must("verify")
	checkIntegrity(t, path)
	t.Logf("200 kills: the store was completely repaired %d times, completely unrepaired %d times", whole, absent)
}

// checkIntegrity checks that SQLite finds no damage in the database.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	for _, check := range []string{"pragma integrity_check", "pragma foreign_key_check"} {
		if rows := damage.SQL(t, path)(check); len(rows) > 0 && rows[0]["integrity_check"] != "ok" {
			t.Errorf("%s: %v", check, rows)
		}
	}
}

// rowWriter writes rows as an agent does, until stop is closed.
func rowWriter(t *testing.T, path, session string, stop chan struct{}) {
	sql := damage.SQL(t, path)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(2 * time.Millisecond):
		}
		sql("insert or replace into todo values (?1, 'x', 'pending', 'low', abs(random()) % 50, 1, 1)", session)
	}
}

// buildMend returns the path of mend.
func buildMend(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "mend")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("building mend: %v\n%s", err, out)
	}
	return bin
}
