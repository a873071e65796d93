//go:build e2e

package claude_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/claude"
	"mend/internal/test/endpoint"
	"mend/internal/test/real"
	"mend/repair"
)

// The conversations have no names of tools that Claude Code has, and no signatures that the endpoint accepts.
var (
	unnamed  = regexp.MustCompile(`"tool_name":"x+"`)
	unsigned = regexp.MustCompile(`"thinking":"(x*)","signature":"[^"]*"`)
)

// complete adds these names and signatures to a conversation, and gives tools their current names.
func complete(data []byte) []byte {
	data = unnamed.ReplaceAll(data, []byte(`"tool_name":"WebFetch"`))
	data = bytes.ReplaceAll(data, []byte(`"name":"Task"`), []byte(`"name":"Agent"`))
	return unsigned.ReplaceAllFunc(data, func(b []byte) []byte {
		text := string(unsigned.FindSubmatch(b)[1])
		return fmt.Appendf(nil, `"thinking":%q,"signature":%q`, text, endpoint.Sign(text))
	})
}

// TestRealConversations continues the conversations that people's agents wrote. Claude Code sends what mend expects,
// before the repair of those that are broken, after it, and after the undo; in a repaired one it sends more.
func TestRealConversations(t *testing.T) {
	cmd := install(t)
	home := t.TempDir()
	real.Unpack(t, home)
	for _, s := range real.Sessions() {
		isBroken := slices.ContainsFunc(s.Truth, func(one string) bool { return strings.HasPrefix(one, "broken ") })
		if s.Agent != "claude" || testing.Short() && !isBroken {
			continue
		}
		found, err := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", s.ID+".jsonl"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		data, err := os.ReadFile(found[0])
		must(t, err)
		data = complete(data)
		t.Run(s.Version+" "+s.ID, func(t *testing.T) {
			t.Parallel()
			h := fixture.NewHome(t, cmd)
			h.Put(s.ID, data)
			before := resume(t, h, s.ID, "before")
			h.Put(s.ID, data)
			c := client(t, h)
			head, err := c.Session(t.Context(), s.ID)
			must(t, err)
			r, err := c.ProposeRepair(t.Context(), head, repair.Request{})
			if err != nil || (len(r.Plan.Ops) > 0) != isBroken {
				t.Fatalf("ProposeRepair has %d ops, %v, %v; broken: %t", len(r.Plan.Ops), r.Remaining, err, isBroken)
			}
			if !isBroken {
				return
			}
			e, err := c.Apply(t.Context(), r.Plan)
			must(t, err)
			repaired := h.Read(s.ID)
			after := resume(t, h, s.ID, "after")
			t.Logf("%d blocks are sent before the repair, %d after it", len(before.Blocks), len(after.Blocks))
			if len(after.Blocks) <= len(before.Blocks) {
				t.Errorf("%d blocks are sent before the repair, %d after it", len(before.Blocks), len(after.Blocks))
			}
			h.Put(s.ID, repaired)
			checkUndo(t, c, h, s.ID, e.ID, data)
			if undone := resume(t, h, s.ID, "after the undo"); !slices.Equal(undone.Blocks, before.Blocks) {
				t.Errorf("the request after the undo differs from the request before the repair:\n%s", gocmp.Diff(before.Blocks, undone.Blocks))
			}
		})
	}
}

// resume continues a conversation, and compares the request with the one that mend expects.
func resume(t *testing.T, h *fixture.Home, session, when string) fixture.Reply {
	t.Helper()
	c := expectedCase(h.Read(session))
	r := h.Resume(session, prompt)
	isFull := strings.Contains(r.Output, "Prompt is too long")
	if compareRequest(t, when, c, r); !isFull && (!r.Answered || len(r.Blocks) == 0) {
		t.Errorf("%s: answered %t with %d blocks: %s", when, r.Answered, len(r.Blocks), r.Output)
	}
	return r
}
