package corpus

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/internal/test/faulttest"
	"mend/internal/test/storetest"
)

var (
	makeWith = flag.String("make", "", "the `program` that writes the cases that are missing")
	fixtures = flag.String("fixtures", "", "the `folder` with codex-0.169.0.tar.gz, for cases of Codex")
)

// A recipe describes how to make a case. In its arguments SESSION, HOME, ENTRY and FIRST stand for the session, the home, the
// newest entry and the oldest.
type recipe struct {
	name    string
	store   string
	start   func(m *maker)
	setup   [][]string     // commands before the verb
	damage  func(m *maker) // after setup; may be nil
	verb    []string
	input   func(m *maker) string // the verb's standard input; may be nil
	bytes   bool                  // see frozenCase.Bytes
	back    []string              // reverts the verb; nil: undo of the operation
	forth   []string              // repeats the verb; nil: redo of the operation
	again   bool                  // the present program's verb must do the same
	gone    bool                  // the verb deletes the images: nothing can be undone
	uncut   bool                  // without cuts, because the verb makes several entries
	foreign func(m *maker)        // a write of another program after the last cut; nil: no conflict
}

// A maker makes one case with the frozen program.
type maker struct {
	*runner
	recipe
	program  faulttest.Program
	commands int
	session  string
}

// TestMake writes the missing cases.
func TestMake(t *testing.T) {
	if *makeWith == "" {
		t.Skip("no -make")
	}
	lockScratch(t)
	filtered := filepath.Join(t.TempDir(), "filtered")
	if err := storetest.Build("mend/internal/test/faulttest/filtered", filtered, []string{"CGO_ENABLED=0"}); err != nil {
		t.Fatal(err)
	}
	dictionary := readDictionary(t)
	for _, r := range recipes() {
		path := filepath.Join("testdata", r.name+".tar.zst")
		if _, err := os.Stat(path); err == nil {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			m := &maker{runner: newRunner(t, r.name), recipe: r}
			m.program = faulttest.Program{Path: *makeWith, Filtered: filtered, Dir: m.home, Env: m.env()}
			m.run = func(args ...string) (int, string, string) {
				m.commands++
				got := m.faulty(faulttest.Fault{}, m.commands, args...)
				return got.Code, got.Out, got.Err
			}
			c := m.make()
			archive, err := c.pack(dictionary)
			if err == nil {
				err = errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, archive, 0o644), addSum(c, archive))
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d bytes, %s", path, len(archive), c.describe())
		})
	}
}

// sumFile has a line for each case: the SHA-256 of its archive, its name and its states.
const sumFile = "testdata/corpus.sum"

func (c *frozenCase) describe() string {
	var all []string
	for _, s := range c.States {
		var states []string
		for _, e := range s.Entries {
			states = append(states, e.Cause+" "+e.State)
		}
		all = append(all, s.Name+": "+cmp.Or(strings.Join(states, ", "), "none"))
	}
	return strings.Join(all, "; ")
}

func sumLine(c *frozenCase, archive []byte) string {
	return fmt.Sprintf("%x\t%s\t%s\n", sha256.Sum256(archive), c.name, c.describe())
}

func addSum(c *frozenCase, archive []byte) error {
	data, err := os.ReadFile(sumFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(sumFile, append(data, sumLine(c, archive)...), 0o644)
}

// faulty runs the program with a fault. Its clock depends on the number of the command, and its random numbers on its
// arguments, so that a repeated run leaves the same bytes.
func (m *maker) faulty(f faulttest.Fault, number int, args ...string) faulttest.Result {
	m.Helper()
	m.program.Now = frozenTime.Add(time.Duration(number) * time.Minute)
	got, err := m.program.Run(m.Context(), f, m.args(args)...)
	if err != nil {
		m.Fatal(err)
	}
	return got
}

func (m *maker) args(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.NewReplacer("SESSION", m.session, "HOME", m.home).Replace(a)
	}
	return args
}

// mustRun runs a command that has to exit with one of the codes.
func (m *maker) mustRun(codes []int, args ...string) {
	m.Helper()
	code, out, errOut := m.run(args...)
	if !slices.Contains(codes, code) {
		m.Fatalf("%s: exit code %d:\n%s%s", command(m.args(args)), code, out, errOut)
	}
	m.Logf("%s: exit code %d:\n%s%s", command(m.args(args)), code, out, errOut)
}

// runWithInput runs the verb with its standard input, and without a fixed clock.
func (m *maker) runWithInput(verb []string) {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), m.program.Path, verb...)
	cmd.Env, cmd.Dir, cmd.Stdin = m.env(), m.home, strings.NewReader(m.input(m))
	if out, err := cmd.CombinedOutput(); err != nil {
		m.Fatalf("%s: %v\n%s", command(verb), err, out)
	}
}

func (m *maker) files() []file {
	m.Helper()
	files, err := readHome(m.home)
	if err != nil {
		m.Fatal(err)
	}
	return files
}

func (m *maker) restore(files []file) {
	m.Helper()
	if err := writeHome(m.home, files); err != nil {
		m.Fatal(err)
	}
}

// ok are the exit codes of a successful command: 1 means that something else remains to be repaired.
var ok = []int{0, 1}

func (m *maker) make() *frozenCase {
	m.Helper()
	err := errors.Join(writeHome(m.home, nil), os.MkdirAll(filepath.Join(m.home, ".local", "state"), 0o700), os.Mkdir(filepath.Join(m.home, "work"), 0o700))
	if err != nil {
		m.Fatal(err)
	}
	m.start(m)
	m.restore(m.files()) // no file is newer than the program's clock
	for _, args := range m.setup {
		m.mustRun(ok, m.resolveArgs(args)...)
	}
	if m.damage != nil {
		m.damage(m)
		m.restore(m.files())
	}
	c := &frozenCase{name: m.name, Store: m.store, Bytes: m.bytes, files: map[string][]file{}}
	first := state{Name: "before", Entries: m.entries()}
	c.files["before"] = m.files()
	before := m.snapshot(m.bytes)
	verb := m.args(m.resolveArgs(m.verb))
	c.Verb = verb
	if m.again {
		first.Runs = [][]step{{{Args: verb, Want: "done"}}}
	}
	c.States = append(c.States, first)
	if m.input != nil {
		m.runWithInput(verb)
	} else {
		m.mustRun(ok, verb...)
	}
	number := m.commands
	done := m.snapshot(m.bytes)
	if maps.Equal(before, done) != m.gone {
		m.Fatalf("%s changes the store: %t, want %t", command(verb), m.gone, !m.gone)
	}
	entries := m.entries()
	if len(entries) == 0 {
		m.Fatal("the verb makes no entry")
	}
	target := m.newest(len(entries) - len(first.Entries))
	back, forth := step{Args: []string{"undo", target, "--yes"}, Want: "before"}, step{Args: []string{"redo", target, "--yes"}, Want: "done"}
	if m.back != nil {
		back.Args, forth.Args = m.resolveArgs(m.back), m.resolveArgs(m.forth)
	}
	m.mustRun(ok, "verify")
	export := []string{"log", "--export", exportName}
	if m.foreign != nil {
		export = append(export, "--with-bytes") // not all, for the size of the corpus
	}
	m.mustRun(ok, export...)
	runs := [][]step{{back, forth}}
	if m.gone {
		back.Refused, back.Want = true, "done"
		runs = [][]step{{back}}
	}
	c.add(m, state{Name: "done", Entries: entries, Runs: runs})
	if m.gone {
		return c
	}
	m.mustRun(ok, back.Args...)
	m.same("before", before)
	m.mustRun(ok, export...)
	c.add(m, state{Name: "undone", Entries: m.entries(), Runs: [][]step{{forth, back}}})
	m.mustRun(ok, forth.Args...)
	m.same("done", done)
	if !m.uncut {
		m.cut(c, number, verb, back, before, done)
	}
	return c
}

// resolveArgs replaces ENTRY and FIRST, and the other placeholders.
func (m *maker) resolveArgs(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		switch a {
		case "ENTRY":
			args[i] = m.entries()[0].ID
		case "FIRST":
			all := m.entries()
			args[i] = all[len(all)-1].ID
		}
	}
	return m.args(args)
}

// newest returns the name of the n newest entries: the id of one, or the operation of several, which is named for its first
// entry.
func (m *maker) newest(n int) string {
	all := m.entries()
	if n <= 1 { // 0: the verb made no new entry
		return all[0].ID
	}
	return "op-" + all[n-1].ID
}

func (c *frozenCase) add(m *maker, s state) {
	m.Helper()
	c.files[s.Name] = m.files()
	c.States = append(c.States, s)
}

func (m *maker) same(name string, want map[string]string) {
	m.Helper()
	if got := m.snapshot(m.bytes); !maps.Equal(got, want) {
		m.Fatalf("the store differs from the state %s:\n%s", name, differences(want, got))
	}
}

// A killedState is the state after a kill at a call.
type killedState struct {
	at     int
	call   string
	files  []file
	phase  string // before, done, or between
	digest string // of the files
}

// cut kills the verb at each call. It adds the first, a middle and the last of the states in which the entry is pending.
func (m *maker) cut(c *frozenCase, number int, verb []string, back step, before, done map[string]string) {
	m.Helper()
	old := len(c.state("before").Entries)
	var all []killedState
	for at := 1; ; at++ {
		m.restore(c.files["before"])
		r := m.faulty(faulttest.Fault{At: at, Action: faulttest.Kill}, number, verb...)
		if !r.Hit {
			break
		}
		files := m.files()
		es := m.entries()
		if len(es) == old || es[0].State != "pending" {
			continue
		}
		k := killedState{at: at, call: r.Calls[at-1].Name, files: files, phase: "between"}
		snap, err := snapshotFiles(files, m.bytes)
		switch {
		case err != nil:
		case maps.Equal(snap, before):
			k.phase = "before"
		case maps.Equal(snap, done):
			k.phase = "done"
		}
		sum := sha256.New()
		for _, f := range files {
			fmt.Fprintf(sum, "%s %o %q\n", f.name, f.mode, f.data)
		}
		k.digest = string(sum.Sum(nil))
		all = append(all, k)
	}
	if len(all) == 0 {
		m.Fatal("the entry is never pending")
	}
	var picked []killedState
	pick := func(k killedState) {
		if !slices.ContainsFunc(picked, func(p killedState) bool { return p.digest == k.digest }) {
			picked = append(picked, k)
		}
	}
	pick(all[0])
	between := slices.DeleteFunc(slices.Clone(all), func(k killedState) bool { return k.phase != "between" })
	if len(between) > 0 {
		pick(between[len(between)/2])
	} else {
		pick(all[len(all)/2])
	}
	pick(all[len(all)-1])
	for i, k := range picked {
		m.restore(k.files)
		s := state{Name: fmt.Sprint("cut ", i+1), Call: k.call, Entries: m.entries()}
		s.Runs = [][]step{{{Args: []string{"recover"}, Want: settled}, back}}
		m.restore(k.files)
		c.add(m, s)
		m.mustRun(ok, "recover")
		got := m.snapshot(m.bytes)
		outcome := "done"
		if maps.Equal(got, before) {
			outcome = "before"
		} else if !maps.Equal(got, done) {
			m.Fatalf("cut at call %d (%s): after recovery the store is neither as before nor as after:\n%s", k.at, k.call, differences(done, got))
		}
		m.Logf("%s of %d pending, call %d (%s), store %s: recovered to %s", s.Name, len(all), k.at, k.call, k.phase, outcome)
		m.mustRun(ok, "verify")
	}
	if m.foreign != nil {
		m.restore(all[len(all)-1].files)
		m.conflict(c)
	}
}

// conflict adds a state in which another program has written after the last cut, so that recovery finds a conflict.
func (m *maker) conflict(c *frozenCase) {
	m.Helper()
	m.foreign(m)
	m.mustRun([]int{3}, "recover")
	es := m.entries()
	id := es[0].ID
	s := state{Name: "conflicted", Entries: es, Runs: [][]step{
		{{Args: []string{"resolve", id, "--back", "--yes"}, Want: "before"}},
		{{Args: []string{"resolve", id, "--forward", "--yes"}, Want: "done"}},
		{{Args: []string{"resolve", id, "--keep", "--yes"}, Want: "conflicted"}},
	}}
	c.add(m, s)
}

// differences describes how two snapshots differ.
func differences(want, got map[string]string) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[name]; !ok {
			fmt.Fprintf(&b, "missing: %s\n", name)
		} else if g != want[name] {
			fmt.Fprintf(&b, "changed: %s\n\tgot  %.300q\n\twant %.300q\n", name, g, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			fmt.Fprintf(&b, "new: %s\n", name)
		}
	}
	return b.String()
}
