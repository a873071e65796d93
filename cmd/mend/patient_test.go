package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/internal/storetest"
	"mend/internal/wound"
	"mend/testdata"
)

// fixtures are the archives of [wound.Versions].
var fixtures = [...][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833}

// A patient is a store with the fixture of a version, into which wounds are cut
// and on which mend works, with a journal of its own.
type patient struct {
	*testing.T
	version string
	session string
	data    string // the data directory
	path    string // the tree or the database in it
	journal string
}

func newPatient(t *testing.T, version int) *patient {
	t.Helper()
	dir := storetest.FastDir(t)
	id, err := testdata.Unpack(fixtures[version], dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{T: t, version: wound.Versions[version], session: id, data: filepath.Join(dir, "opencode"), journal: filepath.Join(dir, "journal")}
	p.path = filepath.Join(p.data, "opencode.db")
	if _, err := os.Stat(p.path); err != nil {
		p.path = filepath.Join(p.data, "storage")
	}
	return p
}

func (p *patient) store() wound.Store { return woundStore(p, p.path, p.session) }

// cut cuts a wound and reports whether there was anything to cut.
func (p *patient) cut(w wound.Wound) bool {
	whole := p.records()
	wound.Into(p, p.path, p.session, w.Cut)
	return !slices.Equal(whole, p.records())
}

// records are the messages and the parts, in the order in which they are sent.
func (p *patient) records() []wound.Record {
	messages, parts := p.store().Records()
	return slices.Concat(messages, parts)
}

func (p *patient) snapshot() map[string]string {
	p.Helper()
	all, err := wound.Snapshot(p.path)
	if err != nil {
		p.Fatal(err)
	}
	return all
}

// mend runs mend on the store, for the fixture's version, and returns the exit
// code and what it printed.
func (p *patient) mend(args ...string) (int, string) {
	p.Helper()
	return runMend(p.T, p.path, p.journal, append(args, "--agent-version", p.version)...)
}

func runMend(t *testing.T, store, journal string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{terminal: terminal{in: &bytes.Buffer{}, out: &out, err: &out}}
	root := a.root()
	a.opt.Journal, a.opt.Cache = journal, filepath.Join(journal, "cache")
	root.SetArgs(append(args, "--store", store))
	return a.report(root.ExecuteContext(t.Context())), out.String()
}

// ask runs mend with --json and reads the answer.
func (p *patient) ask(answer any, args ...string) (code int, out string) {
	p.Helper()
	code, out = p.mend(append(args, "--json")...)
	_, text, _ := strings.Cut(out, "{") // notes may stand before it
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(answer); err != nil {
		p.Fatalf("mend %s: %v:\n%s", strings.Join(args, " "), err, out)
	}
	return code, out
}

// A scan is what mend says of the patient.
type scan struct {
	severity  string // "healthy", or that of the worst diagnosis
	busy      bool   // a program that may be the agent is at work
	diagnoses []diagnosis
	out       string // all of the answer
}

type diagnosis struct{ Rule, Severity, Record, Why, Cure, Loses string }

// breaks reports whether a diagnosis of what is broken names the rule.
func (s scan) breaks(rule string) bool {
	return slices.ContainsFunc(s.diagnoses, func(d diagnosis) bool { return d.Severity == "broken" && d.Rule == rule })
}

func (p *patient) scan() scan {
	p.Helper()
	var answer struct {
		Sessions []struct {
			Severity  string
			Busy      bool
			Diagnoses []diagnosis
		}
	}
	code, out := p.ask(&answer, "scan", p.session)
	if len(answer.Sessions) != 1 {
		p.Fatalf("mend scan tells of %d sessions:\n%s", len(answer.Sessions), out)
	}
	s := scan{answer.Sessions[0].Severity, answer.Sessions[0].Busy, answer.Sessions[0].Diagnoses, out}
	if want := map[bool]int{true: exitProblems, false: exitDone}[s.severity == "broken"]; code != want {
		p.Errorf("mend scan: exit code %d of a session that is %s, want %d", code, s.severity, want)
	}
	return s
}

// forecast is the first rule that mend says the next request will break, "" for
// none.
func (p *patient) forecast() string {
	p.Helper()
	var answer struct{ Violations []struct{ Rule string } }
	p.ask(&answer, "scan", p.session, "--request")
	if len(answer.Violations) == 0 {
		return ""
	}
	return answer.Violations[0].Rule
}
