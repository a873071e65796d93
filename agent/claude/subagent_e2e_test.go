//go:build e2e

package claude_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/claude"
	"mend/internal/test/endpoint"
)

// resumeAgent makes the session send a message to its subagent. It returns the content of the subagent's transcript
// that reaches the subagent's request.
func resumeAgent(t *testing.T, h *fixture.Home, agent string) []string {
	t.Helper()
	api := endpoint.New(fixture.Script)
	defer api.Close()
	ctx, cancel := context.WithTimeout(t.Context(), fixture.Timeout)
	defer cancel()
	call := `["SendMessage",{"to":"` + agent + `","message":"more","summary":"more"}]`
	p := h.Start(ctx, api.URL, fixture.Session, "go CALL ["+call+"]END", true)
	_ = p.Wait()
	h.WaitEnded()
	for _, c := range api.Calls() {
		if blocks := fixture.Stored(c.Raw, prompt); len(blocks) > 0 && !strings.Contains(string(c.Raw), "P1first") {
			return blocks[:len(blocks)-1] // the last one is the new message
		}
	}
	return nil
}

// TestRealSubagent breaks the transcript of a subagent that is resumed. After the repair its earlier messages are sent
// again.
func TestRealSubagent(t *testing.T) {
	cmd := install(t)
	if testing.Short() {
		t.Skip("left out with -short")
	}
	h := fixture.NewHome(t, cmd)
	file, id := filepath.Join(strings.TrimSuffix(h.File(fixture.Session), ".jsonl"), "subagents", "agent-"+fixture.Subagent), fixture.Session+".agent-"+fixture.Subagent
	put := func(data []byte) {
		h.Put(fixture.Session, fixture.Baseline)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		for name, data := range map[string][]byte{".jsonl": data, ".meta.json": []byte(fixture.SubagentMeta)} {
			must(t, os.WriteFile(file+name, data, 0o600))
		}
	}
	put(fixture.Shape("subagent").Bytes())
	healthy := resumeAgent(t, h, fixture.Subagent)
	if len(healthy) != 6 {
		t.Fatalf("%d blocks of the healthy subagent reach its request, want 6: %q", len(healthy), healthy)
	}
	broken := fixture.BrokenSubagent()
	put(broken)
	if before := resumeAgent(t, h, fixture.Subagent); len(before) != 3 {
		t.Errorf("before: %d blocks, want 3: %q", len(before), before)
	}
	put(broken)
	c := client(t, h)
	done, r, err := repairSession(t, c, id)
	if err != nil || done == "" || len(r.Remaining) > 0 {
		t.Fatalf("Repair = %q, %v, %v", done, r.Remaining, err)
	}
	if diff := gocmp.Diff(healthy, resumeAgent(t, h, fixture.Subagent)); diff != "" {
		t.Errorf("after the repair the request differs (-healthy +repaired):\n%s", diff)
	}
}
