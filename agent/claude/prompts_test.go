package claude_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/claude"
	"mend/change"
)

// historyLines are what Claude Code writes for two sessions, and lines that it skips.
const historyLines = `{"display":"fix the build","pastedContents":{},"timestamp":1795362699315,"project":"/home/user/work","sessionId":"fd2c5c07-6567-4d76-9932-9be6309f6868"}
{"display":"/clear","pastedContents":{},"timestamp":1795362699415,"project":"/home/user/work","sessionId":"00000000-6567-4d76-9932-9be6309f6868"}
not a record
{"display":"no folder","pastedContents":{},"timestamp":1795362699515,"project":"","sessionId":"fd2c5c07-6567-4d76-9932-9be6309f6868"}
{"display":"see [Pasted text #1 +2 lines] and [Pasted text #2] and [Pasted text #3] and [Image #4]","pastedContents":{"1":{"id":1,"type":"text","content":"one\ntwo"},"2":{"id":2,"type":"text","contentHash":"0123456789abcdef"},"3":{"id":3,"type":"text","contentHash":"../../../etc/pass"},"4":{"id":4,"type":"image"}},"timestamp":1795362706309,"project":"/home/user/work","sessionId":"fd2c5c07-6567-4d76-9932-9be6309f6868"}
{"display":"go on","pastedContents":7,"timestamp":1795362707309,"project":"/home/user/work","sessionId":"fd2c5c07-6567-4d76-9932-9be6309f6868"}
{"display":"cut li`

// promptsOf returns the prompts of a transcript in their order, each after its parent.
func promptsOf(t *testing.T, data []byte) (all []string) {
	t.Helper()
	parent := ""
	for line := range bytes.Lines(data) {
		var r struct {
			Type, UUID, ParentUUID, CustomTitle string
			IsMeta                              bool
			Message                             struct{ Content string }
		}
		must(t, json.Unmarshal(line, &r))
		if r.Type == "custom-title" {
			all = append(all, "title: "+r.CustomTitle)
			continue
		}
		if r.ParentUUID != parent {
			t.Errorf("the parent of %s is %s, want %s", line, r.ParentUUID, parent)
		}
		parent = r.UUID
		if !r.IsMeta {
			all = append(all, r.Message.Content)
		}
	}
	return all
}

// TestPromptHistory: the prompts of a session that Claude Code deleted are read from its history.
func TestPromptHistory(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("projects/x/readme", "")
	write("history.jsonl", historyLines)
	write("paste-cache/0123456789abcdef.txt", "three")
	st, err := claude.Agent{}.Open(agent.Located{Path: root}, nil)
	must(t, err)
	beside, err := st.OtherStores(t.Context(), nil)
	if err != nil || len(beside) != 1 || len(beside[0].Sessions) != 1 || !beside[0].PromptsOnly {
		t.Fatalf("beside the store: %+v, %v", beside, err)
	}
	if none, err := st.OtherStores(t.Context(), beside[0].Sessions); err != nil || none != nil {
		t.Errorf("with all sessions there: %+v, %v", none, err)
	}
	history, err := claude.Agent{}.Open(agent.Located{Path: beside[0].Path}, nil)
	must(t, err)
	heads, err := history.List(t.Context())
	if err != nil || len(heads) != 1 || heads[0].Directory != "/home/user/work" || heads[0].Updated != 1795362707309 {
		t.Fatalf("listed: %+v, %v", heads, err)
	}
	var first []byte
	for range 2 {
		c, err := history.Copy(t.Context(), heads[0])
		if err != nil || len(c.Records) != 1 || !c.PromptsOnly {
			t.Fatalf("copied: %+v, %v", c, err)
		}
		want := []string{"fix the build", "see one\ntwo and three and [Pasted text #3] and [Image #4]", "go on", "title: (prompts only) fix the build"}
		if diff := gocmp.Diff(want, promptsOf(t, c.Records[0].Data)); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
		if first != nil && !bytes.Equal(first, c.Records[0].Data) {
			t.Error("the second transcript differs from the first")
		}
		first = c.Records[0].Data
	}
	if _, err := history.Copy(t.Context(), change.Head{ID: "11111111-6567-4d76-9932-9be6309f6868"}); err == nil {
		t.Error("a session that the history does not have was copied")
	}
	if _, err := history.Writer("x"); err == nil {
		t.Error("the history can be written")
	}
	link := filepath.Join(t.TempDir(), "history.jsonl")
	must(t, os.Symlink(filepath.Join(root, "history.jsonl"), link))
	if _, err := (claude.Agent{}).Open(agent.Located{Path: link}, nil); err == nil {
		t.Error("a link to a history was opened")
	}
}

// TestPromptHistoryGrowth: a history of four times the prompts takes at most five times the memory to read.
func TestPromptHistoryGrowth(t *testing.T) {
	read := func(n int) float64 {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"display":"prompt %d","pastedContents":{},"timestamp":%d,"project":"/home/user/work","sessionId":"%08d-6567-4d76-9932-9be6309f6868"}`+"\n", i, i, i%(n/4))
		}
		path := filepath.Join(t.TempDir(), "history.jsonl")
		must(t, os.WriteFile(path, []byte(b.String()), 0o600))
		st, err := claude.Agent{}.Open(agent.Located{Path: path}, nil)
		must(t, err)
		return allocated(func() {
			if heads, err := st.List(t.Context()); err != nil || len(heads) != n/4 {
				t.Errorf("List of %d prompts: %d sessions, %v", n, len(heads), err)
			}
		})
	}
	if one, four := read(1000), read(4000); four > 5*one {
		t.Errorf("1,000 prompts allocate %.0f bytes, 4,000 allocate %.0f", one, four)
	}
}
