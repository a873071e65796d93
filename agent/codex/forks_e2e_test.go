//go:build e2e

package codex_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestRealForks: a fork names the byte where its beginning ends in another rollout. If a change of that rollout moves
// the byte, Codex sends another beginning, or does not open the fork. A repair of the fork names the right byte.
func TestRealForks(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	out, err := h.Command(t.Context(), "exec", "fork", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", testdata.CodexSession, "in the fork").CombinedOutput()
	m := regexp.MustCompile(`session id: ([0-9a-f-]{36})`).FindStringSubmatch(string(out))
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, out)
	}
	fork, restore := m[1], h.Save()
	for name, fate := range map[string]string{"the last records are moved": "dead", "later records come before the byte": "alive"} {
		restore()
		if fate == "alive" {
			h.Prompt(testdata.CodexSession, "later in base")
			h.Prompt(testdata.CodexSession, strings.Repeat("and on ", 10_000))
		}
		c := open(t, h, t.TempDir())
		heads, err := c.Sessions(t.Context())
		must(t, err)
		base := slices.IndexFunc(heads, func(h change.Head) bool { return h.Base == "" })
		trimmed, err := c.ProposeTrim(t.Context(), heads[base], repair.TrimRequest{Hard: true, Goal: 1, KeepTurns: 2})
		must(t, err)
		apply(t, c, trimmed.Plan)
		check := func(when, want string, later bool) {
			t.Helper()
			defer h.Save()()
			items := expectedItems(t, c, heads[1-base])
			got := h.Prompt(fork, "what follows")
			if diff := gocmp.Diff(items, short(got.Items)); diff != "" && !later && want == "alive" {
				t.Errorf("%s: the request differs (-predicted +seen):\n%s", name, diff)
			}
			sent := strings.Join(got.Items, "\n")
			if got.Fate() != want || strings.Contains(sent, "later in base") != later || want == "alive" && !strings.Contains(sent, "in the fork") {
				t.Errorf("%s, %s: the fork is %s: %s\n%s", name, when, got.Fate(), got.Output, sent)
			}
		}
		check("after the change", fate, fate == "alive")
		k, err := c.Case(t.Context(), heads[1-base])
		if err != nil || len(k.Findings().All()) != 1 {
			t.Fatalf("%s: %v, %v", name, k, err)
		}
		r, err := c.ProposeRepair(t.Context(), heads[1-base], repair.Request{})
		must(t, err)
		apply(t, c, r.Plan)
		check("after the repair", "alive", false)
	}
}
