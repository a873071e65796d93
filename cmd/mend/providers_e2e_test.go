//go:build e2e

package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// pageVersion is the version of OpenCode in testdata/providers.md.
const pageVersion = "1.18.33"

var providersVersion = flag.String("opencode", pageVersion, "the version of OpenCode that TestProviders asks, one with a database")

// TestProviders: for each kind of damage and provider, mend scan reports what the real program and its provider do. The
// session works after mend fix, or after mend fix --error with the provider's text if only the provider can detect the
// damage. After mend undo the store is identical. A short run has [damage.Everyday], each outcome with the
// first provider that has it; other runs have every damage with every provider. -update writes testdata/providers.md.
func TestProviders(t *testing.T) {
	p := opencode.ServeProviders(t, *providersVersion)
	t.Setenv("XDG_CONFIG_HOME", p.ConfigHome()) // mend reads the settings of the program
	page, _ := os.ReadFile(providersPage)       // without it, checkPage fails
	m, cells := providerMatrix{}, providerCells(string(page))
	for i, setting := range providerSettings() {
		t.Run(setting, func(t *testing.T) {
			for _, k := range providerKinds(!testing.Short()) {
				row := cells[k.Name]
				again := row != nil && k.Name != "none" && slices.Contains(row[:i], row[i])
				if testing.Short() && (!damage.Everyday(k.Name) || again) {
					continue
				}
				t.Run(k.Name, func(t *testing.T) {
					m.put(k.Name, setting, providerTrial{t, p, setting}.run(k))
					if *update {
						m.checkPage(t) // a stopped run keeps its results
					}
				})
			}
		})
	}
	m.checkPage(t)
}

// A providerTrial damages one session of a setting, repairs it, and prompts the real program.
type providerTrial struct {
	*testing.T
	*opencode.ProviderRunner
	setting string
}

// onlyProviderKnows reports whether nothing stored shows that the request breaks the rule.
func onlyProviderKnows(rule string) bool {
	return slices.Contains([]string{"R7", "R8", "O8", "O10", "G8", "B9"}, rule)
}

// isUnseen reports whether nothing stored shows the damage: ids of items are sent only with the option store,
// and only a download shows that a link is broken.
func (c providerTrial) isUnseen(k damage.ProviderKind, r opencode.ProviderResult) bool {
	return k.Unseen && c.setting == "openai-store" || strings.HasPrefix(r.Message(), "Failed to download ")
}

// run returns a short description of the result.
func (c providerTrial) run(k damage.ProviderKind) string {
	dir := storetest.FastDir(c.T)
	session := c.Store.Base[c.setting]
	path, err := c.Store.Write(dir, session)
	if err != nil {
		c.Fatal(err)
	}
	ts := &testStore{T: c.T, version: *providersVersion, session: session, data: dir, path: path, journal: filepath.Join(dir, "journal")}
	whole := ts.snapshot()
	damage.Edit(c.T, path, session, k.Apply)
	damaged := ts.snapshot()
	if gocmp.Equal(whole, damaged) && !k.OtherAccount && k.Name != "none" {
		return damage.NoChange
	}
	if k.OtherAccount {
		c.API.SetAccount("orgB")
		defer c.API.SetAccount("orgA")
	}
	before := c.prompt(ts)
	if !c.isUnseen(k, before) {
		c.checkPrediction(before, ts.scan())
	}
	if before.Verdict == opencode.Alive {
		if ts.repair(c); !gocmp.Equal(damaged, ts.snapshot()) {
			c.Errorf("mend fix changed a session that works:\n%s", gocmp.Diff(damaged, ts.snapshot()))
		}
		return before.Verdict
	}
	outcome := before.Verdict + ", " + c.repair(ts, k, before)
	if gocmp.Equal(damaged, ts.snapshot()) {
		return outcome
	}
	if code, out := ts.mend("undo", "--yes", "--session", session); code != frame.ExitDone {
		c.Errorf("mend undo: exit code %d:\n%s", code, out)
	}
	if diff := gocmp.Diff(damaged, ts.snapshot()); diff != "" {
		c.Errorf("undo did not restore the store (-want +got):\n%s", diff)
	}
	return outcome
}

func (c providerTrial) prompt(ts *testStore) opencode.ProviderResult {
	c.Helper()
	r, err := c.Try(ts.data, ts.session)
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// checkPrediction compares the result of mend scan with the behaviour of the real program and its provider.
func (c providerTrial) checkPrediction(real opencode.ProviderResult, said scanResult) {
	c.Helper()
	if !onlyProviderKnows(real.Verdict) {
		checkProviderFate(c.T, c.setting, real.Verdict, real.Message(), said)
	}
}

// repair repairs until the real program works, and describes how.
func (c providerTrial) repair(ts *testStore, k damage.ProviderKind, before opencode.ProviderResult) string {
	c.Helper()
	last, how := before, "fixed"
	args := []string(nil)
	if isVendorRule(before.Verdict, c.setting) {
		args, how = []string{"--at-risk"}, "fixed with --at-risk"
	}
	if ts.repair(c, args...) {
		last = c.prompt(ts)
	}
	for range 3 {
		message := last.Message()
		if last.Verdict == opencode.Alive || message == "" {
			break
		}
		if !onlyProviderKnows(last.Verdict) && !c.isUnseen(k, last) {
			c.Errorf("after mend fix the real program is %s %s, before it was %s", last.Verdict, message, before.Verdict)
		}
		how = "fixed by its error"
		if !ts.repair(c, "--error", message) {
			break
		}
		last = c.prompt(ts)
	}
	if last.Verdict != opencode.Alive {
		c.Errorf("after the repair the real program is %s %s, before it was %s; its reply:\n%.600s", last.Verdict, last.Message(), before.Verdict, last.Output)
		return "not fixed"
	}
	return how
}

// repair runs mend fix, and reports whether it changed anything.
func (ts *testStore) repair(c providerTrial, args ...string) bool {
	c.Helper()
	before := ts.snapshot()
	code, out := ts.mend(append([]string{"repair", ts.session, "--yes"}, args...)...)
	if code != frame.ExitDone && code != frame.ExitProblems {
		c.Errorf("mend fix %s: exit code %d:\n%s", strings.Join(args, " "), code, out)
	}
	return !gocmp.Equal(before, ts.snapshot())
}

// TestProvidersStore: mend scan reports what the real program does with the option store of OpenAI, whether a project
// or the administrator sets it.
func TestProvidersStore(t *testing.T) {
	storetest.Long(t)
	managed := t.TempDir()
	t.Setenv("OPENCODE_TEST_MANAGED_CONFIG_DIR", managed)
	p := opencode.ServeProviders(t, pageVersion, "OPENCODE_TEST_MANAGED_CONFIG_DIR="+managed)
	t.Setenv("XDG_CONFIG_HOME", p.ConfigHome())
	const (
		modelOff = `"provider": {"openai": {"models": {"gpt-5-store": {"options": {"store": false}}}}}`
		modelOn  = `"provider": {"openai": {"models": {"gpt-5-store": {"options": {"store": true}}}}}`
	)
	k := damage.ProviderTable[slices.IndexFunc(damage.ProviderTable, func(k damage.ProviderKind) bool { return k.Name == "reasoning deleted" })]
	for _, c := range []struct{ name, settings, managed, want string }{
		{"model on", modelOn, "", "O3"},
		{"model off", modelOff, "", opencode.Alive},
		{"provider on", `"provider": {"openai": {"options": {"store": true}, "models": {"gpt-5-store": {"options": {"store": false}}}}}`, "", opencode.Alive},
		{"managed on", modelOff, modelOn, "O3"}, // last: it stays
	} {
		t.Run(c.name, func(t *testing.T) {
			trial := providerTrial{t, p, "openai-store"}
			dir, project := storetest.FastDir(t), t.TempDir()
			session := p.Store.Base[trial.setting]
			path, err := p.Store.Write(dir, session)
			if err != nil {
				t.Fatal(err)
			}
			damage.Edit(t, path, session, k.Apply)
			damage.SQL(t, path)("update session set directory = ?", project)
			for name, text := range map[string]string{filepath.Join(project, "opencode.json"): c.settings, filepath.Join(managed, "opencode.json"): c.managed} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(name, []byte("{"+text+"}"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			ts := &testStore{T: t, version: pageVersion, session: session, data: dir, path: path, journal: filepath.Join(dir, "journal")}
			real := trial.prompt(ts)
			if real.Verdict != c.want {
				t.Errorf("the real program is %s %s, want %s; its reply:\n%.600s", real.Verdict, real.Message(), c.want, real.Output)
			}
			trial.checkPrediction(real, ts.scan())
		})
	}
}

type providerMatrix map[string]map[string]string

func (m providerMatrix) put(name, setting, outcome string) {
	if m[name] == nil {
		m[name] = map[string]string{}
	}
	m[name][setting] = outcome
}

// notRun is the cell of a kind of damage that was not tested yet.
const notRun = "not run"

const providersHead = `# Damages and providers

Each damage in a session of each provider, with the real OpenCode ` + pageVersion + ` and strict endpoints on loopback: whether the next prompt is answered
(alive), refused (the code of the rule in [providers.md](../../../docs/providers.md)), never sent (dead), or asked again and again (endless), and what ` + "`mend fix`" + ` makes of it. *fixed by
its error*: only the provider can know, and ` + "`mend fix --error`" + ` with its text helps. *fixed with --at-risk*: only some vendors refuse. A dash: the
damage changes nothing there. ` + "`make e2e-providers`" + ` writes this page.

`

// table returns the page with the new cells of m, and the cells that differ.
func (m providerMatrix) table(was string) (page string, differ []string) {
	settings := providerSettings()
	had := providerCells(was)
	var b strings.Builder
	b.WriteString(providersHead + "| damage | " + strings.Join(settings, " | ") + " |\n|" + strings.Repeat("---|", 1+len(settings)) + "\n")
	for _, k := range providerKinds(true) {
		row := make([]string, len(settings))
		for i, setting := range settings {
			row[i] = notRun
			if old := had[k.Name]; old != nil {
				row[i] = old[i]
			}
			now := m[k.Name][setting]
			if now != "" && now != row[i] && row[i] != notRun {
				differ = append(differ, fmt.Sprintf("%s with %s: %s, the page: %s", k.Name, setting, now, row[i]))
			}
			row[i] = cmp.Or(now, row[i])
		}
		if slices.ContainsFunc(row, func(cell string) bool { return cell != notRun }) {
			fmt.Fprintf(&b, "| %s | %s |\n", k.Name, strings.Join(row, " | "))
		}
	}
	return b.String(), differ
}

// checkPage compares the results with the page. With -update it writes them.
func (m providerMatrix) checkPage(t *testing.T) {
	t.Helper()
	was, err := os.ReadFile(providersPage)
	if err != nil && !*update {
		t.Fatal(err)
	}
	page, differ := m.table(string(was))
	switch {
	case *update && *providersVersion == pageVersion:
		if err := os.WriteFile(providersPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	case *providersVersion != pageVersion:
		t.Logf("other than with %s:\n%s", pageVersion, strings.Join(differ, "\n"))
	case len(differ) > 0:
		t.Errorf("%s differs from the results; -update writes it:\n%s", providersPage, strings.Join(differ, "\n"))
	}
}
