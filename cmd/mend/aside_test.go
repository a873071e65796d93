package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/test/claude"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/testdata"
)

// unknownPart adds a part of an unknown type to a response. OpenCode 1.18 then cannot show the session.
func unknownPart(s damage.Store) {
	part := damage.Parts(s, damage.Hello, "text")[0]
	part.ID, part.Data = part.ID+"x", `{"type":"novelty","text":"an unknown part"}`
	s.Put(part)
}

// longPrompt makes a prompt longer than OpenAI accepts.
func longPrompt(s damage.Store) {
	part := damage.Parts(s, damage.SecondPrompt, "text")[0]
	part.Data = `{"type":"text","text":"pasted ` + strings.Repeat("x", 10<<20) + `"}`
	s.Put(part)
}

const transcriptFile = "projects/-home-user-project/" + claude.Session + ".jsonl"

// storeOf makes a store with one session in one file.
func storeOf(t *testing.T, session, file string, data []byte) *testStore {
	t.Helper()
	dir := storetest.FastDir(t)
	ts := &testStore{T: t, session: session, path: filepath.Join(dir, "store"), journal: filepath.Join(dir, "journal")}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(ts.path, file)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ts.path, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return ts
}

// rolloutOf makes a store of Codex with one rollout, and settings for its provider.
func rolloutOf(t *testing.T, data []byte) *testStore {
	t.Helper()
	ts := storeOf(t, testdata.CodexSession, codex.File, data)
	settings := "model_provider = \"fake\"\n[model_providers.fake]\n"
	if err := os.WriteFile(filepath.Join(ts.path, "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return ts
}

// An asideCase is a session with damage that has no fix.
type asideCase struct {
	name    string
	store   func(t *testing.T) *testStore
	flags   []string
	leftOut string // what repair and log report as set aside
	code    int    // of scan and repair before
	file    string // to which the agent appends, "" if it does not
}

func asideCases() []asideCase {
	opencode := func(version int, apply func(damage.Store)) func(t *testing.T) *testStore {
		return func(t *testing.T) *testStore {
			ts := newTestStore(t, version)
			damage.Edit(ts, ts.path, ts.session, apply)
			return ts
		}
	}
	all := []asideCase{
		{"a prompt of OpenCode", opencode(0, longPrompt), []string{"--provider", "openai"}, "1 prompt (pasted xxx", frame.ExitProblems, ""},
		{"an answer of Claude Code", func(t *testing.T) *testStore {
			return storeOf(t, claude.Session, transcriptFile, claude.ByName("unknown block").Broken())
		}, nil, "1 other block (novelty)", frame.ExitProblems, transcriptFile},
		{"an answer of Claude Code that is marked as a subagent's", func(t *testing.T) *testStore {
			return storeOf(t, claude.Session, transcriptFile, claude.ByName("last marked as a subagent's").Broken())
		}, nil, "1 answer (Done 13.)", frame.ExitProblems, transcriptFile},
		{"a line of Codex", func(t *testing.T) *testStore {
			return rolloutOf(t, codex.ByName("a part of no known type").Broken())
		}, nil, "1 unread record (line-27)", frame.ExitProblems, codex.File},
	}
	for i, version := range damage.Versions {
		all = append(all, asideCase{"a part of OpenCode " + version, opencode(i, unknownPart), []string{"--at-risk"}, "1 unread record (prt_", frame.ExitDone, ""})
	}
	return all
}

// bytesOf returns all files of the store except locks, or the content of a database.
func (ts *testStore) bytesOf() map[string]string {
	ts.Helper()
	if strings.HasSuffix(ts.path, ".db") {
		return ts.snapshot()
	}
	all := map[string]string{}
	err := filepath.WalkDir(ts.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		ts.Fatal(err)
	}
	return all
}

// TestSetAside: content without a fix is set aside only on request, in a session that the user names. Then the session
// has no finding, and an undo restores each byte.
func TestSetAside(t *testing.T) {
	for _, c := range asideCases() {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "a prompt of OpenCode" { // of 10 MB
				storetest.NeedAllCases(t)
			}
			ts := c.store(t)
			before := ts.bytesOf()
			run := func(want int, shows string, args ...string) {
				t.Helper()
				if ts.version != "" {
					args = append(args, "--agent-version", ts.version)
				}
				code, out := runMend(t, ts.path, ts.journal, append(args, c.flags...)...)
				out = strings.Join(strings.Fields(out), " ")
				if code != want || !strings.Contains(out, shows) {
					t.Errorf("mend %s: exit code %d, want %d and %q in\n%.2000s", strings.Join(args, " "), code, want, shows, out)
				}
			}
			same := func(when string, want bool) {
				t.Helper()
				if maps.Equal(ts.bytesOf(), before) != want {
					t.Errorf("%s the store is unchanged: %t, want %t", when, !want, want)
				}
			}
			run(c.code, "--set-aside", "repair", ts.session, "--yes")
			run(c.code, "", "repair", "--yes")
			run(frame.ExitUsage, "--set-aside needs a session", "repair", "--yes", "--set-aside")
			run(frame.ExitDone, c.leftOut, "repair", ts.session, "--set-aside", "--dry-run")
			run(frame.ExitRefused, c.leftOut, "repair", ts.session, "--set-aside") // there is no terminal for a question
			same("without an answer", true)
			run(frame.ExitDone, "Undo: mend undo", "repair", ts.session, "--set-aside", "--yes")
			same("after the content was set aside", false)
			run(frame.ExitDone, "healthy", "scan", ts.session)
			run(frame.ExitDone, "", "repair", ts.session, "--set-aside", "--yes")
			c.flags = nil
			es, err := mend.OpenJournal(ts.journal).Log(journal.Query{Limit: 1})
			if err != nil || len(es) == 0 {
				t.Fatalf("%d entries, %v", len(es), err)
			}
			run(frame.ExitDone, c.leftOut, "log", es[0].ID)
			run(frame.ExitDone, "Undone", "undo", "--yes")
			same("after the undo", true)
			run(frame.ExitDone, "", "redo", "--yes")
			same("after the redo", false)
			run(frame.ExitDone, "Undone", "undo", "--yes")
			same("after the second undo", true)
			file := filepath.Join(ts.path, c.file)
			if c.file == "" {
				return
			}
			run(frame.ExitDone, "", "redo", "--yes")
			next := []byte("{\"type\":\"mode\",\"mode\":\"normal\"}\n") // the agent continues
			data, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, append(data, next...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			run(frame.ExitDone, "Undone", "undo", "--yes")
			if got, want := ts.bytesOf()[file], before[file]+string(next); got != want {
				t.Errorf("after the agent continued, and an undo:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestSetAsideAsks: on a terminal a second question follows the question about the repair, for a session that the user
// named.
func TestSetAsideAsks(t *testing.T) {
	for _, c := range []struct {
		in, session   string
		want          int
		repair, aside int // how often each is asked
	}{
		{"y\ny\n", testdata.CodexSession, frame.ExitDone, 1, 1},
		{"y\nn\n", testdata.CodexSession, frame.ExitProblems, 1, 1},
		{"n\n", testdata.CodexSession, frame.ExitRefused, 1, 0},
		{"y\n", "", frame.ExitProblems, 1, 0},
	} {
		d := codex.ByName("a part of no known type").Broken()
		lines := bytes.SplitAfter(d, []byte("\n"))
		torn := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"response_item"`)) })
		lines[torn] = append([]byte("\x00\x00"), lines[torn]...) // this has a fix
		ts := rolloutOf(t, bytes.Join(lines, nil))
		args := []string{"repair"}
		if c.session != "" {
			args = append(args, c.session)
		}
		got, out, errs := ts.asking(c.in, 0, args...)
		repair, aside := strings.Count(errs, `Repair "please TOOL"? `), strings.Count(errs, `Set aside what has no fix in "please TOOL"? `)
		if got != c.want || repair != c.repair || aside != c.aside {
			t.Errorf("answers %q: exit code %d, want %d; asked to repair %d times, want %d, to set aside %d times, want %d:\n%s%s", c.in, got, c.want, repair, c.repair, aside, c.aside, out, errs)
		}
	}
}
