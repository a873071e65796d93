package mend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/request"
	claudetest "mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/repair"
	"mend/testdata"
)

// conversationOf returns the conversation of a session, one line for each item. Thinking without a finding is left out.
func conversationOf(t *testing.T, c *mend.Store, head change.Head) (lines []string) {
	t.Helper()
	f, err := c.ScanOne(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	items, elsewhere, err := c.Conversation(t.Context(), head, f.Diagnoses)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range elsewhere {
		lines = append(lines, "▲ "+string(d.Class))
	}
	for _, x := range items {
		var line strings.Builder
		line.WriteString(map[bool]string{true: "added "}[x.Added] + x.Role + ":")
		switch b := x.Block; {
		case b == nil:
		case b.IsThinking() && len(x.Faults) == 0:
			continue
		case b.Type == request.ToolUse:
			fmt.Fprintf(&line, " %s ended %v", b.ToolName, x.Ended)
		default:
			line.WriteString(" " + strings.Join(strings.Fields(b.Text), " "))
		}
		for _, d := range x.Faults {
			if d.Severity == repair.Broken {
				line.WriteString(" ▲ " + string(d.Class))
			}
		}
		lines = append(lines, line.String())
	}
	return lines
}

// TestConversation: a conversation has roles, the results of tool calls, and findings at their messages, for each
// agent.
func TestConversation(t *testing.T) {
	open := func(a agent.Agent, dir, path string) (*mend.Store, change.Head) {
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{a}, Store: path, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache"), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		heads, err := c.Sessions(t.Context())
		if err != nil || len(heads) != 1 {
			t.Fatalf("%d sessions, %v", len(heads), err)
		}
		return c, heads[0]
	}
	write := func(path string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	b := newBench(t)
	for _, name := range []string{"blank answer", "tool running"} {
		damage.Edit(t, b.store, b.session, damage.ByName(t, name))
	}
	openCode := conversationOf(t, b.client, b.head(t))

	dir := t.TempDir()
	write(filepath.Join(dir, ".claude", "projects", "-home-user-project", claudetest.Session+".jsonl"), claudetest.ByName("parent unknown").Broken())
	c, head := open(claude.Agent{}, dir, filepath.Join(dir, ".claude"))
	claudeCode := conversationOf(t, c, head)

	dir = t.TempDir()
	write(filepath.Join(dir, ".codex", "sessions", "2026", "11", "22", "rollout-2026-11-22T15-51-04-"+testdata.CodexSession+".jsonl"), testdata.Codex)
	write(filepath.Join(dir, ".codex", "config.toml"), []byte("model_provider = \"fake\"\n[model_providers.fake]\n"))
	c, head = open(codex.Agent{}, dir, filepath.Join(dir, ".codex"))
	codex := conversationOf(t, c, head)

	for _, x := range []struct {
		agent string
		got   []string
		want  string
	}{
		{"OpenCode", openCode, `user: "please TOOL"
assistant: Running.
assistant: bash ended false
assistant: Done 4.
user: "say hello"
assistant:  ▲ empty_content_message
user: "please TOOLS"
assistant: Running two.
assistant: bash ended true
assistant: bash ended true
assistant: Done 9.
user: "say goodbye"
assistant: Hello 10.`},
		{"Claude Code", claudeCode, `user: P3third plain
assistant: Hello 5.
user: P4fourth CALL [["Read", {"file_path": "/home/user/project/a.txt"}]]END CALL [["Edit", {"file_path": "/home/user/project/a.txt", "old_string": "beta", "new_string": "gamma"}]]END ▲ missing_history
assistant: Running 6.
assistant: Read ended true`},
		{"Codex", codex, `user: please TOOL
assistant: exec_command ended true
assistant: Done 2.
user: say hello
assistant: Hello 3.`},
	} {
		if got := strings.Join(x.got, "\n"); !strings.Contains(got, x.want) {
			t.Errorf("%s:\n%s\n\nwant this part:\n%s", x.agent, got, x.want)
		}
	}
	if !strings.HasPrefix(codex[2], "added user: <environment_context>") {
		t.Errorf("Codex: %s, want it marked as added by the agent", codex[2])
	}
}
