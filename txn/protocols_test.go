package txn_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/codex"
	"mend/agent/codex/rollout"
	"mend/change"
	"mend/fsstore"
	codexhome "mend/internal/test/codex"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/linestore"
	"mend/sqlstore"
	"mend/testdata"
	"mend/txn"
)

var update = flag.Bool("update", false, "write testdata/*.steps")

// A protocol is a row of the table in doc.go.
type protocol struct {
	name   string
	fields map[string]string
}

// readProtocols reads the table in doc.go.
func readProtocols(t *testing.T) (all []protocol) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(doc)) {
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "//\t")
		if !ok {
			continue
		}
		if field, ok := strings.CutPrefix(line, "  "); ok {
			name, value := field[:10], field[10:]
			all[len(all)-1].fields[strings.TrimSpace(name)] = value
			continue
		}
		name, _, _ := strings.Cut(line, ":")
		all = append(all, protocol{name, map[string]string{}})
	}
	return all
}

// recordings has a function for each protocol. It opens a store with step as its hook, and returns the ops of a run.
var recordings = map[string]func(t *testing.T, owner string, step func(string) error) (txn.Store, []change.Op){
	"files": func(t *testing.T, owner string, step func(string) error) (txn.Store, []change.Op) {
		root, paths := t.TempDir(), fsstore.Paths("notes")
		put(t, filepath.Join(root, "a"), "old")
		put(t, filepath.Join(root, "gone"), "old")
		s, err := fsstore.New(root, paths, fsstore.Options{Owner: owner, Step: step})
		return s, must(t, []change.Op{
			{Ref: paths.Ref("a"), Pre: file("old"), Post: file("new")},
			{Ref: paths.Ref("folder/b"), Post: file("new")},
			{Ref: paths.Ref("gone"), Pre: file("old")},
		}, err)
	},
	"append":  recordLines([]change.Op{{Ref: lineRef("b"), Post: file(`{"id":"b"}`)}}),
	"replace": recordLines([]change.Op{{Ref: lineRef("a"), Pre: file(`{"id":"a"}`)}}),
	"rows": func(t *testing.T, _ string, step func(string) error) (txn.Store, []change.Op) {
		at, id := dbtest.Unpack(t, "1.18.33")
		s, err := sqlstore.Open(at, []sqlstore.TableSpec{{Kind: change.KindSession, Name: "session", Columns: []string{"id", "title"}, SessionRows: `"id" = ?1`}}, sqlstore.Options{Step: step})
		return s, must(t, titleOps(t, s, change.Ref{Kind: change.KindSession, Session: id}, "title"), err)
	},
	"whole files": func(t *testing.T, owner string, step func(string) error) (txn.Store, []change.Op) {
		at, _ := dbtest.Unpack(t, "1.18.33")
		s, err := sqlstore.Open(at, nil, sqlstore.Options{Step: step})
		if err != nil {
			t.Fatal(err)
		}
		o := s.WithOwner(owner)
		b, err := o.Build(t.Context(), func(path string) error { return os.WriteFile(path, []byte("a new one"), 0o600) })
		return o, must(t, b.Ops, err)
	},
	"file with row": func(t *testing.T, owner string, step func(string) error) (txn.Store, []change.Op) {
		h := codexhome.NewHome(t, "")
		for _, d := range codexhome.Damages() {
			if d.Name == "first line NUL" {
				h.Damage(d)
			}
		}
		h.SQL("PRAGMA journal_mode = wal; CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, cwd TEXT NOT NULL DEFAULT '/w', " +
			"first_user_message TEXT NOT NULL DEFAULT 'x', preview TEXT NOT NULL DEFAULT 'x');" +
			"INSERT INTO threads (id, rollout_path) VALUES ('" + testdata.CodexSession + "', '/nowhere.jsonl')")
		s, err := codex.Agent{Step: step}.Open(agent.Located{Path: h.Root(), Layout: codex.Rollouts}, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		session := rollout.RefOf(codexhome.File, testdata.CodexSession)
		now, err := s.Read(t.Context(), []change.Ref{session})
		if err != nil {
			t.Fatal(err)
		}
		pre := &change.Image{Data: now[0].Data, Mode: linestore.Mode}
		post := &change.Image{Data: append(bytes.Clone(pre.Data), "{}\n"...), Mode: linestore.Mode}
		row := titleOps(t, s, change.Ref{Kind: change.KindIndex, Session: testdata.CodexSession}, "rollout_path")
		w, err := s.Writer(owner)
		return w, must(t, append([]change.Op{{Ref: session, Pre: pre, Post: post}}, row...), err)
	},
}

// TestProtocols: a run of each protocol in the table of doc.go makes the calls of its golden list. The calls that the
// table names come before Begin or between Begin and Finish, as it says, and the named test exists.
func TestProtocols(t *testing.T) {
	all := readProtocols(t)
	if len(all) != len(recordings) {
		t.Errorf("the table has %d rows, want one for each of the %d recordings", len(all), len(recordings))
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, field := range []string{"before", "commit", "settle", "remains", "cut by", "steps"} {
				if p.fields[field] == "" {
					t.Errorf("the row has no %q", field)
				}
			}
			steps := recordRun(t, recordings[p.name])
			wantGolden(t, filepath.Join("..", filepath.FromSlash(p.fields["steps"])), steps)
			wantTest(t, p.fields["cut by"])
			begun, finished := slices.Index(steps, "committed begin"), slices.Index(steps, "commit finish")
			if begun < 0 || finished < begun {
				t.Fatalf("the entry is begun at call %d and finished at call %d", begun, finished)
			}
			wantCalls(t, "before", p.fields["before"], steps[:begun])
			wantCalls(t, "commit", p.fields["commit"], steps[begun:finished])
		})
	}
}

// recordRun returns the calls of a run that change the disk.
func recordRun(t *testing.T, open func(*testing.T, string, func(string) error) (txn.Store, []change.Op)) (steps []string) {
	t.Helper()
	hash := regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{16}`)
	step := func(call string) error {
		steps = append(steps, hash.ReplaceAllString(call, "HASH"))
		return nil
	}
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal"), journal.Options{Step: step})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	s, ops := open(t, j.ID(), step)
	steps = nil
	p := change.Plan{Session: cmp.Or(ops[0].Ref.Session, "any"), Cause: change.Cause{Kind: change.CauseScan}, Ops: ops}
	if _, err := txn.Run(t.Context(), j, s, p); err != nil {
		t.Fatalf("Run = %v, after %q", err, steps)
	}
	for i, call := range steps {
		call = strings.ReplaceAll(call, j.ID(), "OWNER")
		if folders, ok := strings.CutPrefix(call, "barrier "); ok { // in the order of the owner's id, which is random
			names := strings.Fields(folders)
			slices.Sort(names)
			call = "barrier " + strings.Join(names, " ")
		}
		call = strings.ReplaceAll(call, testdata.CodexSession, "SESSION")
		steps[i] = regexp.MustCompile(`\d+-HASH-\d+-HASH| \d{3,}\.new| ses_\w+`).ReplaceAllString(call, " …")
	}
	return steps
}

func wantGolden(t *testing.T, name string, steps []string) {
	t.Helper()
	storetest.Golden(t, name, strings.Join(steps, "\n")+"\n", *update)
}

// wantTest checks that a test exists, named by its folder and its name.
func wantTest(t *testing.T, name string) {
	t.Helper()
	folder, test, _ := strings.Cut(name, " ")
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte("\nfunc "+test+"(")) {
			return
		}
	}
	t.Errorf("%s has no %s", folder, test)
}

// wantCalls checks that the quoted calls of a field are made, in that order.
func wantCalls(t *testing.T, field, text string, steps []string) {
	t.Helper()
	at := 0
	for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		i := slices.IndexFunc(steps[at:], func(call string) bool { return strings.HasPrefix(call, m[1]) })
		if i < 0 {
			t.Errorf("%s: no call %q in %q", field, m[1], steps[at:])
			return
		}
		at += i + 1
	}
}

func recordLines(ops []change.Op) func(*testing.T, string, func(string) error) (txn.Store, []change.Op) {
	return func(t *testing.T, owner string, step func(string) error) (txn.Store, []change.Op) {
		root := storetest.FastDir(t)
		put(t, filepath.Join(root, "talk.jsonl"), `{"id":"a"}`+"\n")
		s, err := linestore.New(root, lineLayout{}, linestore.Options{Owner: owner, Step: step})
		return s, must(t, ops, err)
	}
}

// A lineLayout has one transcript; the key of a line is its id.
type lineLayout struct{}

func (lineLayout) Path(ref change.Ref) (string, change.Ref, error) { return "talk.jsonl", ref, nil }

func (lineLayout) Key(line []byte) string {
	var r struct{ ID string }
	_ = json.Unmarshal(line, &r)
	return r.ID
}

func lineRef(id string) change.Ref {
	return change.Ref{Kind: change.KindMessage, Session: "talk", Message: id}
}

func file(text string) *change.Image { return &change.Image{Data: []byte(text), Mode: 0o600} }

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, ops []change.Op, err error) []change.Op {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// titleOps returns an op that changes a column of a row.
func titleOps(t *testing.T, s interface {
	Read(context.Context, []change.Ref) ([]*change.Image, error)
}, ref change.Ref, col string,
) []change.Op {
	t.Helper()
	now, err := s.Read(t.Context(), []change.Ref{ref})
	if err != nil || now[0] == nil {
		t.Fatal(fmt.Errorf("%s: %w", ref, err))
	}
	r, err := change.RowOf(ref, now[0])
	if err != nil {
		t.Fatal(err)
	}
	r = r.WithCol(change.TextCol(col, "another"))
	return []change.Op{{Ref: ref, Pre: now[0], Post: change.ImageOf(&r)}}
}
