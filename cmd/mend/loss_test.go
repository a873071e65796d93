package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/storetest"
)

const lossGolden = "testdata/losses.golden"

// TestLosses: each fix makes the changes and reports the losses of testdata/losses.golden. Every other byte stays.
func TestLosses(t *testing.T) {
	storetest.Long(t)
	var found lossReport
	t.Run("of", func(t *testing.T) {
		for i, version := range damage.Versions {
			for _, w := range damage.Table {
				differs := w.Want[0] != w.Want[1] || w.Want[1] != w.Want[2]
				if i > 0 && !differs || !storetest.AllCases() && !damage.Everyday(w.Name) {
					continue // the same fix in another store
				}
				t.Run(w.Name+" on "+version, func(t *testing.T) {
					t.Parallel()
					ts := newTestStore(t, i)
					damage.Edit(ts, ts.path, ts.session, w.Apply)
					found.add(w.Name+" on "+version, ts.repairLosses())
				})
			}
		}
	})
	found.compare(t)
}

// A lossReport has the changes and losses, by damage and version.
type lossReport struct {
	mu    sync.Mutex
	pages map[string]string
}

func (l *lossReport) add(name, page string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[string]string{}
	}
	l.pages[name] = page
}

// compare compares the pages with the golden file. With -update it writes them.
func (l *lossReport) compare(t *testing.T) {
	t.Helper()
	if *update && storetest.AllCases() {
		var b strings.Builder
		for _, w := range damage.Table {
			for _, version := range damage.Versions {
				if page, ok := l.pages[w.Name+" on "+version]; ok {
					fmt.Fprintf(&b, "== %s on %s\n%s", w.Name, version, page)
				}
			}
		}
		if err := os.WriteFile(lossGolden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(lossGolden)
	if err != nil {
		t.Fatal(err)
	}
	golden := map[string]string{}
	for page := range strings.SplitSeq(string(data), "== ") {
		name, text, _ := strings.Cut(page, "\n")
		golden[name] = text
	}
	for name, page := range l.pages {
		if diff := cmp.Diff(golden[name], page); diff != "" {
			t.Errorf("%s: the fix differs from %s; with MEND_SWEEP=all, -update writes it (-golden +found):\n%s", name, lossGolden, diff)
		}
	}
}

// repairLosses repairs everything that mend finds, and false signatures, and describes the changes.
func (ts *testStore) repairLosses() string {
	ts.Helper()
	before, damaged := ts.records(), ts.snapshot()
	lines, named := ts.repairAll()
	now := ts.snapshot()
	ts.checkOnlyNamed(damaged, now, named)
	if cmp.Equal(damaged, now) {
		return "\tnothing to fix\n"
	}
	all := append(describeChanges(before, ts.records()), removedFiles(damaged, now)...)
	return "\t" + strings.Join(append(all, lines...), "\n\t") + "\n"
}

// removedFiles returns the names of the files that were moved away and are not records.
func removedFiles(before, now map[string]string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		id, isRecord := strings.CutSuffix(path.Base(name), ".json")
		isRecord = isRecord && change.ValidateID(id) == nil
		if _, left := now[name]; !left && !isRecord && strings.HasPrefix(before[name], "-") {
			lines = append(lines, "move away "+path.Base(name))
		}
	}
	return lines
}

// repairAll repairs everything, including a false signature that only the error of the provider names. It returns the
// reported losses and the ids of the changed records. It uses --force, because a session with an unfinished answer is
// busy if an agent runs on this machine.
func (ts *testStore) repairAll() (loses, named []string) {
	ts.Helper()
	args := []string{"repair", ts.session, "--force", "--yes", "--latent"}
	for {
		_, out := ts.mend(append(args, "--dry-run", "-v")...)
		for line := range strings.Lines(out) {
			if _, what, ok := strings.Cut(strings.TrimSpace(line), "lost: "); ok && !slices.Contains(loses, "loses: "+what) {
				loses = append(loses, "loses: "+what)
			}
		}
		var answer struct {
			Repairs []struct{ Ops []struct{ Record string } }
		}
		ts.runJSON(&answer, args...)
		for _, r := range answer.Repairs {
			for _, op := range r.Ops {
				named = append(named, path.Base(op.Record))
			}
		}
		refused := ts.signatureError()
		if refused == "" || slices.Contains(args, refused) {
			return loses, named
		}
		args = []string{"repair", ts.session, "--force", "--yes", "--error", refused}
	}
}

// signatureError returns the error of the strict endpoint for a false signature in the predicted request, or "".
func (ts *testStore) signatureError() string {
	ts.Helper()
	var answer struct {
		Request struct {
			Turns []struct {
				Role    string
				Content []struct {
					Type, Text string
					Signature  *string
				}
			}
		}
	}
	ts.runJSON(&answer, "scan", ts.session, "--request", "--thinking", "on")
	var q endpoint.Request
	for _, turn := range answer.Request.Turns {
		m := endpoint.Message{Role: turn.Role}
		for _, b := range turn.Content {
			m.Content = append(m.Content, endpoint.Block{Type: b.Type, Thinking: b.Text, Signature: b.Signature})
		}
		q.Messages = append(q.Messages, m)
	}
	for _, v := range endpoint.Violations(q) {
		if v.Rule == "R7" {
			return v.Message
		}
	}
	return ""
}

// checkOnlyNamed checks that only records that mend names are changed.
func (ts *testStore) checkOnlyNamed(before, after map[string]string, named []string) {
	ts.Helper()
	for _, store := range []map[string]string{before, after} {
		for key := range store {
			old, existed := before[key]
			now, exists := after[key]
			isNamed := slices.ContainsFunc(named, func(id string) bool { return strings.Contains(key, id) })
			if (old != now || existed != exists) && !isNamed {
				ts.Errorf("%s is changed, and mend names only %q", key, named)
			}
		}
	}
}
