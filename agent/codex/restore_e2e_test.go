//go:build e2e

package codex_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"mend/agent"
	"mend/change"
	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// TestRealRestore loses a rollout in all ways, also while Codex continues with the rest. After the restore the
// program continues the session with all earlier and later messages.
func TestRealRestore(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	whole := h.Save()
	healthy := h.Prompt(testdata.CodexSession, "one more")
	whole()
	removeText := func(text string) func([]byte) []byte {
		return func(data []byte) (left []byte) {
			for line := range bytes.Lines(data) {
				if !bytes.Contains(line, []byte(text)) {
					left = append(left, line...)
				}
			}
			return left
		}
	}
	for _, c := range []struct {
		name      string
		lose      func(data []byte) []byte // what is left; nil for no file
		then      bool                     // Codex has compressed it before the copy
		now       bool                     // Codex has compressed it after the copy
		continues bool                     // Codex continues with the rest
	}{
		{name: "deleted", lose: func([]byte) []byte { return nil }},
		{name: "emptied", lose: func([]byte) []byte { return []byte{} }},
		{name: "NUL", lose: func(data []byte) []byte { return make([]byte, len(data)) }},
		{name: "cut in half", lose: func(data []byte) []byte { return data[:len(data)/2] }},
		{name: "first line lost", lose: removeText(`"session_meta"`)},
		{name: "last messages lost, goes on", lose: func(data []byte) []byte { return data[:bytes.LastIndex(data, []byte(`{"timestamp"`))*2/3] }, continues: true},
		{name: "all reasoning, calls and answers lost, goes on", lose: func(data []byte) []byte {
			for _, text := range []string{`"reasoning"`, `"function_call`, `"role":"assistant"`} {
				data = removeText(text)(data)
			}
			return data
		}, continues: true},
		{name: "prompts lost, goes on", lose: removeText(`"role":"user"`), continues: true},
		{name: "compressed, deleted", lose: func([]byte) []byte { return nil }, then: true},
		{name: "compressed since, and cut", lose: func(data []byte) []byte { return fixture.Compress(data)[:len(data)/20] }, now: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole()
			data, err := os.ReadFile(h.Rollout())
			if err != nil {
				t.Fatal(err)
			}
			put := func(data []byte, packed bool) {
				if err := os.RemoveAll(h.Rollout()); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(h.Rollout() + ".zst"); err != nil {
					t.Fatal(err)
				}
				if data != nil {
					h.Write(fixture.File+map[bool]string{true: ".zst"}[packed], data)
				}
			}
			if c.then {
				put(fixture.Compress(data), true)
			}
			s, err := openStore(h)
			if err != nil {
				t.Fatal(err)
			}
			head := session(t, open(t, h, t.TempDir()))
			copied, err := s.Copy(t.Context(), head)
			if err != nil {
				t.Fatal(err)
			}
			left := c.lose(data)
			put(left, c.now)
			if c.continues {
				if r := h.Prompt(testdata.CodexSession, "it went on"); !r.Sent {
					t.Fatalf("it does not go on: %s", r.Output)
				}
			}
			o := open(t, h, t.TempDir())
			if left != nil {
				head = session(t, o)
			}
			kept := []change.Op{{Ref: copied.Records[0].Ref, Post: change.ImageOf(&copied.Records[0])}}
			restored, err := s.Restore(t.Context(), head, kept, agent.RestoreRequest{})
			if err != nil || len(restored.Ops) == 0 || restored.Joined != c.continues {
				t.Fatalf("%d ops, joined %t, error %v", len(restored.Ops), restored.Joined, err)
			}
			apply(t, o, change.Plan{Session: head.ID, Ops: restored.Ops, Cause: change.Cause{Kind: change.CauseRestore}})
			after := h.Prompt(testdata.CodexSession, "one more")
			if after.Fate() != "alive" {
				t.Fatalf("after the restore it is %s: %s", after.Fate(), after.Message+after.Output)
			}
			if missing := lostContents(healthy.Items, after.Items, false); len(missing) > 0 {
				t.Errorf("after the restore the request lacks %s", strings.Join(missing, "\n"))
			}
			if continued := strings.Contains(strings.Join(after.Items, "\n"), "it went on"); continued != c.continues {
				t.Errorf("it has the prompt since: %t, want %t", continued, c.continues)
			}
		})
	}
}
