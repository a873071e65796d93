//go:build e2e

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/keep"
	"mend/internal/test/claude"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// newestCopy returns the newest copy of a session in a folder, and its records.
func newestCopy(t *testing.T, dir, session string) (s keep.State, ops []change.Op) {
	t.Helper()
	k, err := keep.Open(dir, keep.Options{ReadOnly: true})
	if err != nil {
		return s, nil // it is being written
	}
	defer func() { _ = k.Close() }()
	states, err := k.States(keep.Query{Session: session})
	if err != nil || len(states) == 0 {
		return s, nil
	}
	if ops, err = k.Load(t.Context(), states[0]); err != nil {
		t.Fatal(err)
	}
	return states[0], ops
}

// TestRealClaudeKeep: at the end of a turn the hooks have copied the session, byte for byte.
func TestRealClaudeKeep(t *testing.T) {
	c := newClaudeTrial(t, "parent unknown twice")
	c.Put(claude.Session, claude.New().Bytes())
	c.mend("plugin", "install", "--yes", "--agent", "claude", "--keep")
	api := endpoint.New(claude.Script)
	defer api.Close()
	term := c.Open(api.URL, "--resume", claude.Session)
	term.Wait("P5fifth")
	term.Send("hello there")
	term.Wait("Hello.")
	dir := filepath.Join(filepath.Dir(c.Root()), ".local", "state", "mend")
	waitFor(t, "the copy", func() bool {
		s, ops := newestCopy(t, dir, claude.Session)
		if len(ops) == 0 || !bytes.Contains(ops[0].Post.Data, []byte("hello there")) {
			return false
		}
		data, err := os.ReadFile(c.File(claude.Session))
		if err != nil || !bytes.HasPrefix(data, ops[0].Post.Data) || !s.Complete() || s.Why != "turn" {
			t.Errorf("the copy %+v is not the transcript: %v", s, err)
		}
		return true
	})
}

// TestLivePluginKeeps: at the end of a turn the plugin has copied the session.
func TestLivePluginKeeps(t *testing.T) {
	storetest.Long(t)
	for version := range archives {
		t.Run(version, func(t *testing.T) {
			h, session, _ := home(t, version, true)
			installPlugin(t, h)
			config, state := pluginHome(h)
			cmd := mendCommand(t, h, state, "config", "set", "keep", "true")
			cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config)
			if out, err := cmd.Output(); err != nil {
				t.Fatalf("mend config set keep true: %v: %s", err, out)
			}
			if r := h.Continue(session, "one more"); r.Verdict != opencode.Alive {
				t.Fatalf("the turn = %s; output:\n%s", r.Verdict, r.Output)
			}
			waitFor(t, "the copy", func() bool {
				s, ops := newestCopy(t, filepath.Join(state, "mend"), session)
				for _, o := range ops {
					if strings.Contains(string(o.Post.Data), "one more") {
						return s.Complete() && s.Why == "turn"
					}
				}
				return false
			})
		})
	}
}
