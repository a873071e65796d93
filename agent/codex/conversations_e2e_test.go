//go:build e2e

package codex_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/codex"
	"mend/internal/test/real"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// TestRealConversations sends one more prompt in each of the conversations that people's Codex wrote: mend finds
// nothing broken, and predicts the request.
func TestRealConversations(t *testing.T) {
	exe, err := fixture.Install(*version)
	if err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	real.Unpack(t, folder)
	files, err := filepath.Glob(filepath.Join(folder, ".codex/sessions/*/*/*/*.jsonl"))
	if err != nil || len(files) != 17 {
		t.Fatalf("%d conversations, %v", len(files), err)
	}
	all := map[string][]byte{} // by name below the folder of Codex
	var issued [][]byte
	for _, path := range files {
		data, err := os.ReadFile(path)
		must(t, err)
		for _, member := range []string{"model_provider", "model_provider_id"} { // fake is the only provider of the test
			data = bytes.ReplaceAll(data, []byte(`"`+member+`":"openai"`), []byte(`"`+member+`":"fake"`))
		}
		for _, member := range []string{`"subagent":"review"`, `"multi_agent_version":"disabled"`, `"multi_agent_version":"v2"`} { // Codex interprets these
			name, value, _ := strings.Cut(member, ":")
			data = bytes.ReplaceAll(data, []byte(name+`:"`+strings.Repeat("x", len(value)-2)+`"`), []byte(member))
		}
		name, _ := filepath.Rel(filepath.Join(folder, ".codex"), path) // cannot fail: it was found there
		all[name], issued = data, append(issued, data)
	}
	h := fixture.NewHome(t, exe, issued...)
	for name, data := range all {
		h.Write(name, data)
	}
	if r := h.Prompt(testdata.CodexSession, "zero more"); r.Fate() != "alive" { // creates the databases
		t.Fatal(r.Output)
	}
	c := open(t, h, t.TempDir())
	heads, err := c.Sessions(t.Context())
	if err != nil || len(heads) != 18 {
		t.Fatalf("%d sessions, %v", len(heads), err)
	}
	for _, head := range heads {
		if head.ID == testdata.CodexSession {
			continue
		}
		t.Run(head.ID, func(t *testing.T) {
			want, items := predictFate(t, c, head), identities(forecast(t, c, head))
			seen := h.Prompt(head.ID, "one more")
			if seen.Fate() != want || want != "alive" && want != "O8" { // in some, the encrypted content was made anonymous
				t.Errorf("mend predicts %s, and the session is %s: %s", want, seen.Fate(), seen.Message+seen.Output)
			}
			if diff := gocmp.Diff(items, identities(seen.Items)); diff != "" {
				t.Errorf("the request has %d items, and differs (-predicted +seen):\n%s", len(seen.Items), diff)
			}
		})
	}
}

// identities returns the values that distinguish items. Their texts do not: each text is a row of the letter x.
func identities(items []string) (all []string) {
	for _, raw := range items {
		var it struct {
			Type, Role, ID string
			CallID         string `json:"call_id"`
			Encrypted      string `json:"encrypted_content"`
		}
		_ = json.Unmarshal([]byte(raw), &it) // a request that was sent
		if it.Type == "compaction" || strings.HasSuffix(it.Type, "_output") {
			it.ID = "" // Codex may leave it out, or make one
		}
		kind := strings.Replace(cmp.Or(it.Type, "message"), "custom_tool", "function", 1) // mend treats both types alike
		all = append(all, fmt.Sprint(kind, " ", it.Role, " ", it.ID, " ", it.CallID, " ", it.Encrypted))
	}
	return all
}

// TestRealModels: mend predicts which items come first if a session changes between a classic and a GPT-6 model.
func TestRealModels(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	prompts := 0
	prompt := func(session, model string) fixture.Reply {
		h.Write("config.toml", bytes.ReplaceAll(h.Config(), []byte("gpt-5-fake"), []byte(model)))
		prompts++
		return h.Prompt(session, fmt.Sprintf("prompt %d", prompts))
	}
	h.Write("config.toml", bytes.ReplaceAll(h.Config(), []byte("gpt-5-fake"), []byte("gpt-6.1-sol")))
	begun, _ := h.Begin("first")
	for _, session := range []string{testdata.CodexSession, begun} {
		for _, model := range []string{"gpt-5-fake", "gpt-6.1-sol", "gpt-5-fake"} {
			prompt(session, model)
			c := open(t, h, t.TempDir())
			head, err := c.Session(t.Context(), session)
			must(t, err)
			want, got := expectedItems(t, c, head), prompt(session, model)
			if len(want) == 0 || len(want) != len(got.Items) || got.Fate() != "alive" {
				t.Errorf("%s with %s is %s: %d items, want %d", session, model, got.Fate(), len(got.Items), len(want))
			}
			for i, item := range short(got.Items) { // the first may be the instructions
				if i > 0 && i < len(want) && item[strings.Index(item, " "):] != want[i][strings.Index(want[i], " "):] {
					t.Errorf("%s with %s: item %d is %s, want %s", session, model, i, item, want[i])
				}
			}
		}
	}
}
