//go:build e2e

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/internal/test/claude"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// A relocation moves a folder that has sessions. Paths are below the folder of the case.
type relocation struct {
	name     string
	old, new string // the arguments of mend move
	in, now  string // where the session was begun and belongs then; "" for old and new
	before   string // a shell command that creates the old folder
	move     string // and one that moves it; "" for mv
	sessions bool   // the new folder has its own sessions
	packed   bool   // Codex has compressed the rollout
}

const commit = "git init -q . && echo x > f && git add . && git -c user.name=n -c user.email=e commit -q -m "

func relocations() []relocation {
	long := strings.Repeat("/"+strings.Repeat("long", 12), 5)
	return []relocation{
		{name: "renamed", old: "app", new: "shop", before: "cd app && " + commit + "1"},
		{name: "other parent", old: "app", new: "work/here/app", before: "cd app && " + commit + "2"},
		{name: "spaces and unicode", old: "app", new: "mein Projekt ä 計画 🙂", before: "cd app && " + commit + "3"},
		{name: "letter case", old: "app", new: "App", before: "cd app && " + commit + "4"},
		{name: "name with dots", old: "app", new: "app.v2.0", before: "cd app && " + commit + "5"},
		{name: "old path a link to the new", old: "app", new: "shop", before: "cd app && " + commit + "6", move: "mv app shop && ln -s shop app"},
		{name: "new path a link", old: "app", new: "link", now: "shop", before: "cd app && " + commit + "7", move: "mv app shop && ln -s shop link"},
		{name: "worktree removed", old: "tree", new: "app", before: "rmdir tree && mkdir app && cd app && " + commit + "8 && git worktree add -q ../tree", move: "cd app && git worktree remove --force ../tree"},
		{name: "nested project", old: "app", new: "shop", in: "app/lib", now: "shop/lib", before: "cd app && " + commit + "9 && mkdir -p lib && cd lib && " + commit + "10"},
		{name: "folder below", old: "app", new: "shop", in: "app/a/b", now: "shop/a/b", before: "cd app && " + commit + "11 && mkdir -p a/b"},
		{name: "parent of all", old: "src", new: "code", in: "src/app", now: "code/app", before: "mkdir -p src/app && cd src/app && " + commit + "12"},
		{name: "folder below renamed", old: "app/sub", new: "app/part", before: "mkdir -p app/sub && cd app && " + commit + "13"},
		{name: "long path", old: "app", new: "x" + long, before: "cd app && " + commit + "14"},
		{name: "from a long path", old: "x" + long, new: "app", before: "cd x" + long + " && " + commit + "15"},
		{name: "target with sessions", old: "app", new: "shop", before: "cd app && " + commit + "16", move: "mkdir -p shop && rm -rf shop.old && cp -a app/. shop/ && rm -rf app", sessions: true},
		{name: "old used again", old: "app", new: "shop", before: "cd app && " + commit + "17", move: "mv app shop && mkdir app && cd app && " + commit + "18"},
		{name: "other root commit", old: "app", new: "shop", before: "cd app && " + commit + "19", move: "rm -rf app && mkdir shop && cd shop && " + commit + "20"},
		{name: "cloned again", old: "app", new: "shop", before: "cd app && " + commit + "21", move: "git clone -q app shop && rm -rf app"},
		{name: "no git", old: "app", new: "shop"},
		{name: "plain folder now a repository", old: "app", new: "shop", move: "mv app shop && cd shop && " + commit + "22"},
		{name: "repository now a plain folder", old: "app", new: "shop", before: "cd app && " + commit + "23", move: "mv app shop && rm -rf shop/.git"},
		{name: "same name in Claude Code", old: "be.ta", new: "be-ta", before: "cd be.ta && " + commit + "24"},
		{name: "rollout compressed", old: "app", new: "shop", before: "cd app && " + commit + "25", packed: true},
	}
}

func (r relocation) from() string { return cmp.Or(r.in, r.old) }
func (r relocation) to() string   { return cmp.Or(r.now, r.new) }

// shell runs a command in a folder.
func shell(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "set -e; "+command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// make creates the old folder of a case below dir.
func (r relocation) make(t *testing.T, dir string) {
	t.Helper()
	for _, folder := range []string{r.old, r.from()} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if r.before != "" {
		shell(t, dir, r.before)
	}
}

// relocate moves the folder.
func (r relocation) relocate(t *testing.T, dir string) {
	t.Helper()
	if r.move != "" {
		shell(t, dir, r.move)
		return
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, r.new)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, r.old), filepath.Join(dir, r.new)); err != nil {
		t.Fatal(err)
	}
}

// messages returns the messages of a request, without marks for the cache.
func messages(t *testing.T, raw []byte) []string {
	t.Helper()
	var body struct{ Messages []map[string]any }
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range body.Messages {
		if blocks, ok := m["content"].([]any); ok {
			for _, b := range blocks {
				if b, ok := b.(map[string]any); ok {
					delete(b, "cache_control")
				}
			}
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// A moveBench is a real program with a session whose folder is moved.
type moveBench interface {
	// begin creates the session in a folder, with a response.
	begin(folder string)
	// show runs the program in a folder, and returns the result as [shown] formats it.
	show(folder string) string
	// state returns what the undo must restore.
	state() string
	// mend runs mend on the store.
	mend(args ...string)
	// end checks other data that belongs to the new folder.
	end(folder string)
}

// describeShown describes what a program does with a session in a folder: whether it lists the session, whether it
// sends a request for it, and whether with the complete history.
func describeShown(listed, sent, whole bool) string {
	is := "not listed, "
	if listed {
		is = "listed, "
	}
	switch {
	case whole:
		return is + "continued"
	case sent:
		return is + "continued without its messages"
	}
	return is + "an error"
}

const wholeThere = "listed, continued"

// The marks around the table of moves in testdata/found.md.
const (
	movedBegin = "<!-- moves: written by the tests of TestMove -update -->\n"
	movedEnd   = "<!-- end of moves -->\n"
)

// testMoves moves folders and then their sessions. It records what the program shows in the new folder before the move,
// after it, and after its undo.
func testMoves(t *testing.T, program string, open func(t *testing.T, i int, r relocation) (b moveBench, dir string)) {
	m := &cellTable{title: "what became of the folder", columns: []string{"OpenCode 1.18.34", "OpenCode 1.2.27", "OpenCode 1.1.53", "Claude Code " + claude.Versions[0], "Codex " + codex.Version}}
	for i, r := range relocations() {
		m.rows = append(m.rows, r.name)
		if r.packed && !strings.HasPrefix(program, "Codex") {
			m.put(r.name, program, "–")
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			if i > 0 {
				storetest.Long(t)
			}
			b, dir := open(t, i, r)
			r.make(t, dir)
			b.begin(r.from())
			r.relocate(t, dir)
			before, was := b.show(r.to()), b.state()
			move := []string{"move", filepath.Join(dir, r.old), filepath.Join(dir, r.new), "--yes"}
			b.mend(move...)
			b.mend("undo", "--yes")
			b.mend("redo", "--yes")
			b.mend("undo", "--yes")
			if now := b.state(); now != was {
				t.Errorf("after the undo:\n%s\nwant\n%s", now, was)
			}
			undone := b.show(r.to())
			b.mend(move...)
			after := b.show(r.to())
			b.end(r.to())
			if undone != before || after != wholeThere {
				t.Errorf("the program shows: %s; after the move: %s; after the undo: %s", before, after, undone)
			}
			m.put(r.name, program, before+" → "+after+" → "+undone)
		})
	}
	checkTable(t, movedBegin, movedEnd, m.merge)
}

// beginsWith reports whether a request begins with all of an earlier request.
func beginsWith(all, first []string) bool {
	return len(all) >= len(first) && slices.Equal(all[:len(first)], first)
}

// An openCodeMove is a home of OpenCode with a session, an archived session, and the session of a subagent.
type openCodeMove struct {
	movedStore
	relocation
	home                *opencode.Home
	dir                 string
	want                []string // the messages of its newest request
	id, archived, child string
	own                 string // a session of the new folder
	prompts             int
}

// start starts the program in a folder. A running program already knows the folders in which it was used.
func (m *openCodeMove) start(folder string) (in *opencode.Server, stop func()) {
	server := m.home.Serve()
	return server.In(filepath.Join(m.dir, folder)), server.Close
}

func (m *openCodeMove) begin(folder string) {
	m.t.Helper()
	in, stop := m.start(folder)
	defer stop()
	m.id, m.archived = in.NewSession(), in.NewSession()
	m.child = in.NewChild(m.id)
	in.Archive(m.archived)
	if !m.prompt(in) {
		m.t.Fatal("before anything it does not answer")
	}
}

// prompt reports whether the program answers with the whole history.
func (m *openCodeMove) prompt(in *opencode.Server) bool {
	m.t.Helper()
	m.prompts++
	r := in.Prompt(m.id, fmt.Sprintf("prompt %d of %s", m.prompts, m.name))
	if r.Verdict != opencode.Alive || len(r.Calls) == 0 {
		return false
	}
	got := messages(m.t, r.Calls[len(r.Calls)-1].Raw)
	if !beginsWith(got, m.want) {
		m.t.Errorf("it sends\n%s\nwant first\n%s", strings.Join(got, "\n"), strings.Join(m.want, "\n"))
		return false
	}
	m.want = got
	return true
}

func (m *openCodeMove) show(folder string) string {
	m.t.Helper()
	in, stop := m.start(folder)
	defer stop()
	if m.sessions && m.own == "" {
		m.own = in.NewSession()
	}
	list := in.Listed()
	if m.own != "" && !slices.Contains(list, m.own) || slices.Contains(list, m.archived) {
		m.t.Errorf("%s lists %v, want %s without %s, which is archived", folder, list, m.own, m.archived)
	}
	listed := slices.Contains(list, m.id)
	if of := in.Children(m.id); listed && of[m.child] != filepath.Join(m.dir, folder) {
		m.t.Errorf("the subagents of %s are %v, want %s in %s", m.id, of, m.child, folder)
	}
	whole := m.prompt(in)
	return describeShown(listed, whole, whole)
}

// state returns the stored records of the sessions, and in a database also of the projects.
func (m *openCodeMove) state() string {
	m.t.Helper()
	if filepath.Ext(m.store) == "" {
		return listFiles(m.t, filepath.Join(m.store, "storage", "session"), "%m") // OpenCode uses the times in the records
	}
	sql := damage.SQL(m.t, m.store)
	return fmt.Sprint(sql("select * from session order by id"), sql("select id, worktree from project order by id"))
}

// end restores the archived session, which is then listed in the new folder.
func (m *openCodeMove) end(folder string) {
	m.t.Helper()
	m.mend("restore", m.archived, "--yes")
	in, stop := m.start(folder)
	defer stop()
	if list := in.Listed(); !slices.Contains(list, m.archived) {
		m.t.Errorf("%s lists %v, want %s, which was archived before", folder, list, m.archived)
	}
}

// TestMoveOpenCode: after a move OpenCode has the session, an archived session and the session of a subagent in the new
// folder.
func TestMoveOpenCode(t *testing.T) {
	for n, version := range []string{"1.18.34", "1.2.27", "1.1.53"} {
		t.Run(version, func(t *testing.T) {
			if n > 0 {
				storetest.Long(t)
			}
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(uniqueAnswer)
			t.Cleanup(api.Close)
			testMoves(t, "OpenCode "+version, func(t *testing.T, _ int, r relocation) (moveBench, string) {
				h := opencode.New(t, exe, api, false)
				m := &openCodeMove{movedStore: movedStore{t, h.DataDir(), filepath.Join(t.TempDir(), "journal")}, relocation: r, home: h, dir: filepath.Join(h.Dir(), "p")}
				if version != "1.1.53" {
					m.store = filepath.Join(m.store, "opencode.db")
				}
				return m, m.dir
			})
		})
	}
}

// A movedStore is the store of a real program with moved sessions.
type movedStore struct {
	t              *testing.T
	store, journal string
}

func (m movedStore) mend(args ...string) {
	m.t.Helper()
	if code, out := runMend(m.t, m.store, m.journal, args...); code != 0 {
		m.t.Fatalf("mend %q: exit code %d: %s", args, code, out)
	}
}

// end implements moveBench. The program has no other data of the folder.
func (movedStore) end(string) {}

// A claudeMove is a home of Claude Code with a session, and a session of the new folder.
type claudeMove struct {
	movedStore
	relocation
	home    *claude.Home
	id, own string
	want    []string // the blocks of its newest request before the move
}

func (m *claudeMove) begin(folder string) {
	m.t.Helper()
	if m.sessions { // not the newest
		if r := m.home.In(filepath.Join("p", m.to())).Prompt(m.own, "of "+m.name, false); !r.Answered {
			m.t.Fatalf("before anything: %s", r.Output)
		}
	}
	in := m.home.In(filepath.Join("p", folder))
	if r := in.Prompt(m.id, "first of "+m.name, false); !r.Answered {
		m.t.Fatalf("before anything: %s", r.Output)
	}
	m.want = in.Prompt(m.id, "second of "+m.name, true).Blocks
}

// show asks the program for the newest session of the folder, and for the session. Then it restores the
// store.
func (m *claudeMove) show(folder string) string {
	m.t.Helper()
	defer storetest.Save(m.t, m.store)()
	in := m.home.In(filepath.Join("p", folder))
	newest := in.Prompt("", "third of "+m.name, true)
	named := in.Prompt(m.id, "fourth of "+m.name, true)
	if m.sessions {
		if r := in.Prompt(m.own, "another of "+m.name, true); !r.Answered {
			m.t.Errorf("the session of the new folder: %s", r.Output)
		}
	}
	return describeShown(newest.Answered && beginsWith(newest.Blocks, m.want), named.Answered, named.Answered && named.Rule == "" && beginsWith(named.Blocks, m.want))
}

func (m *claudeMove) state() string { return transcripts(m.t, m.store) }

// TestMoveClaude: after a move Claude Code finds the session with --continue and with --resume in the new folder.
func TestMoveClaude(t *testing.T) {
	cmd, err := claude.Install(claude.Versions[0])
	if err != nil {
		t.Fatal(err)
	}
	testMoves(t, "Claude Code "+claude.Versions[0], func(t *testing.T, i int, r relocation) (moveBench, string) {
		h := claude.NewHome(t, cmd)
		id := func(n int) string { return fmt.Sprintf("0000000%d-0000-4000-8000-%012d", n, i+1) }
		return &claudeMove{movedStore{t, h.Root(), filepath.Join(t.TempDir(), "journal")}, r, h, id(0), id(1), nil}, filepath.Join(h.Dir(), "p")
	})
}

// A codexMove is a home of Codex with a session, and a session of the new folder.
type codexMove struct {
	movedStore
	relocation
	home    *codex.Home
	id, own string
	want    []string // the items of its newest request before the move
}

func (m *codexMove) begin(folder string) {
	m.t.Helper()
	begin := func(in string) string {
		id, r := m.home.In(filepath.Join("p", in)).Begin("first of " + m.name)
		if r.Fate() != "alive" || id == "" {
			m.t.Fatalf("before anything: %s: %s", r.Fate(), r.Output)
		}
		return id
	}
	if m.sessions { // not the newest
		shell(m.t, m.home.Dir(), "mkdir -p p/"+m.to())
		m.own = begin(m.to())
	}
	m.id = begin(folder)
	m.want = m.home.In(filepath.Join("p", folder)).Prompt(m.id, "second of "+m.name).Items
	if m.packed {
		m.pack()
	}
}

// pack compresses the rollout, as the program does with old rollouts.
func (m *codexMove) pack() {
	m.t.Helper()
	all, err := filepath.Glob(filepath.Join(m.store, "sessions/*/*/*/*"+m.id+".jsonl"))
	if err != nil || len(all) != 1 {
		m.t.Fatalf("the rollouts %v: %v", all, err)
	}
	data, err := os.ReadFile(all[0])
	if err == nil {
		err = errors.Join(os.WriteFile(all[0]+".zst", codex.Compress(data), 0o600), os.Remove(all[0]))
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// show asks the program for the newest session of the folder, and for the session. Then it restores the
// store.
func (m *codexMove) show(folder string) string {
	m.t.Helper()
	defer m.home.Save()()
	in := m.home.In(filepath.Join("p", folder))
	newest := in.Prompt("--last", "third of "+m.name)
	named := in.Prompt(m.id, "fourth of "+m.name)
	if m.sessions {
		if r := in.Prompt(m.own, "another of "+m.name); r.Fate() != "alive" {
			m.t.Errorf("the session of the new folder is %s: %s", r.Fate(), r.Output)
		}
	}
	return describeShown(strings.Contains(newest.Output, m.id) && beginsWith(newest.Items, m.want), named.Answered, named.Fate() == "alive" && beginsWith(named.Items, m.want))
}

// state returns the rollouts, and the rows of the index.
func (m *codexMove) state() string {
	return listFiles(m.t, filepath.Join(m.store, "sessions"), "%m") + m.home.Rows()
}

// TestMoveCodex: after a move Codex finds the session with resume --last and by its id in the new folder.
func TestMoveCodex(t *testing.T) {
	exe, err := codex.Install(codex.Version)
	if err != nil {
		t.Fatal(err)
	}
	testMoves(t, "Codex "+codex.Version, func(t *testing.T, _ int, r relocation) (moveBench, string) {
		h := codex.NewHome(t, exe)
		return &codexMove{movedStore{t, h.Root(), filepath.Join(t.TempDir(), "journal")}, r, h, "", "", nil}, filepath.Join(h.Dir(), "p")
	})
}

// listFiles returns the names and bytes of the files in a folder, each with a format of find -printf.
func listFiles(t *testing.T, dir, form string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", `find . -type f -printf '`+form+` ' -exec sha256sum {} \; | sort`)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestMoveClaudePicker: after a move the picker of Claude Code lists the session in the new folder and continues it
// there with the complete history, and a subagent continues with its own history. The picker does not list sessions
// that were started with -p.
func TestMoveClaudePicker(t *testing.T) {
	storetest.Long(t)
	cmd, err := claude.Install(claude.Versions[0])
	if err != nil {
		t.Fatal(err)
	}
	h := claude.NewHome(t, cmd)
	api := endpoint.New(claude.Script)
	t.Cleanup(api.Close)
	from, to := h.In("p/app"), filepath.Join(h.Dir(), "p", "shop")
	term := from.Open(api.URL)
	term.Wait("❯")
	term.Send("the first of all")
	term.Wait("Hello.")
	term.Send("/exit")
	term.Wait("Resume this session with")
	h.WaitEnded()
	if len(from.Sessions()) != 1 {
		t.Fatalf("the program made the sessions %v, want one", from.Sessions())
	}
	id := from.Sessions()[0]
	if r := from.Prompt(id, `CALL [["Agent",{"description":"look","prompt":"look around","subagent_type":"general-purpose"}]]END`, true); !r.Answered {
		t.Fatal(r.Output)
	}
	agents, _ := filepath.Glob(filepath.Join(strings.TrimSuffix(from.File(id), ".jsonl"), "subagents", "agent-*.jsonl"))
	if len(agents) != 1 {
		t.Fatalf("the program made the subagents %v, want one", agents)
	}
	agent := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(agents[0]), "agent-"), ".jsonl")
	if err := os.Rename(filepath.Join(h.Dir(), "p", "app"), to); err != nil {
		t.Fatal(err)
	}
	after := h.In("p/shop")
	term = after.Open(api.URL, "--resume")
	term.Wait("No sessions in this project yet")
	term.Close()
	h.WaitEnded()
	if code, out := runMend(t, h.Root(), filepath.Join(t.TempDir(), "journal"), "move", filepath.Join(h.Dir(), "p", "app"), to, "--yes"); code != 0 {
		t.Fatalf("mend move: exit code %d: %s", code, out)
	}
	term = after.Open(api.URL, "--resume")
	term.Wait("❯ CALL") // it shows the last prompt
	term.Type("\r")
	term.Wait("the first of all")
	term.Wait("Done.")
	term.Send("and the next")
	waitFor(t, "a request with all that was said", func() bool {
		return slices.ContainsFunc(api.Calls(), func(c endpoint.Call) bool {
			raw := string(c.Raw)
			return len(c.Request.Tools) > 0 && strings.Contains(raw, "the first of all") && strings.Contains(raw, "and the next")
		})
	})
	term.Close()
	h.WaitEnded()
	if r := after.Prompt(id, `CALL [["SendMessage",{"to":"`+agent+`","message":"go on","summary":"more"}]]END`, true); !r.Answered {
		t.Fatal(r.Output)
	}
	moved, _ := filepath.Glob(filepath.Join(strings.TrimSuffix(after.File(id), ".jsonl"), "subagents", "agent-*.jsonl"))
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(from.File(id)), "*"+id+"*")); len(moved) != 1 || len(left) > 0 {
		t.Fatalf("the subagents are %v, and in the old folder is %v", moved, left)
	}
	data, err := os.ReadFile(moved[0])
	if err != nil || !strings.Contains(string(data), "look around") || !strings.Contains(string(data), "go on") {
		t.Errorf("the subagent did not continue with its history: %v\n%s", err, data)
	}
}

// transcripts returns names, modes, times and bytes of the files below projects.
func transcripts(t *testing.T, root string) string {
	t.Helper()
	return listFiles(t, filepath.Join(root, "projects"), "%m %T@")
}
