package real_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/real"
	"mend/internal/test/storetest"
	"mend/repair"
)

func TestMain(m *testing.M) { storetest.RunInMemory(m) }

var update = flag.Bool("update", false, "write testdata/verdicts.tsv")

// golden has the verdicts: the session, the severity and the class of a finding, and the id of its record.
const golden = "testdata/verdicts.tsv"

// A store is the store of one agent with the conversations.
type store struct {
	client *mend.Store
	heads  []change.Head
	root   string
}

func open(t *testing.T) (all []store) {
	t.Helper()
	home := t.TempDir()
	real.Unpack(t, home)
	for name, a := range map[string]agent.Agent{".claude": claude.Agent{}, ".codex": codex.Agent{}} {
		s := store{root: filepath.Join(home, name)}
		journal := mend.OpenJournal(filepath.Join(home, "journal"))
		var err error
		s.client, err = mend.Open(mend.Options{Agents: []agent.Agent{a}, Store: s.root, Journal: journal, Cache: filepath.Join(home, "cache"), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if s.heads, err = s.client.Sessions(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// now is later than all conversations.
func now() time.Time { return time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC) }

// verdicts returns the findings of each session, one line each, without those about its folder, which does not exist on
// this machine.
func (s store) verdicts(t *testing.T, heads ...change.Head) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for f := range s.client.Scan(t.Context(), heads) {
		if f.Err != nil {
			t.Errorf("examining %s: %v", f.Session.ID, f.Err)
		}
		for _, d := range f.Diagnoses {
			if d.Class != repair.MissingFolder {
				all[f.Session.ID] = append(all[f.Session.ID], fmt.Sprintf("%s\t%s\t%s\t%s", f.Session.ID, d.Severity, d.Class, d.Ref.ID()))
			}
		}
	}
	return all
}

// TestVerdicts: the findings in all conversations equal the golden file, and the damage that truth.tsv has from the
// real programs.
func TestVerdicts(t *testing.T) {
	found := map[string][]string{}
	sessions := 0
	for _, s := range open(t) {
		sessions += len(s.heads)
		maps.Copy(found, s.verdicts(t, s.heads...))
	}
	all := real.Sessions()
	if sessions != len(all) {
		t.Errorf("%d sessions are listed, want %d", sessions, len(all))
	}
	var now strings.Builder
	for _, s := range all {
		for _, line := range found[s.ID] {
			now.WriteString(line + "\n")
		}
		for _, problem := range problems(s, found[s.ID]) {
			t.Errorf("%s: %s", s.ID, problem)
		}
	}
	compare(t, now.String())
}

// problems returns the findings in a session that are not true, or missing.
func problems(s real.Session, lines []string) (all []string) {
	for _, line := range lines {
		f := strings.Split(line, "\t")
		if want := f[1] + " " + f[3]; !slices.ContainsFunc(s.Truth, func(truth string) bool { return strings.HasPrefix(want, truth) }) {
			all = append(all, fmt.Sprintf("found %q, truth is %q", want, s.Truth))
		}
	}
	for _, truth := range s.Truth {
		if !slices.ContainsFunc(lines, func(line string) bool {
			f := strings.Split(line, "\t")
			return strings.HasPrefix(f[1]+" "+f[3], truth)
		}) {
			all = append(all, fmt.Sprintf("did not find %q", truth))
		}
	}
	return all
}

// compare compares the verdicts with the golden file, and reports each that changed.
func compare(t *testing.T, now string) {
	t.Helper()
	former, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	before, after := slices.Sorted(strings.Lines(string(former))), slices.Sorted(strings.Lines(now))
	report := t.Errorf
	if *update {
		report = t.Logf
		if err := os.WriteFile(golden, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range before {
		if _, same := slices.BinarySearch(after, line); !same {
			report("no longer: %s", strings.ReplaceAll(line, "\t", "  "))
		}
	}
	for _, line := range after {
		if _, same := slices.BinarySearch(before, line); !same {
			report("new: %s", strings.ReplaceAll(line, "\t", "  "))
		}
	}
}

// TestRepairs: a broken session is repaired, and a healthy one is not changed. Undo restores every byte.
func TestRepairs(t *testing.T) {
	for _, s := range open(t) {
		before, verdicts := s.files(t), s.verdicts(t, s.heads...)
		for _, h := range s.heads {
			broken := len(brokenLines(verdicts[h.ID])) > 0
			r, err := s.client.ProposeRepair(t.Context(), h, repair.Request{})
			if err != nil {
				t.Errorf("%s: planning: %v", h.ID, err)
				continue
			}
			if len(r.Plan.Ops) == 0 {
				if broken {
					t.Errorf("%s is broken, and has no repair", h.ID)
				}
				continue
			}
			if !broken {
				t.Errorf("%s is not broken, and would be repaired: %v", h.ID, r.Fixed)
			}
			s.repairAndUndo(t, h, r.Plan, before)
		}
	}
}

func (s store) repairAndUndo(t *testing.T, h change.Head, p change.Plan, before map[string][]byte) {
	t.Helper()
	e, err := s.client.Apply(t.Context(), p)
	if err != nil {
		t.Errorf("%s: repairing: %v", h.ID, err)
		return
	}
	if left := brokenLines(s.verdicts(t, h)[h.ID]); len(left) > 0 {
		t.Errorf("%s: after the repair: %v", h.ID, left)
	}
	undo, err := s.client.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}})
	if err == nil {
		_, err = s.client.Apply(t.Context(), undo)
	}
	if err != nil {
		t.Errorf("%s: undoing: %v", h.ID, err)
	}
	after := s.files(t)
	for name, data := range before {
		if !bytes.Equal(after[name], data) {
			t.Errorf("%s: after the undo %s differs", h.ID, name)
		}
	}
}

// brokenLines returns the broken findings among the verdicts on a session.
func brokenLines(verdicts []string) []string {
	return slices.DeleteFunc(slices.Clone(verdicts), func(line string) bool { return strings.Split(line, "\t")[1] != repair.Broken.String() })
}

// files returns the conversations by their paths.
func (s store) files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		all[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
