package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent/opencode/render"
	"mend/cmd/mend/internal/frame"
	"mend/internal/request"
	"mend/internal/test/damage"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// providersPage is the page that TestProviders of the real program writes.
const providersPage = "testdata/providers.md"

// providerSettings returns the settings of damage.ProviderColumns, in their order.
func providerSettings() (names []string) {
	for _, column := range damage.ProviderColumns {
		names = append(names, column...)
	}
	return names
}

// providerKinds returns the damage of damage.ProviderTable and, with all, the rest of damage.Table.
func providerKinds(all bool) []damage.ProviderKind {
	kinds := slices.Clone(damage.ProviderTable)
	for _, k := range damage.Table {
		if all && !slices.ContainsFunc(kinds, func(p damage.ProviderKind) bool { return p.Name == k.Name }) {
			kinds = append(kinds, damage.ProviderKind{Name: k.Name, Apply: k.Apply, Unseen: k.Name == killedWithoutReasoning})
		}
	}
	return kinds
}

// killedWithoutReasoning removes the reasoning of a response and the token counts that show that it existed.
const killedWithoutReasoning = "killed in a call without reasoning"

// providerCells returns the cells of a page of TestProviders by the name of the damage.
func providerCells(page string) map[string][]string {
	cells := map[string][]string{}
	for line := range strings.Lines(page) {
		if row := strings.Split(strings.Trim(line, "| \n"), " | "); len(row) == 1+len(providerSettings()) {
			cells[row[0]] = row[1:]
		}
	}
	return cells
}

// isVendorRule reports whether the rule is a vendor's, and the provider of the setting may not have it.
func isVendorRule(rule, setting string) bool {
	vendors := map[string]string{"V1": "kimi", "V3": "kimi"} // settings of vendors
	return strings.HasPrefix(rule, "V") && vendors[rule] != setting
}

// checkProviderFate compares the result of mend scan with what the real program did: its verdict is alive, dead or
// endless, or the rule that the request broke.
func checkProviderFate(t *testing.T, setting, verdict, message string, scan scanResult) {
	t.Helper()
	want := verdict != opencode.Alive && !isVendorRule(verdict, setting)
	if broken := scan.severity == "broken"; broken != want {
		t.Errorf("mend scan reports %s, the real program is %s %s:\n%s", scan.severity, verdict, message, scan.out)
		return
	}
	if verdict == opencode.Alive || verdict == opencode.Dead || verdict == damage.NoAnswer {
		return
	}
	rule := verdict
	if verdict == damage.Endless {
		rule = render.FailureClock
	}
	if !slices.ContainsFunc(scan.diagnoses, func(d diagnosis) bool { return d.Rule == rule }) {
		t.Errorf("mend scan does not name %s, which the real program broke: %s\n%s", verdict, message, scan.out)
	}
}

// TestProvidersPage: mend scan reports for each kind of damage with each provider what the real program did when
// testdata/providers.md was written. A plain run has some of the damage.
func TestProvidersPage(t *testing.T) {
	storetest.Long(t)
	page, err := os.ReadFile(providersPage)
	if err != nil {
		t.Fatal(err)
	}
	cells := providerCells(string(page))
	store := opencode.UnpackProviders(t)
	t.Setenv("XDG_CONFIG_HOME", opencode.WriteProviderConfig(t, "http://127.0.0.1:1"))
	always := []string{ // two kinds of damage that people meet, and findings that no other plain test has
		"empty answer", "tool running",
		"the provider ran the call", "reasoning deleted", "item id twice",
		"output an object", "SVG attached", "tokens.total infinite in the last answer",
	}
	for i, setting := range providerSettings() {
		t.Run(setting, func(t *testing.T) {
			for _, k := range providerKinds(true) {
				row := cells[k.Name]
				if row == nil || !storetest.AllCases() && !slices.Contains(always, k.Name) {
					continue
				}
				outcome := row[i]
				verdict, _, _ := strings.Cut(outcome, ",")
				if outcome == damage.NoChange || strings.HasSuffix(outcome, "fixed by its error") {
					continue
				}
				t.Run(k.Name, func(t *testing.T) {
					dir, session := storetest.FastDir(t), store.Base[setting]
					path, err := store.Write(dir, session)
					if err != nil {
						t.Fatal(err)
					}
					damage.Edit(t, path, session, k.Apply)
					damage.SQL(t, path)("update session set directory = ?", t.TempDir())
					ts := &testStore{T: t, version: "1.18.33", session: session, data: dir, path: path, journal: filepath.Join(dir, "journal")}
					checkProviderFate(t, setting, verdict, "", ts.scan())
				})
			}
		})
	}
}

// TestMissingReasoning: the error of a vendor leads to a repair that the settings of OpenCode do not show to be
// necessary: the model of a chat-compatible API thinks, and needs reasoning with each call.
func TestMissingReasoning(t *testing.T) {
	store := opencode.UnpackProviders(t)
	t.Setenv("XDG_CONFIG_HOME", opencode.WriteProviderConfig(t, "http://127.0.0.1:1"))
	dir, session := storetest.FastDir(t), store.Base["chat"]
	path, err := store.Write(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	k := damage.ProviderTable[slices.IndexFunc(damage.ProviderTable, func(k damage.ProviderKind) bool { return k.Name == "reasoning of a call deleted" })]
	damage.Edit(t, path, session, k.Apply)
	damage.SQL(t, path)("update session set directory = ?", t.TempDir())
	ts := &testStore{T: t, version: "1.18.33", session: session, data: dir, path: path, journal: filepath.Join(dir, "journal")}
	refused := func() bool { // by V3
		var answer struct {
			Request struct {
				Turns []struct {
					Content []struct{ Type request.BlockType }
				}
			}
		}
		ts.runJSON(&answer, "scan", session, "--request")
		for _, turn := range answer.Request.Turns {
			has := map[request.BlockType]bool{}
			for _, b := range turn.Content {
				has[b.Type] = true
			}
			if has[request.ToolUse] && !has[request.Thinking] {
				return true
			}
		}
		return false
	}
	whole := ts.snapshot()
	if !refused() {
		t.Fatal("before the repair the request has reasoning with each call")
	}
	if code, out := ts.mend("repair", session, "--yes", "--error", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"); code != frame.ExitDone {
		t.Errorf("mend repair: exit code %d:\n%s", code, out)
	}
	if refused() {
		t.Error("the request still has a call without reasoning")
	}
	if code, out := ts.mend("undo", "--yes", "--session", session); code != frame.ExitDone || !gocmp.Equal(whole, ts.snapshot()) {
		t.Errorf("mend undo: exit code %d, the store differs from before the repair:\n%s", code, out)
	}
}
