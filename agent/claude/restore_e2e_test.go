//go:build e2e

package claude_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/claude"
	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	fixture "mend/internal/test/claude"
	"mend/internal/test/storetest"
)

// A keeper is a client that keeps and restores the session of a home.
type keeper struct {
	*mend.Store
	t       *testing.T
	journal *mend.Journal
	head    change.Head
}

func newKeeper(t *testing.T, h *fixture.Home) *keeper {
	t.Helper()
	dir := t.TempDir()
	k := &keeper{t: t, journal: mend.OpenJournal(filepath.Join(dir, "journal"))}
	var err error
	k.Store, err = mend.Open(mend.Options{Agents: []agent.Agent{claude.Agent{}}, Store: h.Root(), Journal: k.journal, Cache: filepath.Join(dir, "cache")})
	if err == nil {
		k.head, err = k.Session(t.Context(), fixture.Session)
	}
	if err == nil {
		err = k.journal.Kept(keep.Options{}, func(kept *keep.Keep) error {
			return k.KeepAll(t.Context(), kept, []change.Head{k.head}, mend.KeptAsked, false, func(int, mend.Kept) {})
		})
	}
	must(t, err)
	return k
}

func (k *keeper) restore() (done mend.Restored, id string) {
	k.t.Helper()
	err := k.journal.Kept(keep.Options{}, func(kept *keep.Keep) (err error) {
		done, err = k.ProposeRestore(k.t.Context(), kept, k.head, mend.RestoreRequest{})
		return err
	})
	var e change.Entry
	if err == nil {
		e, err = k.Apply(k.t.Context(), done.Plan)
	}
	must(k.t, err)
	return done, e.ID
}

// TestRealRestore loses a conversation in all ways, including Claude Code's own clean-up. After the restore the real
// program continues with all messages, and its next clean-up keeps the transcript. An undo of the restore restores the
// damaged state, byte for byte.
func TestRealRestore(t *testing.T) {
	cmd := install(t)
	stub := func(data []byte) []byte {
		var kept [][]byte
		for line := range bytes.Lines(data) {
			if !bytes.Contains(line, []byte(`"parentUuid"`)) {
				kept = append(kept, line)
			}
		}
		return bytes.Join(kept, nil)
	}
	written := func(edit func([]byte) []byte) func(*testing.T, *fixture.Home) {
		return func(_ *testing.T, h *fixture.Home) { h.Put(fixture.Session, edit(h.Read(fixture.Session))) }
	}
	remove := func(t *testing.T, path string) {
		must(t, os.RemoveAll(path))
	}
	const other = "11111111-3333-4333-8333-111111111111"
	for i, c := range []struct {
		name string
		lose func(*testing.T, *fixture.Home)
		dies bool // Claude Code finds no conversation
	}{
		{"rm", func(t *testing.T, h *fixture.Home) { remove(t, h.File(fixture.Session)) }, true},
		{"the folder of the project removed", func(t *testing.T, h *fixture.Home) { remove(t, filepath.Dir(h.File(fixture.Session))) }, true},
		{"clean-up", func(t *testing.T, h *fixture.Home) {
			h.Age(fixture.Session, 40*24*time.Hour)
			if !h.CleanUp(`{"cleanupPeriodDays": 1}`, time.Minute) {
				t.Fatal("the program did not clean up")
			}
			if len(h.Sessions()) > 0 {
				t.Fatalf("the clean-up left %v", h.Sessions())
			}
		}, true},
		{"cut", written(func(d []byte) []byte { return d[:len(d)/2] }), false},
		{"stub", written(stub), true},
		{"emptied", written(func([]byte) []byte { return nil }), true},
		{"overwritten by another session", func(t *testing.T, h *fixture.Home) {
			if r := h.Prompt(other, "hello", false); !r.Answered {
				t.Fatal(r.Output)
			}
			h.Put(fixture.Session, h.Read(other))
		}, false},
		{"only a new prompt left", func(t *testing.T, h *fixture.Home) {
			lines := slices.Collect(bytes.Lines(h.Read(fixture.Session)))
			var last []byte
			for _, l := range lines {
				if bytes.Contains(l, []byte(`"parentUuid"`)) {
					last = l
				}
			}
			uuid := string(last[bytes.LastIndex(last, []byte(`"uuid":"`))+8:][:36])
			h.Put(fixture.Session, []byte(`{"parentUuid":"`+uuid+`","isSidechain":false,"type":"user","message":{"role":"user","content":"still here"},"uuid":"00000000-2222-4222-8222-222222222222","timestamp":"2026-11-25T10:00:00.000Z","sessionId":"`+fixture.Session+`","cwd":"/home/user/project","version":"2.1.330"}`+"\n"))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if i > 0 {
				storetest.Long(t)
			}
			t.Parallel()
			h := fixture.NewHome(t, cmd)
			h.Put(fixture.Session, fixture.Baseline)
			k := newKeeper(t, h)
			before := h.Prompt(fixture.Session, prompt, true)
			if !before.Answered || len(before.Blocks) < 40 {
				t.Fatalf("before the loss %d blocks: %s", len(before.Blocks), before.Output)
			}
			h.Put(fixture.Session, fixture.Baseline)
			c.lose(t, h)
			var lost []byte
			if _, err := os.Stat(h.File(fixture.Session)); err == nil {
				lost = h.Read(fixture.Session)
			}
			r := h.Prompt(fixture.Session, prompt, true)
			if dies := strings.Contains(r.Output, "No conversation found"); dies != c.dies || len(r.Blocks) >= len(before.Blocks) {
				t.Errorf("after the loss %d blocks are sent: %s", len(r.Blocks), r.Output)
			}
			if lost == nil {
				_ = os.Remove(h.File(fixture.Session)) // the transcript that Claude Code wrote for the prompt
			} else {
				h.Put(fixture.Session, lost)
			}
			done, id := k.restore()
			if done.Session.ID != fixture.Session {
				t.Errorf("the session is restored as %s", done.Session.ID)
			}
			info, err := os.Stat(h.File(fixture.Session))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if c.name == "clean-up" {
				if !h.CleanUp(`{"cleanupPeriodDays": 1}`, time.Minute) || !slices.Contains(h.Sessions(), fixture.Session) {
					t.Error("the next clean-up removes it again")
				}
			}
			restored := h.Read(fixture.Session)
			for _, which := range []string{fixture.Session, ""} { // also --continue
				after := h.Prompt(which, prompt, true)
				want := before.Blocks
				if done.Joined {
					want = append(slices.Clone(want), `user {"text":"still here","type":"text"}`)
				}
				if diff := gocmp.Diff(want, after.Blocks); !after.Answered || diff != "" {
					t.Errorf("%q after the restore (-before +after): answered %t, %s\n%s", which, after.Answered, diff, after.Output)
				}
				h.Put(fixture.Session, restored)
			}
			undoEntry(t, k.Store, id, false)
			now, err := os.ReadFile(h.File(fixture.Session))
			if lost == nil && err == nil || !bytes.Equal(now, lost) {
				t.Errorf("undone: %d bytes, want %d, %v", len(now), len(lost), err)
			}
		})
	}
}

// TestRealExpiring compares the transcripts that mend expects Claude Code to delete with the ones that it deletes, for
// each form of its setting.
func TestRealExpiring(t *testing.T) {
	cmd := install(t)
	for i, c := range []struct {
		settings string
		days     int    // of the transcript
		ignored  bool   // Claude Code accepts none of the settings because of another field, and deletes nothing
		project  string // settings of the project that Claude Code is started in
	}{
		{"{}", 29, false, ""},
		{"{}", 31, false, ""},
		{`{"cleanupPeriodDays": 50}`, 40, false, ""},
		{`{"cleanupPeriodDays": 5}`, 6, false, ""},
		{`{"cleanupPeriodDays": 0}`, 40, false, ""},
		{`{"cleanupPeriodDays": -1}`, 40, false, ""},
		{`{"cleanupPeriodDays": "50"}`, 40, false, ""},
		{`{"cleanupPeriodDays": 1.5}`, 40, false, ""},
		{`{"cleanupPeriodDays": null}`, 40, false, ""},
		{`{"cleanupPeriodDays": 50, "model": 7}`, 40, true, ""},
		{`{"cleanupPeriodDays": 50}`, 40, true, `{"model": 7}`},
		{`{"cleanupPeriodDays": 5, "nosuch": 7, "env": {"A": 1}, "hooks": {"NoSuchEvent": []}, "permissions": {"allow": [7]}}`, 6, false, ""},
		{`{"cleanupPeriodDays": 5`, 40, false, ""},
		{"\ufeff" + `{"cleanupPeriodDays": 50}`, 40, false, ""},
		{"\ufeff" + `{"cleanupPeriodDays": 5}`, 6, false, ""},
		{`{"cleanupPeriodDays": 50}`, 6, false, `{"cleanupPeriodDays": 5}`},
	} {
		t.Run(c.settings+c.project, func(t *testing.T) {
			if i > 0 {
				storetest.Long(t)
			}
			t.Parallel()
			h := fixture.NewHome(t, cmd).In("project")
			project := filepath.Join(filepath.Dir(h.Root()), "project")
			h.Put(fixture.Session, bytes.ReplaceAll(fixture.Baseline, []byte("/home/user/project"), []byte(project)))
			h.Age(fixture.Session, time.Duration(c.days)*24*time.Hour)
			writeSettings(t, h.Root(), c.settings)
			if c.project != "" {
				writeSettings(t, filepath.Join(project, ".claude"), c.project)
			}
			st, err := claude.Agent{}.Open(agent.Located{Path: h.Root()}, nil)
			must(t, err)
			x, err := st.Expiring(t.Context(), time.Now())
			within := 40 * time.Second
			if x.Days > 0 && !c.ignored {
				within = fixture.Timeout
			}
			ran := h.CleanUp(c.settings, within)
			deleted := len(h.Sessions()) == 0
			t.Logf("%s, %d days: ran %t, deleted %t; mend says %+v, %v", c.settings, c.days, ran, deleted, x, err)
			if ran != (x.Days > 0 && !c.ignored) {
				t.Errorf("the clean-up ran: %t; mend says %d days", ran, x.Days)
			}
			if err != nil || (x.Sessions > 0) != deleted {
				t.Errorf("deleted %t, mend says %d", deleted, x.Sessions)
			}
		})
	}
}

func writeSettings(t *testing.T, dir, text string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600))
}
