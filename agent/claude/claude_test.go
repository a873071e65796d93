package claude_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/claude"
	"mend/change"
	"mend/internal/mend"
	fixture "mend/internal/test/claude"
	"mend/repair"
)

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A testStore is a folder of Claude Code with one transcript.
type testStore struct {
	t          *testing.T
	root, file string
	data       []byte
}

// mtime is the modification time of the transcripts.
var mtime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newTestStore(t *testing.T, damage string) testStore {
	t.Helper()
	s := testStore{t: t, root: filepath.Join(t.TempDir(), ".claude"), data: fixture.ByName(damage).Broken()}
	s.file = filepath.Join(s.root, "projects", "-home-user-project", fixture.Session+".jsonl")
	must(t, os.MkdirAll(filepath.Dir(s.file), 0o700))
	s.write(s.data)
	return s
}

func (s testStore) write(data []byte) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.file, data, 0o600))
	must(s.t, os.Chtimes(s.file, mtime, mtime))
}

// want checks the bytes, the mode and the mtime of the transcript.
func (s testStore) want(when string, want []byte) {
	s.t.Helper()
	got, err := os.ReadFile(s.file)
	if err != nil || !bytes.Equal(got, want) {
		s.t.Errorf("%s: the transcript has %d bytes, %v, want other %d", when, len(got), err, len(want))
	}
	if info, err := os.Stat(s.file); err != nil || !info.ModTime().Equal(mtime) || info.Mode().Perm() != 0o600 {
		s.t.Errorf("%s: the transcript is of %v, mode %v, %v", when, info.ModTime(), info.Mode(), err)
	}
}

func (s testStore) client() *mend.Store {
	s.t.Helper()
	dir := filepath.Dir(s.root)
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{claude.Agent{}}, Store: s.root, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache")})
	must(s.t, err)
	return c
}

// open opens the store, which has one session, as a scan does.
func (s testStore) open() (agent.Store, change.Head) {
	s.t.Helper()
	opened, err := claude.Agent{}.Open(agent.Located{Path: s.root}, nil)
	must(s.t, err)
	heads, err := opened.List(s.t.Context())
	if err != nil || len(heads) != 1 {
		s.t.Fatalf("List = %+v, %v", heads, err)
	}
	return opened, heads[0]
}

// repairSession repairs the broken findings of a session, as for a user who agrees. It returns the id of the entry, ""
// if there is nothing to repair.
func repairSession(t *testing.T, c *mend.Store, id string) (entry string, r repair.Result, err error) {
	t.Helper()
	head, err := c.Session(t.Context(), id)
	if err == nil {
		r, err = c.ProposeRepair(t.Context(), head, repair.Request{})
	}
	if err != nil || len(r.Plan.Ops) == 0 {
		return "", r, err
	}
	e, err := c.Apply(t.Context(), r.Plan)
	return e.ID, r, err
}

// undoEntry reverts an entry, or applies it again.
func undoEntry(t *testing.T, c *mend.Store, id string, redo bool) {
	t.Helper()
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{id}, Redo: redo})
	must(t, err)
	_, err = c.Apply(t.Context(), p)
	must(t, err)
}

// TestRepairAndUndo: a repair appends lines, and its undo restores the same bytes. Neither changes the mtime, by which
// Claude Code sorts sessions.
func TestRepairAndUndo(t *testing.T) {
	for _, damage := range []string{"parent unknown twice", "line led by NUL bytes", "two processes", "empty prompt"} {
		t.Run(damage, func(t *testing.T) {
			s := newTestStore(t, damage)
			c := s.client()
			id, r, err := repairSession(t, c, fixture.Session)
			if err != nil || id == "" || len(r.Remaining) > 0 {
				t.Fatalf("Repair = %q, %v, %v", id, r.Remaining, err)
			}
			repaired, err := os.ReadFile(s.file)
			must(t, err)
			s.want("repaired", repaired)
			if !bytes.HasPrefix(repaired, s.data) {
				t.Error("the repair does not only append")
			}
			heads, err := c.Sessions(t.Context())
			if err != nil || len(heads) != 1 || heads[0].Directory != "/home/user/project" || !strings.HasPrefix(heads[0].Title, "P1first") {
				t.Errorf("Sessions = %+v, %v", heads, err)
			}
			for range 2 { // the second time from the cache
				for f := range c.Scan(t.Context(), heads) {
					if f.Err != nil || len(f.Diagnoses) > 0 {
						t.Errorf("a scan finds %v, %v", f.Diagnoses, f.Err)
					}
				}
			}
			for i := range 2 {
				undoEntry(t, c, id, false)
				s.want(fmt.Sprintf("undone %d times", i+1), s.data)
				undoEntry(t, c, id, true)
				s.want("redone", repaired)
			}
			if entries, err := os.ReadDir(s.root); err != nil || len(entries) != 1 {
				t.Errorf("left over: %v, %v", entries, err)
			}
		})
	}
}

// TestExamineTwice: a scan reads a second transcript into the memory of the first, and the findings of the first stay
// correct.
func TestExamineTwice(t *testing.T) {
	s := newTestStore(t, "parent unknown twice")
	opened, head := s.open()
	examine := func() agent.Examination {
		x, err := opened.Examine(t.Context(), head, repair.Options{})
		must(t, err)
		return x
	}
	first := examine()
	found := fmt.Sprintf("%+v", first.Diagnoses)
	s.write(bytes.Repeat([]byte("x"), len(s.data)))
	examine()
	if now := fmt.Sprintf("%+v", first.Diagnoses); now != found || !strings.Contains(found, "chain_broken") {
		t.Errorf("the findings of the first scan were %s, and after the second scan they are %s", found, now)
	}
}

// TestHardLinks: a transcript with several hard links is read like any other, but is not changed. The error names a
// command that makes it changeable.
func TestHardLinks(t *testing.T) {
	s := newTestStore(t, "parent unknown")
	second := filepath.Join(filepath.Dir(s.root), "second")
	must(t, os.Link(s.file, second))
	c := s.client()
	id, r, err := repairSession(t, c, fixture.Session)
	linked, ok := errors.AsType[*change.LinkedError](err)
	if !ok || id != "" {
		t.Fatalf("Repair = %q, %v, %v; want an error about the links", id, r.Unfixable, err)
	}
	s.want("refused", s.data)
	_, command, ok := strings.Cut(linked.Why, "run in the store's folder: ")
	if !ok || !strings.Contains(linked.Why, "2 hard links") || !strings.HasPrefix(command, "cp -p ./projects/") {
		t.Fatalf("the error says %q", linked.Why)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v, %s", command, err, out)
	}
	s.want("separated", s.data)
	if id, r, err := repairSession(t, s.client(), fixture.Session); err != nil || id == "" || len(r.Remaining) > 0 {
		t.Errorf("Repair after the command = %q, %v, %v", id, r.Remaining, err)
	}
	if got, err := os.ReadFile(second); err != nil || !bytes.Equal(got, s.data) {
		t.Errorf("the other link has changed, %v", err)
	}
}

// TestUndoAfterAgentContinued: if the agent has continued since the repair, undo removes exactly the repair.
func TestUndoAfterAgentContinued(t *testing.T) {
	s := newTestStore(t, "parent unknown")
	c := s.client()
	id, _, err := repairSession(t, c, fixture.Session)
	must(t, err)
	repaired, err := os.ReadFile(s.file)
	must(t, err)
	const more = `{"type":"mode","mode":"normal"}` + "\n"
	s.write(append(repaired, more...))
	undoEntry(t, c, id, false)
	s.want("undone", append(s.data, more...))
}

// newSubagentStore returns a store with a healthy session, and a client for it. The transcript of its subagent is named
// file, relative to the session's folder; data is its content.
func newSubagentStore(t *testing.T, file string, data []byte) (testStore, *mend.Store) {
	t.Helper()
	s := newTestStore(t, "none")
	s.data, s.file = data, filepath.Join(filepath.Dir(s.file), file)
	must(t, os.MkdirAll(filepath.Dir(s.file), 0o700))
	s.write(s.data)
	return s, s.client()
}

// The subagents of a session are in the folder subagents of a folder named after it. Claude Code 2.0 wrote them beside
// the sessions.
const (
	subagentFile      = fixture.Session + "/subagents/agent-" + fixture.Subagent + ".jsonl"
	subagentID        = fixture.Session + ".agent-" + fixture.Subagent
	olderSubagentFile = "agent-" + fixture.Subagent + ".jsonl"
	olderSubagentID   = "agent-" + fixture.Subagent
)

// TestSubagent: the transcript of a subagent is listed, repaired and undone like a session's. It is in use while its
// session is in use.
func TestSubagent(t *testing.T) {
	for id, file := range map[string]string{subagentID: subagentFile, olderSubagentID: olderSubagentFile} {
		s, c := newSubagentStore(t, file, fixture.BrokenSubagent())
		heads, err := c.Sessions(t.Context())
		at := slices.IndexFunc(heads, func(h change.Head) bool { return h.ID == id })
		if err != nil || len(heads) != 2 || at < 0 || !strings.HasPrefix(heads[at].Title, "subagent: ") {
			t.Fatalf("Sessions = %+v, %v, want two, one of them %s", heads, err, id)
		}
		for f := range c.Scan(t.Context(), heads) {
			if want := f.Session.ID == id; f.Err != nil || (len(f.Diagnoses) > 0) != want {
				t.Errorf("%s: a scan finds %v, %v", f.Session.ID, f.Diagnoses, f.Err)
			}
		}
		if id == subagentID { // the id of an older one does not name the session
			s.writeProcess(os.Getpid(), procStart(t))
			if _, _, err := repairSession(t, c, id); !errors.Is(err, repair.ErrBusy) {
				t.Errorf("Repair of a subagent of a session in use = %v, want %v", err, repair.ErrBusy)
			}
			s.writeProcess(os.Getpid(), "1")
		}
		repairID, r, err := repairSession(t, c, id)
		if err != nil || len(r.Remaining) > 0 || len(r.Plan.Ops) != 1 {
			t.Fatalf("Repair = %v, %v", r.Remaining, err)
		}
		undoEntry(t, c, repairID, false)
		s.want("undone", s.data)
	}
}

// TestTrimSubagent: old results of a subagent can be cleared, and its newest compaction removed, as in a session.
func TestTrimSubagent(t *testing.T) {
	for name, shape := range map[string]string{"trim": "baseline", "uncompact": "compaction"} {
		t.Run(name, func(t *testing.T) {
			var data []byte
			for _, line := range fixture.Shape(shape).Lines {
				if bytes.Contains(line, []byte(`"isSidechain"`)) { // a subagent's transcript has no other lines
					data = append(append(data, line...), '\n')
				}
			}
			data = bytes.ReplaceAll(data, []byte(`"isSidechain":false`), []byte(`"isSidechain":true,"agentId":"`+fixture.Subagent+`"`))
			_, c := newSubagentStore(t, subagentFile, data)
			head, err := c.Session(t.Context(), subagentID)
			must(t, err)
			if name == "trim" {
				if p, err := c.ProposeTrim(t.Context(), head, repair.TrimRequest{Goal: 1}); err != nil || len(p.Outputs) == 0 {
					t.Errorf("ProposeTrim = %+v, %v, want results", p, err)
				}
			} else if p, err := c.ProposeUncompact(t.Context(), head, repair.UncompactRequest{}); err != nil || p.Messages <= 0 {
				t.Errorf("ProposeUncompact = %+v, %v, want more messages", p, err)
			}
		})
	}
}

// procStart returns the start time of this process, as Claude Code stores it.
func procStart(t *testing.T) string {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[22-3]
}

// writeProcess writes the file of a process that uses [fixture.Session].
func (s testStore) writeProcess(pid int, start string) {
	s.t.Helper()
	dir := filepath.Join(s.root, "sessions")
	must(s.t, os.RemoveAll(dir))
	must(s.t, os.Mkdir(dir, 0o700))
	text := fmt.Sprintf(`{"pid":%d,"procStart":%q,"sessionId":%q,"status":"idle"}`, pid, start, fixture.Session)
	must(s.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", pid)), []byte(text), 0o600))
}

// TestRunningProcess: mend refuses to change a session that a running process has loaded. A file that a killed process
// left does not count.
func TestRunningProcess(t *testing.T) {
	s := newTestStore(t, "parent unknown")
	start := procStart(t)
	c := s.client()
	s.writeProcess(os.Getpid(), start)
	if _, _, err := repairSession(t, c, fixture.Session); !errors.Is(err, repair.ErrBusy) {
		t.Errorf("Repair of a session in use = %v, want %v", err, repair.ErrBusy)
	}
	s.want("refused", s.data)
	s.writeProcess(os.Getpid(), "1")
	id, _, err := repairSession(t, c, fixture.Session)
	if err != nil {
		t.Fatalf("Repair beside a stale file = %v", err)
	}
	repaired, err := os.ReadFile(s.file)
	must(t, err)
	s.writeProcess(os.Getpid(), start)
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{id}})
	must(t, err)
	if _, err := c.Apply(t.Context(), p); err == nil {
		t.Error("an undo removes lines from a session in use")
	}
	s.want("undo refused", repaired)
	p.Force = true
	if _, err := c.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(s.file)
	if err != nil || !bytes.HasPrefix(got, repaired) || len(got) == len(repaired) {
		t.Errorf("a forced undo does not append the former lines: %v", err)
	}
}

// TestFind: the store is found, and every transcript in it is listed. Other files and folders are not sessions; a
// transcript that is a link is listed and not examined.
func TestFind(t *testing.T) {
	s := newTestStore(t, "none")
	dir := filepath.Dir(s.file)
	for _, name := range []string{"notes.jsonl", "agent-a3a1c9a.jsonl", "not a session"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600))
	}
	if err := os.Symlink("/etc", filepath.Join(s.root, "projects", "link")); err != nil {
		t.Skip(err)
	}
	const link, nowhere = "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"
	for id, to := range map[string]string{link: s.file, nowhere: s.file + ".gone"} {
		if err := os.Symlink(to, filepath.Join(dir, id+".jsonl")); err != nil {
			t.Skip(err)
		}
	}
	heads, err := s.client().Sessions(t.Context())
	if err != nil || len(heads) != 4 {
		t.Fatalf("Sessions = %+v, %v, want four", heads, err)
	}
	for f := range s.client().Scan(t.Context(), heads) {
		if isLink := f.Session.ID == nowhere || f.Session.ID == link; (f.Err != nil) != isLink || len(f.Diagnoses) > 0 {
			t.Errorf("%s: %v, %+v", f.Session.ID, f.Err, f.Diagnoses)
		}
	}
	t.Setenv("CLAUDE_CONFIG_DIR", s.root)
	found, err := claude.Agent{}.Find()
	if err != nil || len(found) != 1 || found[0].Path != s.root {
		t.Errorf("Find = %v, %v", found, err)
	}
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	if _, err := (claude.Agent{}).Find(); !errors.Is(err, agent.ErrNoStore) {
		t.Errorf("Find = %v, want %v", err, agent.ErrNoStore)
	}
	if st, err := (claude.Agent{}).Open(agent.Located{Path: s.file}, nil); err != nil || st.ID().Root == "" {
		t.Errorf("Open of a transcript = %v, %v", st, err)
	}
	if _, err := (claude.Agent{}).Open(agent.Located{Path: t.TempDir()}, nil); !errors.Is(err, agent.ErrNoStore) {
		t.Errorf("Open of another folder = %v, want %v", err, agent.ErrNoStore)
	}
}

// TestParseAPIError: the errors of Claude Code are recognised.
func TestParseAPIError(t *testing.T) {
	const body = `API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"messages: text content blocks must be non-empty"},"request_id":"req_1"}`
	for input, class := range map[string]repair.Class{
		body: repair.EmptyContentMessage,
		"Image base64 size (8MB) exceeds API limit (5MB). Please resize the image before sending.":                                repair.InvalidFile,
		"No conversation found with session ID: 3cffaf78-5168-420a-bb87-c18ba6c93019":                                             repair.MissingHistory,
		"Earlier messages in this session weren't loaded. Claude won't see them, so repeat anything it still needs.":              repair.MissingHistory,
		`API Error: 400 due to tool use concurrency issues. Run /rewind to recover the conversation. tool_use ids must be unique`: repair.InvalidToolCall,
	} {
		if e := (claude.Agent{}).ParseAPIError([]byte(input)); e.Class != class {
			t.Errorf("ParseAPIError(%q) = %q, want %q", input, e.Class, class)
		}
	}
}

// TestList: a list entry has the last title and the last version that are in the beginning or the end of the
// transcript.
func TestList(t *testing.T) {
	s := newTestStore(t, "none")
	line := func(members string) string {
		return fmt.Sprintf(`{"uuid":"u","parentUuid":null,"timestamp":"2026-01-02T03:04:05Z",%s}`+"\n", members)
	}
	begin := line(`"type":"user","cwd":"/w","version":"1.0.1","message":{"role":"user","content":"the prompt"}`)
	middle := strings.Repeat(line(`"type":"assistant","cwd":"/other","version":"1.0.2"`), 2000)
	noVersion := line(`"type":"attachment"`)
	title := func(kind, name, text string) string { return line(fmt.Sprintf(`"type":%q,%q:%q`, kind, name, text)) }
	for _, test := range []struct{ name, data, title, version string }{
		{"no title", begin + noVersion, "the prompt", "1.0.1"},
		{"titles", begin + title("summary", "summary", "S") + title("ai-title", "aiTitle", "A") + title("ai-title", "aiTitle", "B"), "B", "1.0.1"},
		{"title in the middle", begin + middle + title("ai-title", "aiTitle", "A") + middle + noVersion, "the prompt", "1.0.2"},
		{"title at the end", begin + title("custom-title", "customTitle", "A") + middle + title("custom-title", "customTitle", "B") + line(`"type":"user","version":"2.1.3"`) + noVersion, "B", "2.1.3"},
		{"torn end", begin + middle + line(`"type":"user","version":"2.1.3"`) + `{"version":"2.1.4","ty`, "the prompt", "2.1.3"},
		{"no prompt at the beginning", strings.Repeat(noVersion, 1000) + begin, "the prompt", "1.0.1"},
	} {
		s.write([]byte(test.data))
		heads, err := s.client().Sessions(t.Context())
		if err != nil || len(heads) != 1 || heads[0].Title != test.title || heads[0].Version != test.version {
			t.Errorf("%s: %+v, %v, want title %q, version %q", test.name, heads, err, test.title, test.version)
		}
	}
}
