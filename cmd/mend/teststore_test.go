package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// fixtures are the archives of [damage.Versions].
var fixtures = [...][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833}

// A testStore is the fixture of a version, with a journal.
type testStore struct {
	*testing.T
	version string
	session string
	data    string // the data directory
	path    string // the tree or the database
	journal string
}

func newTestStore(t *testing.T, version int) *testStore {
	t.Helper()
	return newTestStoreIn(t, version, storetest.FastDir(t))
}

func newTestStoreIn(t *testing.T, version int, dir string) *testStore {
	t.Helper()
	id, err := testdata.Unpack(fixtures[version], dir)
	if err != nil {
		t.Fatal(err)
	}
	ts := &testStore{T: t, version: damage.Versions[version], session: id, data: filepath.Join(dir, "opencode"), journal: filepath.Join(dir, "journal")}
	ts.path = filepath.Join(ts.data, "opencode.db")
	if _, err := os.Stat(ts.path); err != nil {
		ts.path = filepath.Join(ts.data, "storage")
	}
	return ts
}

func (ts *testStore) store() damage.Store { return openStore(ts, ts.path, ts.session) }

// damage applies the damage of a row of the table.
func (ts *testStore) damage(w damage.Kind) { damage.Edit(ts, ts.path, ts.session, w.Apply) }

// records returns the messages and the parts, in the order of the request.
func (ts *testStore) records() []damage.Record {
	messages, parts := ts.store().Records()
	return slices.Concat(messages, parts)
}

func (ts *testStore) snapshot() map[string]string {
	ts.Helper()
	all, err := damage.Snapshot(ts.path)
	if err != nil {
		ts.Fatal(err)
	}
	return all
}

// mend runs mend on the store, for the version of the fixture. It returns the exit code and the output.
func (ts *testStore) mend(args ...string) (int, string) {
	ts.Helper()
	return runMend(ts.T, ts.path, ts.journal, append(args, "--agent-version", ts.version)...)
}

func runMend(t *testing.T, store, journal string, args ...string) (int, string) {
	t.Helper()
	return runMendHere(t, &bytes.Buffer{}, journal, append(args, "--store", store)...)
}

// runMendHere runs mend on the stores that it finds, with a standard input.
func runMendHere(t *testing.T, in io.Reader, journal string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	a := &frame.Env{Terminal: &term.Terminal{In: in, Out: &out, Err: &out}}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = journal, filepath.Join(journal, "cache")
	root.SetArgs(args)
	return a.Report(root.ExecuteContext(t.Context())), out.String()
}

func (ts *testStore) runJSON(answer any, args ...string) (code int, out string) {
	ts.Helper()
	code, out = ts.mend(append(args, "--json")...)
	_, text, _ := strings.Cut(out, "{") // notes may be before it
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(answer); err != nil {
		ts.Fatalf("mend %s: %v:\n%s", strings.Join(args, " "), err, out)
	}
	return code, out
}

// A scanResult is what mend scan reports for the session.
type scanResult struct {
	severity  string // "healthy" or the severity of the worst diagnosis
	busy      bool   // an agent may be writing the session
	diagnoses []diagnosis
	out       string // the whole answer
}

type diagnosis struct{ Rule, Severity, Record, Why string }

func (s scanResult) hasBroken(rule string) bool {
	return slices.ContainsFunc(s.diagnoses, func(d diagnosis) bool { return d.Severity == "broken" && d.Rule == rule })
}

// hasRule reports whether a finding of the rule is broken or latent.
func (s scanResult) hasRule(rule string) bool {
	return slices.ContainsFunc(s.diagnoses, func(d diagnosis) bool { return d.Severity != "note" && d.Rule == rule })
}

func (ts *testStore) scan() scanResult {
	ts.Helper()
	var answer struct {
		Sessions []struct {
			Severity  string
			Busy      bool
			Diagnoses []diagnosis
		}
	}
	code, out := ts.runJSON(&answer, "scan", ts.session)
	if len(answer.Sessions) != 1 {
		ts.Fatalf("mend scan reports %d sessions:\n%s", len(answer.Sessions), out)
	}
	s := scanResult{answer.Sessions[0].Severity, answer.Sessions[0].Busy, answer.Sessions[0].Diagnoses, out}
	if want := map[bool]int{true: frame.ExitProblems, false: frame.ExitDone}[s.severity == "broken"]; code != want {
		ts.Errorf("mend scan: exit code %d for a %s session, want %d", code, s.severity, want)
	}
	return s
}

// firstViolation returns the first rule that the next request will break according to mend, or "".
func (ts *testStore) firstViolation() string {
	ts.Helper()
	var answer struct{ Violations []struct{ Rule string } }
	ts.runJSON(&answer, "scan", ts.session, "--request")
	if len(answer.Violations) == 0 {
		return ""
	}
	return answer.Violations[0].Rule
}

// copySession adds a copy of the session to a tree, with its damage and with another title. It returns the id of the
// copy, which ends with the number.
func (ts *testStore) copySession(number int, title string) string {
	ts.Helper()
	id := regexp.MustCompile(`\b(ses|msg|prt)_(\w{23})\w{3}\b`)
	rename := func(s string) string { return id.ReplaceAllString(s, fmt.Sprintf("${1}_${2}%03d", number)) }
	messages, _ := ts.store().Records()
	mine := []string{ts.session}
	for _, m := range messages {
		mine = append(mine, m.ID)
	}
	err := filepath.WalkDir(ts.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.ContainsFunc(mine, func(id string) bool { return strings.Contains(path, id) }) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := rename(string(data))
		if filepath.Base(path) == ts.session+".json" {
			quoted, _ := json.Marshal(title) // strings always marshal
			text = strings.Replace(text, `"A title"`, string(quoted), 1)
		}
		path = filepath.Join(ts.path, rename(strings.TrimPrefix(path, ts.path)))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
	if err != nil {
		ts.Fatal(err)
	}
	return rename(ts.session)
}

func (ts *testStore) kind(name string) damage.Kind {
	return damage.Kind{Name: name, Apply: damage.ByName(ts, name)}
}

// asking runs mend on the store as on a terminal on which the user types the text in. It returns the exit code, the
// output and the error output.
func (ts *testStore) asking(in string, width int, args ...string) (code int, out, errs string) {
	ts.Helper()
	var o, e bytes.Buffer
	a := &frame.Env{Terminal: &term.Terminal{In: strings.NewReader(in), Out: &o, Err: &e, CanAsk: true, Width: width}}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = ts.journal, filepath.Join(ts.journal, "cache")
	root.SetArgs(append(args, "--store", ts.path))
	code = a.Report(root.ExecuteContext(ts.Context()))
	return code, o.String(), e.String()
}
