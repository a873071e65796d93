//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// A relocation is a way in which a folder with sessions gets another place. Paths are below the folder of
// the case.
type relocation struct {
	name     string
	old, new string                    // what mend move is given
	in, now  string                    // where the session was begun and belongs then; "" for old and new
	before   string                    // a command of the shell that makes the old folder
	move     string                    // and one that moves it; "" for mv
	sessions func(dir string) []string // other folders with sessions of their own
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
		{name: "target with sessions", old: "app", new: "shop", before: "cd app && " + commit + "16", move: "mkdir -p shop && rm -rf shop.old && cp -a app/. shop/ && rm -rf app", sessions: func(string) []string { return []string{"shop"} }},
		{name: "old used again", old: "app", new: "shop", before: "cd app && " + commit + "17", move: "mv app shop && mkdir app && cd app && " + commit + "18"},
		{name: "other root commit", old: "app", new: "shop", before: "cd app && " + commit + "19", move: "rm -rf app && mkdir shop && cd shop && " + commit + "20"},
		{name: "cloned again", old: "app", new: "shop", before: "cd app && " + commit + "21", move: "git clone -q app shop && rm -rf app"},
		{name: "no git", old: "app", new: "shop"},
		{name: "plain folder now a repository", old: "app", new: "shop", move: "mv app shop && cd shop && " + commit + "22"},
		{name: "repository now a plain folder", old: "app", new: "shop", before: "cd app && " + commit + "23", move: "mv app shop && rm -rf shop/.git"},
		{name: "same name in Claude Code", old: "be.ta", new: "be-ta", before: "cd be.ta && " + commit + "24"},
	}
}

func (r relocation) start() string { return orElse(r.in, r.old) }
func (r relocation) end() string   { return orElse(r.now, r.new) }

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// shell runs a command in a folder.
func shell(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "set -e; "+command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// make makes the old folder of a case below dir.
func (r relocation) make(t *testing.T, dir string) {
	t.Helper()
	for _, folder := range []string{r.old, r.start()} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if r.before != "" {
		shell(t, dir, r.before)
	}
}

// relocate moves it.
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

// TestMoveOpenCode gives folders another place and moves their sessions, archived ones and those of subagents
// too, and compares what the real program lists and sends before and after.
func TestMoveOpenCode(t *testing.T) {
	for n, version := range []string{"1.18.34", "1.2.27", "1.1.53"} {
		t.Run(version, func(t *testing.T) {
			storetest.InTurn(t, n)
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(uniqueAnswer)
			t.Cleanup(api.Close)
			h := opencode.New(t, exe, api, false)
			m := movedStore{t: t, store: filepath.Join(h.DataDir(), "opencode.db"), journal: filepath.Join(t.TempDir(), "journal")}
			if version == "1.1.53" {
				m.store = h.DataDir()
			}
			server := h.Serve()
			for i, r := range relocations() {
				t.Run(r.name, func(t *testing.T) {
					storetest.InSample(t, i, 11)
					m := m
					m.t = t
					dir := filepath.Join(h.Dir(), fmt.Sprintf("case%02d", i))
					r.make(t, dir)
					from, to := filepath.Join(dir, r.start()), filepath.Join(dir, r.end())
					id, archived := server.In(from).NewSession(), server.In(from).NewSession()
					child := server.In(from).NewChild(id)
					server.In(from).Archive(archived)
					last := server.In(from).Prompt(id, "first of "+r.name)
					if last.Verdict != opencode.Alive {
						t.Fatalf("before anything: %s: %s", last.Verdict, last.Output)
					}
					want := messages(t, last.Calls[len(last.Calls)-1].Raw)
					r.relocate(t, dir)
					var own string
					if r.sessions != nil {
						own = server.In(to).NewSession()
					}
					before := m.settled()
					m.mend("move", filepath.Join(dir, r.old), filepath.Join(dir, r.new), "--yes")
					m.mend("undo", "--yes")
					if now := m.records(); now != before {
						t.Errorf("after the undo: %s\nwant %s", now, before)
					}
					m.mend("redo", "--yes")
					listed := server.In(to).Listed()
					if !slices.Contains(listed, id) || own != "" && !slices.Contains(listed, own) || slices.Contains(listed, archived) {
						t.Errorf("%s lists %v, want %s %s without %s, which is archived", to, listed, id, own, archived)
					}
					if of := server.In(to).Children(id); of[child] != to {
						t.Errorf("the subagents of %s are %v, want %s in %s", id, of, child, to)
					}
					again := server.In(to).Prompt(id, "second of "+r.name)
					if again.Verdict != opencode.Alive {
						t.Fatalf("after the move: %s: %s", again.Verdict, again.Output)
					}
					got := messages(t, again.Calls[len(again.Calls)-1].Raw)
					if len(got) != len(want)+2 || !slices.Equal(got[:len(want)], want) {
						t.Errorf("after the move it sends\n%s\nwant first\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
					m.settled()
					m.mend("restore", archived, "--yes")
					if listed := server.In(to).Listed(); !slices.Contains(listed, archived) {
						t.Errorf("%s lists %v, want %s, which was archived before", to, listed, archived)
					}
				})
			}
		})
	}
}

// A movedStore is a store of the real OpenCode whose sessions are moved.
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

// records returns the records of sessions, and of a database those of projects, as they are stored.
func (m movedStore) records() string {
	m.t.Helper()
	if filepath.Ext(m.store) == "" {
		return listFiles(m.t, filepath.Join(m.store, "storage", "session"), "%m") // OpenCode goes by the times in them
	}
	sql := damage.SQL(m.t, m.store)
	return fmt.Sprint(sql("select * from session order by id"), sql("select id, worktree from project order by id"))
}

// settled waits until the program has written what it writes for a moment after an answer, and returns the records.
func (m movedStore) settled() string {
	before := m.records()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		time.Sleep(3 * time.Second)
		now := m.records()
		if now == before {
			break
		}
		before = now
	}
	return before
}

// TestMoveClaude does the same for Claude Code.
func TestMoveClaude(t *testing.T) {
	cmd, err := claude.Install(claude.Versions[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range relocations() {
		t.Run(r.name, func(t *testing.T) {
			storetest.InSample(t, i, 22)
			h := claude.NewHome(t, cmd)
			dir := filepath.Join(h.Dir(), "p")
			r.make(t, dir)
			id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
			from := h.In(filepath.Join("p", r.start()))
			if first := from.Prompt(id, "first of "+r.name, false); !first.Answered {
				t.Fatalf("before anything: %s", first.Output)
			}
			want := from.Prompt(id, "second of "+r.name, true).Blocks
			r.relocate(t, dir)
			journal := filepath.Join(t.TempDir(), "journal")
			run := func(args ...string) {
				t.Helper()
				if code, out := runMend(t, h.Root(), journal, args...); code != 0 {
					t.Fatalf("mend %q: exit code %d: %s", args, code, out)
				}
			}
			before := transcripts(t, h.Root())
			run("move", filepath.Join(dir, r.old), filepath.Join(dir, r.new), "--yes")
			run("undo", "--yes")
			if now := transcripts(t, h.Root()); now != before {
				t.Errorf("after the undo:\n%s\nwant\n%s", now, before)
			}
			run("redo", "--yes")
			to := h.In(filepath.Join("p", r.end()))
			if again := to.Prompt("", "third of "+r.name, true); !again.Answered || again.Rule != "" || len(again.Blocks) < len(want) || !slices.Equal(again.Blocks[:len(want)], want) {
				t.Errorf("--continue: answered %t, broke %q, sends\n%s\nwant first\n%s\n%s", again.Answered, again.Rule, strings.Join(again.Blocks, "\n"), strings.Join(want, "\n"), again.Output)
			}
			if again := to.Prompt(id, "fourth of "+r.name, true); !again.Answered || len(again.Blocks) < len(want) {
				t.Errorf("--resume: answered %t, sends %d blocks: %s", again.Answered, len(again.Blocks), again.Output)
			}
		})
	}
}

// transcripts returns names, modes, times and bytes of the files below projects.
func transcripts(t *testing.T, root string) string {
	t.Helper()
	return listFiles(t, filepath.Join(root, "projects"), "%m %T@")
}

// listFiles returns names and bytes of the files in a folder, with what find prints of each in that form.
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

// TestMoveClaudePicker: after a move the picker of the program lists the session in the new folder, continues it
// from there with all that was said, and a subagent of it goes on with what it knows. The picker lists no session
// that was begun with -p.
func TestMoveClaudePicker(t *testing.T) {
	storetest.InTurn(t, 0)
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
		t.Errorf("the subagent did not go on with what it knows: %v\n%s", err, data)
	}
}
