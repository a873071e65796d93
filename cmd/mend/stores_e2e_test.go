//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mend/internal/test/claude"
	"mend/internal/test/endpoint"
	"mend/internal/test/mutation"
	"mend/internal/test/npm"
	"mend/internal/test/opencode"
)

// nobody is the user as whom mend and the program run: for root, modes and owners mean nothing.
const nobody = 65534

// A userMend runs mend as nobody.
type userMend struct {
	exe string
}

func newUserMend(t *testing.T) userMend {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as another user")
	}
	dir := t.TempDir()
	m := userMend{filepath.Join(dir, "mend")}
	if out, err := exec.Command("go", "build", "-o", m.exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// judge returns what mend scan says of a session: its severity, "absent", or "unusable" if mend says that it
// cannot read the store or the folder, and why.
func (m userMend) judge(t *testing.T, home, store, session string) (verdict, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.exe, "scan", "--json", "--all", "--store", store)
	cmd.SysProcAttr, cmd.Dir = npm.As(nobody), "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, ".mendstate"), "XDG_CACHE_HOME=" + filepath.Join(home, ".mendcache")}
	var notes strings.Builder
	cmd.Stderr = &notes
	out, err := cmd.Output()
	code := cmd.ProcessState.ExitCode()
	if ctx.Err() != nil || code < 0 || code > exitPending {
		t.Fatalf("mend scan: %v, exit code %d: %s", err, code, out)
	}
	var answer struct {
		Sessions []struct {
			Session, Severity string
			Error             json.RawMessage
			Diagnoses         []diagnosis
		}
	}
	if json.Unmarshal(out, &answer) == nil {
		for _, s := range answer.Sessions {
			if s.Session == session && code == exitUnusable && s.Severity == "healthy" {
				return "unusable", string(out) + notes.String() // it says why no session of the store can go on
			} else if s.Session == session {
				return s.Severity, fmt.Sprintf("%+v %s", s.Diagnoses, s.Error)
			}
		}
	}
	if code == exitUnusable || strings.Contains(notes.String(), "not examined") {
		return "unusable", string(out) + notes.String()
	}
	return "absent", string(out)
}

// compareStore returns where mend and the program disagree: what mend calls healthy fails, or
// what works with all that was said is called something else.
func compareStore(verdict, why string, alive, complete bool) string {
	works := verdict == "" || verdict == "healthy" || verdict == "note" || verdict == "latent"
	switch {
	case works && !alive:
		return "mend calls it healthy, and it fails"
	case !works && verdict != "unusable" && alive && complete:
		return fmt.Sprintf("mend calls it %s (%.700s), and it works", verdict, why)
	}
	return ""
}

// eachBroken runs generated cases.
func eachBroken(t *testing.T, agent string, try func(t *testing.T, r *rand.Rand) (did, outcome, wrong string)) {
	counts := map[string]int{}
	wanted := regexp.MustCompile(*match)
	for n := range *cases {
		t.Run(fmt.Sprint(*first+n), func(t *testing.T) {
			did, outcome, wrong := try(t, rand.New(rand.NewPCG(*seed, uint64(*first+n))))
			if !wanted.MatchString(did) {
				return
			}
			counts[outcome]++
			counts["cases"]++
			if wrong != "" {
				counts["disagreement"]++
				t.Errorf("%s: %s", did, wrong)
			}
		})
	}
	t.Logf("-seed %d, %s: %v", *seed, agent, counts)
}

// TestStoresClaude breaks files and folders of Claude Code at random, as a whole, and compares mend scan with
// the newest program that is known.
//
//	go test -tags e2e -run TestStores ./cmd/mend -cases 300 -seed 7
func TestStoresClaude(t *testing.T) {
	m := newUserMend(t)
	cmd, err := claude.Install(claude.Versions[0])
	if err != nil {
		t.Skip(err)
	}
	eachBroken(t, "Claude Code "+claude.Versions[0], func(t *testing.T, r *rand.Rand) (did, outcome, wrong string) {
		h := claude.NewHome(t, cmd)
		data := claude.New().Bytes()
		if r.IntN(4) == 0 {
			did, data = claude.Redate(r, data)
		}
		h.Put(claude.Session, data)
		h.GiveTo(nobody)
		file := h.File(claude.Session)
		folder := filepath.Dir(file)
		if did == "" || r.IntN(3) == 0 {
			more, err := mutation.BreakFile(r, claude.Shape("fork").Bytes(), file, file, file, file, folder, folder, filepath.Dir(folder), h.Root())
			if err != nil {
				t.Fatal(err)
			}
			did = strings.TrimPrefix(did+", "+more, ", ")
		}
		verdict, why := m.judge(t, h.Dir(), h.Root(), claude.Session)
		reply := h.Prompt(claude.Session, "one more", true)
		alive := reply.Answered && len(reply.Blocks) > 0
		outcome = fmt.Sprintf("%s, alive %t", verdict, alive)
		if wrong = compareStore(verdict, why, alive, len(reply.Blocks) >= 47); wrong != "" {
			wrong += fmt.Sprintf(": %d blocks, %.300s", len(reply.Blocks), reply.Output)
		}
		return did, outcome, wrong
	})
}

// TestStoresOpenCode does the same for OpenCode.
func TestStoresOpenCode(t *testing.T) {
	m := newUserMend(t)
	exe, err := opencode.Install("1.18.34")
	if err != nil {
		t.Skip(err)
	}
	api := endpoint.New(uniqueAnswer)
	t.Cleanup(api.Close)
	first := opencode.New(t, exe, api, false)
	r := first.Continue(first.Unpack(fixtures[2]), "one more")
	if r.Verdict != opencode.Alive {
		t.Fatalf("a prompt in the healthy store: %s: %s", r.Verdict, r.Output)
	}
	healthy := len(blocks(t, sent(t, r.Calls[0].Raw, "one more")))
	older := opencode.New(t, exe, api, false)
	older.Unpack(fixtures[1])
	other, err := os.ReadFile(filepath.Join(older.DataDir(), "opencode.db"))
	if err != nil {
		t.Fatal(err)
	}
	eachBroken(t, "OpenCode 1.18.34", func(t *testing.T, r *rand.Rand) (did, outcome, wrong string) {
		h := opencode.New(t, exe, api, false)
		session := h.Unpack(fixtures[2])
		db := filepath.Join(h.DataDir(), "opencode.db")
		if r.IntN(4) == 0 {
			day := int64(24 * time.Hour / time.Millisecond)
			change := []string{
				"update session set version = '9.0.0'", "update session set version = '0.0.1'", "update session set version = ''", "update session set version = 'x'",
				fmt.Sprintf("update session set time_updated = time_updated + %d, time_created = time_created + %[1]d", 900*day),
				"update session set time_updated = 0, time_created = 0", "update session set time_updated = -1",
				fmt.Sprintf("update message set time_created = time_created + %d", 900*day), "update message set time_created = 0",
				"update part set time_created = 0, time_updated = 0",
			}
			did = change[r.IntN(len(change))]
			h.SQL(did)
		}
		h.GiveTo(nobody)
		if did == "" || r.IntN(3) == 0 {
			more, err := mutation.BreakFile(r, other, db, db, db, db, h.DataDir(), filepath.Dir(h.DataDir()), h.Project())
			if err != nil {
				t.Fatal(err)
			}
			did = strings.TrimPrefix(did+", "+more, ", ")
		}
		verdict, why := m.judge(t, h.Dir(), h.DataDir(), session)
		reply := h.Continue(session, "one more")
		if reply.TimedOut { // on a busy machine that says nothing
			return did, "timed out", ""
		}
		alive := reply.Verdict == opencode.Alive
		n := 0
		if len(reply.Calls) > 0 {
			n = len(blocks(t, sent(t, reply.Calls[0].Raw, "one more")))
		}
		outcome = fmt.Sprintf("%s, alive %t", verdict, alive)
		if wrong = compareStore(verdict, why, alive, n >= healthy); wrong != "" {
			wrong += fmt.Sprintf(": %d of %d blocks, %.300s", n, healthy, reply.Output)
		}
		return did, outcome, wrong
	})
}
