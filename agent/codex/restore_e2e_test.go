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

// TestRealRestore loses a rollout, or a part of it while Codex continues with the rest. After the restore the program
// continues the session with all earlier and later messages.
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
		name       string
		lose       func(data []byte) []byte // returns the rest; nil: the rollout is deleted
		keptPacked bool                     // Codex compressed the rollout before it was kept
		nowPacked  bool                     // Codex compressed it later
		continues  bool                     // Codex continues with the rest
	}{
		{name: "deleted", lose: func([]byte) []byte { return nil }},
		{name: "emptied", lose: func([]byte) []byte { return []byte{} }},
		{name: "NUL", lose: func(data []byte) []byte { return make([]byte, len(data)) }},
		{name: "cut in half", lose: func(data []byte) []byte { return data[:len(data)/2] }},
		{name: "first line lost", lose: removeText(`"session_meta"`)},
		{name: "last messages lost, continued", lose: func(data []byte) []byte { return data[:bytes.LastIndex(data, []byte(`{"timestamp"`))*2/3] }, continues: true},
		{name: "all reasoning, calls and answers lost, continued", lose: func(data []byte) []byte {
			for _, text := range []string{`"reasoning"`, `"function_call`, `"role":"assistant"`} {
				data = removeText(text)(data)
			}
			return data
		}, continues: true},
		{name: "prompts lost, continued", lose: removeText(`"role":"user"`), continues: true},
		{name: "compressed, deleted", lose: func([]byte) []byte { return nil }, keptPacked: true},
		{name: "compressed since, and cut", lose: func(data []byte) []byte { return fixture.Compress(data)[:len(data)/20] }, nowPacked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole()
			data, err := os.ReadFile(h.Rollout())
			must(t, err)
			put := func(data []byte, packed bool) {
				must(t, os.RemoveAll(h.Rollout()))
				must(t, os.RemoveAll(h.Rollout()+".zst"))
				if data != nil {
					h.Write(fixture.File+map[bool]string{true: ".zst"}[packed], data)
				}
			}
			if c.keptPacked {
				put(fixture.Compress(data), true)
			}
			s, err := openStore(h)
			must(t, err)
			head := session(t, open(t, h, t.TempDir()))
			copied, err := s.Copy(t.Context(), head)
			must(t, err)
			left := c.lose(data)
			put(left, c.nowPacked)
			if c.continues {
				if r := h.Prompt(testdata.CodexSession, "a later prompt"); !r.Sent {
					t.Fatalf("Codex does not continue with the rest: %s", r.Output)
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
				t.Fatalf("after the restore the session is %s: %s", after.Fate(), after.Message+after.Output)
			}
			if missing := lostContents(healthy.Items, after.Items, false); len(missing) > 0 {
				t.Errorf("after the restore the request lacks %s", strings.Join(missing, "\n"))
			}
			if continued := strings.Contains(strings.Join(after.Items, "\n"), "a later prompt"); continued != c.continues {
				t.Errorf("the request has the later prompt: %t, want %t", continued, c.continues)
			}
		})
	}
}
