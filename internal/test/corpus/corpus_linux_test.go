package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/internal/test/storetest"
)

// A refusal is a step that the current program refuses although the frozen one accepted it.
type refusal struct {
	step   string // the case, its state and the command: "rows18-trim done: mend undo qevajo --yes"
	output string // a part of the output
	reason string // a sentence that is also in CHANGELOG.md
}

// formerExport is the error for an export of the frozen program.
const formerExport = "export 1 of format 1: this mend knows 2 and 1"

// refusals are all refusals of the current program.
var refusals = []refusal{}

// The minimum size of the corpus.
const (
	fewestCases   = 84
	fewestEntries = 500
)

// wholeCases are the cases that a plain run tests in each state: a change is done, undone, cut at three calls, and in
// conflict, in a store of each kind.
var wholeCases = []string{"tree-repair-order", "rows18-conflict", "lines-repair-order", "codex-conflict"}

// TestFrozen: the current program lists, shows, verifies and reverts everything that the frozen one wrote. A plain run tests
// wholeCases, and of each verb the first case: what it has done, without an export, and what it can restore.
func TestFrozen(t *testing.T) {
	if *makeWith != "" {
		t.Skip("-make")
	}
	lockScratch(t)
	program := buildMend(t)
	cases := readCases(t)
	entries := 0
	for _, c := range cases {
		for _, s := range c.States {
			entries += len(s.Entries)
		}
	}
	if len(cases) < fewestCases || entries < fewestEntries {
		t.Fatalf("the corpus has %d cases with %d entries, want at least %d with %d", len(cases), entries, fewestCases, fewestEntries)
	}
	checkRefusals(t, cases)
	checkControls(t, cases, program)
	tried := map[string]bool{} // by verb
	for _, c := range cases {
		_, verb, _ := strings.Cut(c.name, "-")
		whole := storetest.AllCases() || slices.Contains(wholeCases, c.name)
		if !whole && tried[verb] {
			continue
		}
		tried[verb] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			newPlayer(t, c, program).playAll(whole)
		})
	}
}

func buildMend(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "mend")
	if err := storetest.Build("mend/cmd/mend", program, []string{"CGO_ENABLED=0"}); err != nil {
		t.Fatal(err)
	}
	return program
}

// readCases reads all archives and compares them with corpus.sum.
func readCases(t *testing.T) (cases []*frozenCase) {
	t.Helper()
	sums, err := os.ReadFile(sumFile)
	if err != nil {
		t.Fatal(err)
	}
	zr, err := newDecoder(readDictionary(t))
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	names, _ := filepath.Glob("testdata/*.tar.zst")
	for line := range strings.Lines(string(sums)) {
		name := strings.Split(line, "\t")[1]
		path := filepath.Join("testdata", name+".tar.zst")
		names = slices.DeleteFunc(names, func(n string) bool { return n == path })
		archive, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := unpack(name, archive, zr)
		if err != nil {
			t.Fatal(err)
		}
		if got := sumLine(c, archive); got != line {
			t.Errorf("%s has changed:\ngot  %swant %s", path, got, line)
		}
		cases = append(cases, c)
	}
	if len(names) > 0 {
		t.Errorf("%s has no lines for %q", sumFile, names)
	}
	return cases
}

// checkRefusals checks that each refusal names a step, and that its reason is in CHANGELOG.md.
func checkRefusals(t *testing.T, cases []*frozenCase) {
	t.Helper()
	changes, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Join(strings.Fields(string(changes)), " ")
	steps := map[string]bool{}
	for _, c := range cases {
		for _, s := range c.States {
			for _, run := range s.Runs {
				for _, st := range run {
					steps[c.stepName(s, st)] = true
				}
			}
		}
	}
	for _, r := range refusals {
		if !steps[r.step] || r.output == "" || len(r.reason) < 20 || !strings.Contains(plain, r.reason) {
			t.Errorf("a refusal names no step, or its reason is not in CHANGELOG.md: %+v", r)
		}
	}
}

func (c *frozenCase) stepName(s state, st step) string {
	return fmt.Sprintf("%s %s: %s", c.name, s.Name, command(st.Args))
}

// A player runs the current program on one case.
type player struct {
	*runner
	*frozenCase
	stores map[string]map[string]string // content of the store, by state
}

func newPlayer(t *testing.T, c *frozenCase, program string) *player {
	p := &player{newRunner(t, c.name).withProgram(program), c, map[string]map[string]string{}}
	for _, s := range c.States {
		if strings.HasPrefix(s.Name, "cut") {
			continue
		}
		store, err := snapshotFiles(c.files[s.Name], c.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		p.stores[s.Name] = store
	}
	if isFinal := c.state("undone") == nil; maps.Equal(p.stores["before"], p.stores["done"]) != isFinal {
		t.Fatalf("the verb cannot be undone: %t, but it changes the store: %t", isFinal, isFinal)
	}
	return p
}

func (p *player) unpack(state string) {
	p.Helper()
	if err := writeHome(p.home, p.files[state]); err != nil {
		p.Fatal(err)
	}
}

// must runs a command that has to succeed.
func (p *player) must(args ...string) (out string) {
	p.Helper()
	code, out, errOut := p.run(args...)
	if code != 0 {
		p.Errorf("%s: exit code %d:\n%s%s", command(args), code, out, errOut)
	}
	return out
}

// playAll plays each state, or only what is done and what can be restored.
func (p *player) playAll(whole bool) {
	for i, s := range p.States {
		isPending, isRestore := strings.HasPrefix(s.Name, "cut"), i == 0 && len(s.Runs) > 0
		if !whole && s.Name != "done" && !isRestore {
			continue
		}
		if isPending != (len(s.Entries) > 0 && s.Entries[0].State == "pending") {
			p.Fatalf("%s: the newest entry does not fit the name: %+v", s.Name, s.Entries)
		}
		p.unpack(s.Name)
		if got := p.entries(); !slices.Equal(got, s.Entries) {
			p.Errorf("%s lists\n%+v, want\n%+v", s.Name, got, s.Entries)
		}
		if s.Name == "done" || s.Name == "conflicted" {
			p.look(s, whole)
		}
		for i, run := range s.Runs {
			if i > 0 {
				p.unpack(s.Name)
			}
			p.play(s, run)
			p.must("verify")
		}
		if p.Failed() {
			return
		}
	}
}

// look shows each entry and, if whole is set, verifies an export of the journal.
func (p *player) look(s state, whole bool) {
	p.Helper()
	for _, e := range s.Entries {
		if out := p.must("show", e.ID); !strings.Contains(out, e.ID) {
			p.Errorf("%s: the output of mend show %s does not name the entry:\n%s", s.Name, e.ID, out)
		}
	}
	if s.Name == "done" && whole {
		if code, out, errOut := p.run("verify", exportName); code != 4 || !strings.Contains(errOut, formerExport) {
			p.Errorf("verify of the frozen export: exit code %d, want 4 and %q:\n%s%s", code, formerExport, out, errOut)
		}
		p.removeExport()
		p.must("log", "--export", exportName, "--with-bytes")
		p.must("verify", exportName)
	}
}

// removeExport removes the frozen export, because mend overwrites no file.
func (p *player) removeExport() {
	if err := os.Remove(filepath.Join(p.home, exportName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Fatal(err)
	}
}

// play runs commands, and compares the store after each.
func (p *player) play(s state, run []step) {
	p.Helper()
	store := p.snapshot(p.Bytes)
	for _, st := range run {
		name := p.stepName(s, st)
		code, out, errOut := p.run(st.Args...)
		now := p.snapshot(p.Bytes)
		if i := slices.IndexFunc(refusals, func(r refusal) bool { return r.step == name }); i >= 0 || st.Refused {
			if code == 0 || i >= 0 && !strings.Contains(out+errOut, refusals[i].output) {
				p.Errorf("%s: exit code %d, want a refusal:\n%s%s", name, code, out, errOut)
			}
			if !maps.Equal(now, store) {
				p.Errorf("%s is refused and changes the store:\n%s", name, differences(store, now))
			}
			return
		}
		if code != 0 && code != 1 { // 1: something else remains to be repaired
			p.Errorf("%s: exit code %d:\n%s%s", name, code, out, errOut)
			return
		}
		want := st.Want
		if want == settled {
			if want = p.requiredState(s); want == "before" {
				run = nil
			}
		}
		wanted := p.stores[want]
		if s.Name == "before" && want == "done" {
			wanted = withoutHistory(wanted, now)
		}
		if !maps.Equal(now, wanted) {
			p.Errorf("%s: the store differs from the state %s:\n%s", name, want, differences(wanted, now))
			return
		}
		if run == nil { // the next steps would revert a change that was not made
			return
		}
		store = now
	}
}

// withoutHistory returns the store without the rows that Codex shows of a session, if now has none of them. The current
// program deletes these rows when it changes a rollout, so that Codex derives them again. The frozen one did not.
func withoutHistory(store, now map[string]string) map[string]string {
	isHistory := func(key, _ string) bool { return strings.HasPrefix(key, ".codex/thread_history_1.sqlite thread_") }
	for key := range now {
		if isHistory(key, "") {
			return store
		}
	}
	store = maps.Clone(store)
	maps.DeleteFunc(store, isHistory)
	return store
}

// requiredState returns the state that the store must have, according to the entry that was pending.
func (p *player) requiredState(s state) string {
	p.Helper()
	id := s.Entries[0].ID
	es := p.entries()
	i := slices.IndexFunc(es, func(e entry) bool { return e.ID == id })
	if i < 0 {
		p.Fatalf("%s: entry %s is gone", s.Name, id)
	}
	switch es[i].State {
	case "committed":
		return "done"
	case "aborted":
		return "before"
	}
	p.Fatalf("%s: entry %s is %s after recovery", s.Name, id, es[i].State)
	return ""
}

// checkControls checks that the test detects a changed byte in a journal, an export or a store.
func checkControls(t *testing.T, cases []*frozenCase, program string) {
	t.Helper()
	c := cases[slices.IndexFunc(cases, func(c *frozenCase) bool { return c.name == "tree-repair-order" })]
	for _, control := range []struct {
		file, old, new string
		args           []string
	}{
		{".local/state/mend/journal.db", `"kind":"begin"`, `"kind":"begim"`, []string{"verify"}},
		{exportName, `\"kind\":\"begin\"`, `\"kind\":\"begim\"`, []string{"verify", exportName}},
		{".local/share/opencode/storage/part", "[user interrupted]", "[user interrupter]", []string{"undo", "qevajo", "--yes"}},
	} {
		p := newPlayer(t, c, program)
		p.unpack("done")
		p.removeExport()
		p.must("log", "--export", exportName)
		changed := 0
		for _, f := range c.files["done"] {
			name := filepath.Join(p.home, f.name)
			if !strings.HasPrefix(f.name, control.file) || !f.mode.IsRegular() {
				continue
			}
			data, err := os.ReadFile(name)
			if bytes.Contains(data, []byte(control.old)) {
				changed++
				err = os.WriteFile(name, bytes.ReplaceAll(data, []byte(control.old), []byte(control.new)), f.mode.Perm())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if changed == 0 {
			t.Errorf("no file %s has %q", control.file, control.old)
		}
		if code, out, errOut := p.run(control.args...); code < 3 {
			t.Errorf("%s accepts a changed %s, exit code %d:\n%s%s", command(control.args), control.file, code, out, errOut)
		}
		if isStore := control.args[0] == "undo"; maps.Equal(p.snapshot(c.Bytes), p.stores["done"]) == isStore {
			t.Errorf("the comparison of stores is wrong about a change of %s", control.file)
		}
	}
}
