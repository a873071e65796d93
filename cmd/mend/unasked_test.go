package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/opencode"
	"mend/internal/test/real"
	"mend/internal/test/storetest"
	"mend/internal/unattended"
	"mend/journal"
)

// realHome unpacks the real conversations and a project folder into a home. It returns the path of the transcript of
// each session.
func realHome(t *testing.T) (home string, files map[string]string) {
	t.Helper()
	home = t.TempDir()
	real.Unpack(t, home)
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("CODEX_HOME", "")
	used := time.Now().Add(-time.Hour)
	files = map[string]string{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.ReplaceAll(data, []byte(real.Folder), []byte(project)), 0o600)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		files[name[max(0, len(name)-len("01234567-0123-0123-0123-0123456789ab")):]] = path
		return errors.Join(err, os.Chtimes(path, used, used))
	})
	if err != nil {
		t.Fatal(err)
	}
	return home, files
}

// hookEvents are the events for which mend installs a hook, as Claude Code 2.1.332 and Codex 0.171.0 report them.
var hookEvents = map[string][]map[string]any{
	"claude": {
		{"hook_event_name": "SessionStart", "source": "resume"},
		{"hook_event_name": "Stop", "permission_mode": "default", "stop_hook_active": false},
		{"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"},
	},
	"codex": {
		{"hook_event_name": "SessionStart", "source": "resume", "model": "gpt-5", "permission_mode": "default"},
		{"hook_event_name": "Stop", "turn_id": "1", "model": "gpt-5", "permission_mode": "default", "stop_hook_active": false, "last_assistant_message": nil},
	},
}

// TestUnaskedRealConversations: neither a hook nor watch changes a byte of a real conversation. Each names the broken
// sessions, with the command that asks. A plain run has one event for each conversation that is not broken.
func TestUnaskedRealConversations(t *testing.T) {
	home, files := realHome(t)
	state := filepath.Join(home, "state")
	before := readAll(t, files)
	unchanged := func(when string) {
		t.Helper()
		for id, now := range readAll(t, files) {
			if now != before[id] {
				t.Errorf("%s: session %s was changed", when, id)
				before[id] = now
			}
		}
	}
	broken := map[string]bool{}
	for n, s := range real.Sessions() {
		if slices.ContainsFunc(s.Truth, func(truth string) bool { return strings.HasPrefix(truth, "broken") }) {
			broken[s.ID] = true
		}
		for i, event := range hookEvents[s.Agent] {
			if i != n%len(hookEvents[s.Agent]) && !broken[s.ID] && !storetest.AllCases() {
				continue
			}
			e := maps.Clone(event)
			e["session_id"], e["transcript_path"], e["cwd"] = s.ID, files[s.ID], filepath.Join(home, "project")
			input, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"hook", "--agent", s.Agent, "--keep"}
			if s.Agent == "claude" {
				args = append(args, "--repair")
			}
			code, out := runMendHere(t, bytes.NewReader(input), state, args...)
			if code != frame.ExitDone {
				t.Errorf("%s of %s: exit code %d: %s", e["hook_event_name"], s.ID, code, out)
			}
			if broken[s.ID] && e["hook_event_name"] == "SessionStart" && !strings.Contains(out, "mend fix "+s.ID) {
				t.Errorf("the hook does not name mend fix for the broken session %s: %s", s.ID, out)
			}
		}
	}
	unchanged("hooks")
	for _, name := range []string{"claude", "codex"} {
		code, out := runMendHere(t, &bytes.Buffer{}, state, "watch", "--once", "--agent", name)
		if code != frame.ExitDone {
			t.Errorf("watch of %s: exit code %d: %s", name, code, out)
		}
		for id := range broken {
			if name == "claude" && !strings.Contains(strings.Join(strings.Fields(out), " "), "mend fix "+id) {
				t.Errorf("watch does not name mend fix for the broken session %s:\n%s", id, out)
			}
		}
		unchanged("watch of " + name)
	}
	if es, err := mend.OpenJournal(state).Log(journal.Query{}); err != nil || len(es) > 0 {
		t.Errorf("%d entries, %v, want none", len(es), err)
	}
	if len(broken) != 4 || len(files) != 139 {
		t.Errorf("%d of %d sessions are broken, want 4 of 139", len(broken), len(files))
	}
}

func readAll(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for id, path := range files {
		all[id] = readFile(t, path)
	}
	return all
}

// TestUnaskedHealthy: before a request, no healthy session in the stores of the real OpenCode is changed.
func TestUnaskedHealthy(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", opencode.WriteProviderConfig(t, "http://127.0.0.1:1"))
	stores := map[string]string{}
	for i, version := range damage.Versions {
		stores[version] = newTestStore(t, i).path
	}
	providers := opencode.UnpackProviders(t)
	for name, ids := range map[string]map[string]string{"base": providers.Base, "killed": providers.Killed} {
		for setting, id := range ids {
			path, err := providers.Write(storetest.FastDir(t), id)
			if err != nil {
				t.Fatal(err)
			}
			stores[name+" "+setting] = path
		}
	}
	for name, path := range stores {
		dir := t.TempDir()
		c, err := mend.Open(mend.Options{Agents: agents.All, Store: path, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache")})
		if err != nil {
			t.Fatal(err)
		}
		before, err := damage.Snapshot(path)
		if err != nil {
			t.Fatal(err)
		}
		heads, err := c.Sessions(t.Context())
		if err != nil || len(heads) == 0 {
			t.Fatalf("%s: %d sessions, %v", name, len(heads), err)
		}
		for f := range c.Scan(t.Context(), heads) {
			if f.Severity() != 0 && f.Fixable() {
				t.Errorf("%s: session %s is broken: %v", name, f.Session.ID, f.Diagnoses)
			}
			q := live.Question{Session: f.Session.ID, Deadline: time.Minute}
			v := live.New(nil, unattended.New(c), live.Options{}).Look(t.Context(), live.Situation{Cause: live.BeforeRequest, Head: change.Head{ID: q.Session}, Question: q})
			if entry, err := v.Entry, v.Err; entry != "" || err != nil {
				t.Errorf("%s: the answer is repair %q, %v, want none", name, entry, err)
			}
		}
		after, err := damage.Snapshot(path)
		if err != nil || !maps.Equal(before, after) {
			t.Errorf("%s: the store was changed, %v", name, err)
		}
	}
	t.Logf("%d stores", len(stores))
}
