package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/test/claude"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/testdata"
)

// A changedStore is a store that several commands change.
type changedStore struct {
	*testing.T
	dir     string // of the store and everything beside it
	path    string // of the store
	journal string
	version string // of the agent, "" if mend finds it
	verbs   []storeVerb
}

// A storeVerb is a command that changes a store.
type storeVerb struct {
	name string
	args []string // without --yes
}

var changedStores = []struct {
	kind string
	make func(*testing.T) *changedStore
}{
	{"database", newChangedDatabase},
	{"tree", newChangedTree},
	{"claude", newChangedTranscripts},
	{"codex", newChangedRollouts},
}

func newChangedStore(t *testing.T, path string) *changedStore {
	s := &changedStore{T: t, dir: storetest.FastDir(t)}
	s.path, s.journal = filepath.Join(s.dir, path), filepath.Join(s.dir, "journal")
	s.write("old/file", "x")
	s.write("new/file", "x")
	s.write("third/.git/HEAD", "ref: refs/heads/main\n")
	s.write("third/.git/opencode", "third\n") // the id of its project
	return s
}

// write writes a file below the folder of the store.
func (s *changedStore) write(path, text string) {
	s.Helper()
	path = filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// move returns the command that moves the sessions of a folder to another one.
func (s *changedStore) move() storeVerb {
	return storeVerb{"move", []string{"move", filepath.Join(s.dir, "old"), filepath.Join(s.dir, "new")}}
}

// moveOn returns the command that moves the same sessions again, into another project.
func (s *changedStore) moveOn() storeVerb {
	return storeVerb{"move on", []string{"move", filepath.Join(s.dir, "new"), filepath.Join(s.dir, "third")}}
}

func (s *changedStore) verb(name string) storeVerb {
	s.Helper()
	i := slices.IndexFunc(s.verbs, func(v storeVerb) bool { return v.name == name })
	if i < 0 {
		s.Fatal("there is no verb ", name)
	}
	return s.verbs[i]
}

func (s *changedStore) mend(args ...string) (code int, out string) {
	s.Helper()
	if s.version != "" {
		args = append(args, "--agent-version", s.version)
	}
	return runMend(s.T, s.path, s.journal, args...)
}

// entries returns all entries of the journal, newest first.
func (s *changedStore) entries() []change.Entry {
	s.Helper()
	es, err := mend.OpenJournal(s.journal).Log(journal.Query{})
	if err != nil {
		s.Fatal(err)
	}
	return es
}

// do runs a command, and returns the id of its operation, or "" if it changed nothing.
func (s *changedStore) do(v storeVerb) (operation string) {
	s.Helper()
	before, output := len(s.entries()), ""
	if v.name == "salvage" {
		s.salvage()
	} else {
		code, out := s.mend(append(slices.Clone(v.args), "--yes")...)
		output = fmt.Sprintf("exit code %d: %s", code, out)
	}
	if es := s.entries(); len(es) > before {
		return mend.OperationOf(es[0])
	}
	s.Logf("%s: %s", v.name, output)
	return ""
}

// everything returns the content of the store: each record, and the files beside them.
func (s *changedStore) everything() map[string]string {
	s.Helper()
	all, err := damage.Snapshot(s.path)
	if err != nil {
		s.Fatal(err)
	}
	if beside, err := damage.Snapshot(filepath.Join(filepath.Dir(s.path), "snapshot")); err == nil {
		for name, text := range beside {
			all["beside "+name] = text
		}
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, ".mend") || strings.HasSuffix(name, ".lock") })
	return all
}

// withoutFolders returns the content without folders: a folder that was made for several sessions can remain if these
// are undone one by one.
func (s *changedStore) withoutFolders() map[string]string {
	s.Helper()
	all := s.everything()
	maps.DeleteFunc(all, func(_, text string) bool { return strings.HasPrefix(text, "d") })
	return all
}

func newChangedDatabase(t *testing.T) *changedStore {
	s := newChangedStore(t, "opencode/opencode.db")
	s.version = "1.18.33"
	fixture := func(names ...string) (path, session string) {
		path, session = dbtest.Unpack(t, s.version)
		for _, name := range names {
			damage.Edit(t, path, session, damage.ByName(t, name))
		}
		return path, session
	}
	broken, session := fixture("tool running", "long outputs")
	s.write("opencode/snapshot/abc/HEAD", "ref")
	data, err := os.ReadFile(broken)
	if err != nil {
		t.Fatal(err)
	}
	s.write("opencode/opencode.db", string(data))
	healthy, _ := fixture()
	compacted, _ := fixture("compacted")
	kept, archived := copyRows(t, s.path, healthy, session, "2"), copyRows(t, s.path, healthy, session, "3")
	short := copyRows(t, s.path, compacted, session, "4")
	dbtest.Alter(t, s.path, "UPDATE project SET id = 'p1'", "UPDATE session SET project_id = 'p1', directory = '"+filepath.Join(s.dir, "old")+"'",
		"UPDATE session SET time_archived = 5, directory = '"+s.dir+"' WHERE id = '"+archived+"'",
		"INSERT INTO part SELECT 'prt_orphan', 'msg_none', 'ses_none', time_created, time_updated, data FROM part LIMIT 1")
	s.keep(kept)
	dbtest.Alter(t, s.path, "DELETE FROM part WHERE id = (SELECT max(id) FROM part WHERE session_id = '"+kept+"')")
	s.verbs = []storeVerb{
		{"repair", []string{"repair", session, "--force", "--at-risk"}},
		{"trim", []string{"trim", session, "--to", "1", "--keep-turns", "0"}},
		{"trim hard", []string{"trim", session, "--to", "1000", "--keep-turns", "0", "--hard"}},
		{"uncompact", []string{"uncompact", short}},
		s.move(),
		s.moveOn(),
		{"restore rows", []string{"restore", archived}},
		{"restore kept", []string{"restore", kept}},
		{"clean session", []string{"clean", "sessions", session}},
		{"clean kept", []string{"clean", "sessions", kept}},
		{"clean events", []string{"clean", "events"}},
		{"clean snapshots", []string{"clean", "snapshots"}},
		{"salvage", nil},
	}
	return s
}

func (s *changedStore) keep(session string) {
	s.Helper()
	if code, out := s.mend("keep", session); code != frame.ExitDone {
		s.Fatalf("keep: exit code %d: %s", code, out)
	}
}

// copyRows copies all rows of the session of another database, with that digit in the ids, and returns the new id.
func copyRows(t *testing.T, path, from, session, digit string) (id string) {
	t.Helper()
	for _, table := range [][]string{{"session", "id"}, {"message", "id", "session_id", "data"}, {"part", "id", "message_id", "session_id", "data"}, {"event_sequence", "aggregate_id"}, {"event", "id", "aggregate_id", "data"}} {
		var set strings.Builder
		for _, col := range table[1:] {
			fmt.Fprintf(&set, ", %s = replace(replace(%[1]s, '_1fba', '_%sfba'), '_e045', '_e%[2]s45')", col, digit)
		}
		dbtest.Alter(t, path, fmt.Sprintf("ATTACH '%s' AS o; CREATE TEMP TABLE x AS SELECT * FROM o.%s; UPDATE x SET %s; INSERT INTO %[2]s SELECT * FROM x", from, table[0], set.String()[2:]))
	}
	return strings.Replace(session, "_e045", "_e"+digit+"45", 1)
}

// salvage replaces the database by a salvaged one, although it is sound.
func (s *changedStore) salvage() {
	s.Helper()
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: s.path, Journal: mend.OpenJournal(s.journal), Cache: filepath.Join(s.journal, "cache")})
	if err == nil {
		var found mend.Salvage
		if found, err = c.ProposeSalvage(s.Context(), false, nil); err == nil && !found.Ops[0].Pre.Equal(found.Ops[0].Post) {
			_, err = c.Apply(s.Context(), found.Plan)
		}
		if found.Discard != nil {
			found.Discard()
		}
	}
	if err != nil {
		s.Fatal(err)
	}
}

func newChangedTree(t *testing.T) *changedStore {
	s := newChangedStore(t, "opencode/storage")
	s.version = "1.1.53"
	session, err := testdata.Unpack(testdata.OpenCode1153, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	ts := &testStore{T: t, version: s.version, session: session, path: s.path, journal: s.journal}
	kept := ts.copySession(2, "Kept")
	ts.copySession(3, "Other")
	for _, name := range []string{"blank answer", "long outputs"} {
		damage.Edit(t, s.path, session, damage.ByName(t, name))
	}
	s.edit(filepath.Join("session", "*", "*.json"), "/home/user/project", filepath.Join(s.dir, "old"))
	s.keep(kept)
	lost, _ := filepath.Glob(filepath.Join(s.path, "part", "*", "*002.json"))
	if err := os.Remove(lost[0]); err != nil {
		t.Fatal(err)
	}
	s.write("opencode/storage/message/ses_none/msg_none.json", `{"id":"msg_none","sessionID":"ses_none","role":"user","time":{"created":1}}`)
	s.verbs = []storeVerb{
		{"repair", []string{"repair", session}},
		{"repair all", []string{"repair"}},
		{"trim", []string{"trim", session, "--to", "1", "--keep-turns", "0"}},
		s.move(),
		s.moveOn(),
		{"restore kept", []string{"restore", kept}},
		{"clean session", []string{"clean", "sessions", session}},
		{"clean kept", []string{"clean", "sessions", kept}},
	}
	return s
}

// edit replaces a text in all files below the store that match a pattern.
func (s *changedStore) edit(pattern, old, to string) {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.path, pattern))
	for _, f := range files {
		data, errRead := os.ReadFile(f)
		if err == nil {
			err = errRead
		}
		if err == nil {
			err = os.WriteFile(f, bytes.ReplaceAll(data, []byte(old), []byte(to)), 0o600)
		}
	}
	if err != nil || len(files) == 0 {
		s.Fatal(pattern, err)
	}
}

func newChangedTranscripts(t *testing.T) *changedStore {
	s := newChangedStore(t, ".claude")
	var ids []string
	for i, name := range []string{"parent unknown", "none", "compaction that preserves nothing"} {
		id := fmt.Sprintf("%d%s", i+4, claude.Session[1:])
		s.write(filepath.Join(".claude/projects/-home-user-project", id+".jsonl"), strings.ReplaceAll(string(claude.ByName(name).Broken()), claude.Session, id))
		ids = append(ids, id)
	}
	s.edit("projects/*/*.jsonl", "/home/user/project", filepath.Join(s.dir, "old"))
	project := strings.NewReplacer("/", "-", ".", "-").Replace(filepath.Join(s.dir, "old"))
	if err := os.Rename(filepath.Join(s.path, "projects/-home-user-project"), filepath.Join(s.path, "projects", project)); err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(".claude/projects", project, ids[1], "tool-results/a.txt"), "a result")
	s.keep(ids[1])
	s.cut(filepath.Join("projects", project, ids[1]+".jsonl"))
	s.verbs = []storeVerb{
		{"repair", []string{"repair", ids[0], "--agent", "claude"}},
		{"repair all", []string{"repair", "--agent", "claude"}},
		{"trim", []string{"trim", ids[0], "--to", "1", "--keep-turns", "0"}},
		{"uncompact", []string{"uncompact", ids[2]}},
		s.move(),
		s.moveOn(),
		{"restore kept", []string{"restore", ids[1]}},
		{"clean session", []string{"clean", "sessions", ids[0]}},
		{"clean kept", []string{"clean", "sessions", ids[1]}},
	}
	return s
}

// cut removes the last ten lines of a file of the store.
func (s *changedStore) cut(path string) {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.path, path))
	lines := bytes.SplitAfter(data, []byte("\n"))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.path, path), bytes.Join(lines[:len(lines)-11], nil), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

func newChangedRollouts(t *testing.T) *changedStore {
	s := newChangedStore(t, ".codex")
	var ids, files []string
	for i, name := range []string{"answer twice", "none"} {
		id := fmt.Sprintf("%d%s", i+4, testdata.CodexSession[1:])
		files = append(files, strings.ReplaceAll(codex.File, testdata.CodexSession, id))
		s.write(filepath.Join(".codex", files[i]), strings.ReplaceAll(string(codex.ByName(name).Broken()), testdata.CodexSession, id))
		ids = append(ids, id)
	}
	s.write(".codex/config.toml", "model = \"x\"\n")
	s.write(".codex/thread-writer-locks/.coordination.lock", "")
	for _, file := range files {
		s.edit(file, "/home/user/src/cx/base/work", filepath.Join(s.dir, "old"))
	}
	s.keep(ids[1])
	s.cut(files[1])
	s.verbs = []storeVerb{
		{"repair", []string{"repair", ids[0], "--agent", "codex"}},
		s.move(),
		s.moveOn(),
		{"restore kept", []string{"restore", ids[1]}},
		{"clean session", []string{"clean", "sessions", ids[0]}},
		{"clean kept", []string{"clean", "sessions", ids[1]}},
	}
	return s
}
