package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mend/internal/test/claude"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/testdata"
)

// The stores.
const (
	tree     = "OpenCode 1.1.53, tree"
	rows12   = "OpenCode 1.2.27, rows"
	rows18   = "OpenCode 1.18.33, rows"
	lines    = "Claude Code, lines"
	rollouts = "Codex, lines and index"
)

// Verbs of several recipes.
var (
	repair        = []string{"repair", "SESSION", "--yes"}
	repairError   = []string{"repair", "SESSION", "--error", "messages.3.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.", "--yes"}
	orphans       = []string{"repair", "--orphans", "--yes"}
	trim          = []string{"trim", "SESSION", "--to", "1", "--keep-turns", "0", "--yes"}
	trimHard      = []string{"trim", "SESSION", "--to", "1000", "--keep-turns", "0", "--hard", "--yes"}
	uncompact     = []string{"uncompact", "SESSION", "--yes"}
	move          = []string{"move", "/home/user/project", "HOME/work", "--yes"}
	cleanSessions = []string{"clean", "sessions", "SESSION", "--yes"}
	cleanImages   = []string{"clean", "images", "SESSION", "--yes"}
	cleanEvents   = []string{"clean", "events", "--yes"}
	snapshots     = []string{"clean", "snapshots", "--yes"}
	salvage       = []string{"salvage", "--yes"}
	keep          = []string{"keep"}
	restore       = []string{"restore", "SESSION", "--yes"}
	restoreAt     = []string{"restore", "SESSION", "--at", "k1", "--yes"}
	undoFirst     = []string{"undo", "FIRST", "--yes"}
	redoFirst     = []string{"redo", "FIRST", "--yes"}
	undoSession   = []string{"undo", "--session", "SESSION", "--yes"}
	gc            = []string{"gc", "--older-than", "0h", "--yes"}
	forget        = []string{"forget", "SESSION", "--yes"}
	forgetEntry   = []string{"forget", "ENTRY", "--yes"}
)

// recipes returns the recipes of all cases. A recipe never changes once its archive exists.
func recipes() []recipe {
	treeOf := func(damages ...string) func(*maker) { return openCode(testdata.OpenCode1153, damages...) }
	old := func(damages ...string) func(*maker) { return openCode(testdata.OpenCode1227, damages...) }
	rows := func(damages ...string) func(*maker) { return openCode(testdata.OpenCode11833, damages...) }
	order := []string{"reasoning last", "blank prompt", "first prompt lost its parts"}
	calls := []string{"input a string", "two tools unfinished", "image that is a text in a prompt"}
	records := []string{"text missing", "call of no bytes", "first prompt gone"}
	return []recipe{
		{name: "tree-repair-order", store: tree, start: treeOf(order...), verb: repair, foreign: writeRecord},
		{name: "tree-repair-calls", store: tree, start: treeOf(calls...), verb: repair, uncut: true},
		{name: "tree-repair-records", store: tree, start: treeOf(records...), verb: repair, uncut: true},
		{name: "tree-repair-ids", store: tree, start: treeOf("ids from before the clock's wrap"), verb: repair},
		{name: "tree-repair-error", store: tree, start: treeOf("reasoning last"), verb: repairError, uncut: true},
		{name: "tree-orphans", store: tree, start: treeOf("prompt gone, its parts stay"), verb: orphans},
		{name: "tree-trim", store: tree, start: treeOf(damage.LongOutputs), verb: trim},
		{name: "tree-trim-hard", store: tree, start: treeOf(damage.LongOutputs, damage.LongTexts), verb: trimHard, uncut: true},
		{name: "tree-uncompact", store: tree, start: treeOf("compacted", "blank answer"), verb: uncompact},
		{name: "tree-move", store: tree, start: treeOf(), verb: move},
		{name: "tree-clean-sessions", store: tree, start: treeOf(), verb: cleanSessions},
		{name: "tree-clean-images", store: tree, start: treeOf(damage.LongTexts), damage: addImages, verb: cleanImages},
		{name: "tree-restore-deleted", store: tree, start: treeOf(), setup: [][]string{keep}, damage: deleteSession, verb: restore, again: true},
		{name: "tree-restore-at", store: tree, start: treeOf(order...), setup: [][]string{keep, repair}, verb: restoreAt, again: true},
		{name: "tree-undo", store: tree, start: treeOf(order...), setup: [][]string{repair}, verb: undoFirst, back: redoFirst, forth: undoFirst},
		{name: "tree-redo", store: tree, start: treeOf(order...), setup: [][]string{repair, undoFirst}, verb: redoFirst, back: undoFirst, forth: redoFirst},
		{name: "tree-undo-session", store: tree, start: treeOf("blank answer", damage.LongOutputs), setup: [][]string{repair, trim}, verb: undoSession, back: []string{"redo", "FIRST", "--yes"}, forth: undoSession, uncut: true},
		{name: "tree-undo-force", store: tree, start: treeOf("blank prompt"), setup: [][]string{repair}, damage: writeRecord, verb: []string{"undo", "FIRST", "--force", "--yes"}, uncut: true},
		{name: "tree-gc", store: tree, start: treeOf(order...), setup: [][]string{repair}, verb: gc, gone: true},
		{name: "tree-forget", store: tree, start: treeOf(order...), setup: [][]string{repair}, verb: forget, gone: true},

		{name: "rows18-repair-order", store: rows18, start: rows(order...), verb: repair},
		{name: "rows18-repair-calls", store: rows18, start: rows(calls...), verb: repair, uncut: true},
		{name: "rows18-repair-records", store: rows18, start: rows(records...), verb: repair, uncut: true},
		{name: "rows18-repair-error", store: rows18, start: rows("reasoning last"), verb: repairError, uncut: true},
		{name: "rows18-conflict", store: rows18, start: rows("blank prompt"), verb: repair, foreign: writeRecord, uncut: false},
		{name: "rows18-orphans", store: rows18, start: rows("prompt gone, its parts stay"), verb: orphans},
		{name: "rows18-trim", store: rows18, start: rows(damage.LongOutputs), verb: trim},
		{name: "rows18-trim-hard", store: rows18, start: rows(damage.LongOutputs, damage.LongTexts), verb: trimHard, uncut: true},
		{name: "rows18-uncompact", store: rows18, start: rows("compacted", "blank answer"), verb: uncompact},
		{name: "rows18-move", store: rows18, start: rows(), verb: move},
		{name: "rows18-clean-events", store: rows18, start: rows(), verb: cleanEvents},
		{name: "rows18-clean-sessions", store: rows18, start: rows(), damage: sql(addChild), verb: cleanSessions},
		{name: "rows18-clean-images", store: rows18, start: rows(damage.LongTexts), damage: addImages, verb: cleanImages},
		{name: "rows18-clean-snapshots", store: rows18, start: rows(), damage: keepFiles, verb: snapshots},
		{name: "rows18-salvage", store: rows18, start: rows(), damage: zeroPage, bytes: true, verb: salvage},
		{name: "rows18-restore-archived", store: rows18, start: rows(), damage: sql("UPDATE session SET time_archived = 5"), verb: restore, again: true},
		{name: "rows18-restore-hidden", store: rows18, start: rows(), damage: sql("INSERT INTO project (id, worktree, time_created, time_updated, sandboxes) SELECT 'p2', worktree, 1, time_updated - 1, '[]' FROM project; UPDATE session SET project_id = 'p2'"), verb: restore, again: true},
		{name: "rows18-restore-deleted", store: rows18, start: rows(), setup: [][]string{keep}, damage: deleteSession, verb: restore, again: true},
		{name: "rows18-restore-subagents", store: rows18, start: func(m *maker) { rows()(m); sql(addChild)(m) }, setup: [][]string{keep}, damage: deleteSession, verb: restore, again: true, uncut: true},
		{name: "rows18-restore-from", store: rows18, start: rows(), damage: toOtherDatabase, verb: []string{"restore", "--from", "HOME/.local/share/opencode/opencode-dev.db", "--yes"}, again: true},
		{name: "rows18-restore-at", store: rows18, start: rows(order...), setup: [][]string{keep, repair}, verb: restoreAt, again: true},
		{name: "rows18-undo", store: rows18, start: rows(order...), setup: [][]string{repair}, verb: undoFirst, back: redoFirst, forth: undoFirst},
		{name: "rows18-redo", store: rows18, start: rows(order...), setup: [][]string{repair, undoFirst}, verb: redoFirst, back: undoFirst, forth: redoFirst},
		{name: "rows18-undo-session", store: rows18, start: rows("blank answer", damage.LongOutputs), setup: [][]string{repair, trim}, verb: undoSession, back: redoFirst, forth: undoSession, uncut: true},
		{name: "rows18-undo-clean", store: rows18, start: rows(), setup: [][]string{cleanSessions}, verb: undoFirst, back: redoFirst, forth: undoFirst},
		{name: "rows18-undo-salvage", store: rows18, start: func(m *maker) { rows()(m); zeroPage(m) }, setup: [][]string{salvage}, bytes: true, verb: undoFirst, back: redoFirst, forth: undoFirst},
		{name: "rows18-gc", store: rows18, start: rows(order...), setup: [][]string{repair}, verb: gc, gone: true},
		{name: "rows18-forget", store: rows18, start: rows(), setup: [][]string{cleanSessions}, verb: forgetEntry, gone: true},

		{name: "rows12-repair-order", store: rows12, start: old(order...), verb: repair},
		{name: "rows12-repair-ids", store: rows12, start: old("ids from before the clock's wrap"), verb: repair, uncut: true},
		{name: "rows12-move", store: rows12, start: old(), verb: move, uncut: true},
		{name: "rows12-clean-sessions", store: rows12, start: old(), verb: cleanSessions, uncut: true},
		{name: "rows12-salvage", store: rows12, start: old(), damage: zeroPage, bytes: true, verb: salvage, uncut: true},
		{name: "rows12-restore-deleted", store: rows12, start: old(), setup: [][]string{keep}, damage: deleteSession, verb: restore, again: true, uncut: true},

		{name: "lines-repair-order", store: lines, start: transcript("thinking after the text", "parent unknown twice", "empty text in a result"), verb: repair},
		{name: "lines-repair-torn", store: lines, start: transcript("line torn", "call without result"), verb: repair, uncut: true},
		{name: "lines-repair-calls", store: lines, start: transcript("call id with a colon", "input a string", "image without a source", "blank prompt"), verb: repair, uncut: true},
		{name: "lines-hook", store: lines, start: transcript("parent unknown"), verb: []string{"hook", "--agent", "claude", "--repair"}, input: sessionStart, uncut: true},
		{name: "lines-operation", store: lines, start: twoTranscripts, verb: []string{"repair", "--agent", "claude", "--yes"}, uncut: true},
		{name: "lines-trim", store: lines, start: transcript(), verb: []string{"trim", "SESSION", "--to", "1", "--keep-turns", "1", "--yes"}},
		{name: "lines-uncompact", store: lines, start: transcript("compaction that preserves nothing"), verb: uncompact},
		{name: "lines-move", store: lines, start: transcript(), verb: move},
		{name: "lines-clean-sessions", store: lines, start: transcript(), damage: besideTranscript, verb: cleanSessions},
		{name: "lines-clean-images", store: lines, start: transcript(), damage: enlargeImage, verb: cleanImages},
		{name: "lines-restore-deleted", store: lines, start: transcript(), setup: [][]string{keep}, damage: deleteSession, verb: restore, again: true},
		{name: "lines-restore-at", store: lines, start: transcript("parent unknown"), setup: [][]string{keep, repair}, verb: restoreAt, again: true},
		{name: "lines-undo", store: lines, start: transcript("parent unknown"), setup: [][]string{repair}, verb: undoFirst, back: redoFirst, forth: undoFirst},
		{name: "lines-redo", store: lines, start: transcript("parent unknown"), setup: [][]string{repair, undoFirst}, verb: redoFirst, back: undoFirst, forth: redoFirst},
		{name: "lines-gc", store: lines, start: transcript("parent unknown"), setup: [][]string{repair}, verb: gc, gone: true},
		{name: "lines-forget", store: lines, start: transcript(), setup: [][]string{cleanSessions}, verb: forgetEntry, gone: true},

		{name: "codex-repair-lines", store: rollouts, start: rollout("answer twice", "first line cut"), verb: repair},
		{name: "codex-repair-index", store: rollouts, start: rollout("a row with another path", "output missing, the first"), verb: repair},
		{name: "codex-repair-ordinal", store: rollouts, start: rollout("an ordinal twice", "encrypted content missing"), verb: []string{"repair", "SESSION", "--at-risk", "--yes"}, uncut: true},
		{name: "codex-conflict", store: rollouts, start: rollout("a row with another path", "answer twice"), verb: repair, foreign: writeRecord},
		{name: "codex-trim", store: rollouts, start: rollout("an output of 60 KB"), verb: []string{"trim", "SESSION", "--to", "1", "--keep-turns", "0", "--hard", "--yes"}},
		{name: "codex-uncompact", store: rollouts, start: rollout("compacted"), verb: uncompact},
		{name: "codex-move", store: rollouts, start: rollout("none"), verb: []string{"move", "/home/user/src/cx/base/work", "HOME/work", "--yes"}},
		{name: "codex-clean-sessions", store: rollouts, start: rollout("none"), verb: cleanSessions},
		{name: "codex-restore-archived", store: rollouts, start: rollout("file is archived", "a row of an archived session"), verb: restore, again: true},
		{name: "codex-restore-deleted", store: rollouts, start: rollout("none"), setup: [][]string{keep}, damage: deleteSession, verb: restore, again: true},
		{name: "codex-restore-at", store: rollouts, start: rollout("answer twice"), setup: [][]string{keep, repair}, verb: restoreAt, again: true, uncut: true},
		{name: "codex-undo", store: rollouts, start: rollout("answer twice", "a row with another path"), setup: [][]string{repair}, verb: undoFirst, back: redoFirst, forth: undoFirst},
		{name: "codex-redo", store: rollouts, start: rollout("answer twice", "a row with another path"), setup: [][]string{repair, undoFirst}, verb: redoFirst, back: undoFirst, forth: redoFirst},
		{name: "codex-forget", store: rollouts, start: rollout("answer twice"), setup: [][]string{repair}, verb: forget, gone: true},
	}
}

// openCode writes a store of OpenCode with damage.
func openCode(archive []byte, damages ...string) func(*maker) {
	return func(m *maker) {
		data := filepath.Join(m.home, ".local", "share")
		err := os.MkdirAll(data, 0o755)
		if err == nil {
			m.session, err = testdata.Unpack(archive, data)
		}
		if err != nil {
			m.Fatal(err)
		}
		for _, name := range damages {
			damage.Edit(m.T, m.openCodePath(), m.session, damage.ByName(m.T, name))
		}
	}
}

// openCodePath returns the path of the tree or the database.
func (m *maker) openCodePath() string {
	path := filepath.Join(m.home, ".local", "share", "opencode", "opencode.db")
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(filepath.Dir(path), "storage")
	}
	return path
}

func (m *maker) isOpenCode() bool { return strings.HasPrefix(m.store, "OpenCode") }

// records returns OpenCode's store.
func (m *maker) records() damage.Store {
	if m.store == tree {
		return damage.Tree{T: m.T, Root: m.openCodePath(), Session: m.session}
	}
	return damage.Database{SQL: damage.SQL(m.T, m.openCodePath())}
}

// sql runs statements on the database of OpenCode.
func sql(statements string) func(*maker) {
	return func(m *maker) {
		for s := range strings.SplitSeq(statements, "; ") {
			damage.SQL(m.T, m.openCodePath())(s)
		}
	}
}

// addChild adds a session of a subagent.
const addChild = "INSERT INTO session (id, parent_id, project_id, slug, directory, title, version, time_created, time_updated) SELECT 'ses_child', id, project_id, 'child', directory, 'A child', version, 1, 1 FROM session; " +
	"INSERT INTO message SELECT 'msg_c' || id, 'ses_child', time_created, time_updated, data FROM message"

// toOtherDatabase moves the session to another channel's database.
func toOtherDatabase(m *maker) {
	sql("PRAGMA wal_checkpoint(TRUNCATE)")(m)
	data, err := os.ReadFile(m.openCodePath())
	if err != nil {
		m.Fatal(err)
	}
	m.write(filepath.Join(filepath.Dir(m.openCodePath()), "opencode-dev.db"), data)
	sql("DELETE FROM part; DELETE FROM message; DELETE FROM session; DELETE FROM event; DELETE FROM event_sequence")(m)
}

// addImages adds a large image to the first prompt.
func addImages(m *maker) {
	s := m.records()
	p := damage.Parts(s, damage.FirstPrompt, "text")[0]
	s.Put(damage.Record{Table: "part", ID: p.ID + "y", Owner: p.Owner, Data: `{"type":"file","mime":"image/png","filename":"screen.png","url":"data:image/png;base64,` + strings.Repeat("A", 40000) + `"}`})
}

// keepFiles writes OpenCode's snapshots of files, for a project without sessions.
func keepFiles(m *maker) {
	dir := filepath.Join(filepath.Dir(m.openCodePath()), "snapshot", strings.Repeat("ab", 20), strings.Repeat("cd", 20))
	m.write(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"))
	m.write(filepath.Join(dir, "objects", "one"), []byte("1"))
}

// zeroPage zeroes the first page of an index: every row can still be read.
func zeroPage(m *maker) {
	sql("PRAGMA wal_checkpoint(TRUNCATE)")(m)
	const page = 4096
	rows := damage.SQL(m.T, m.openCodePath())("SELECT rootpage FROM sqlite_schema WHERE name = 'part_session_idx'")
	root, err := strconv.ParseInt(fmt.Sprint(rows[0]["rootpage"]), 10, 64)
	if err != nil {
		m.Fatal(err)
	}
	f, err := os.OpenFile(m.openCodePath(), os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, page), (root-1)*page)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		m.Fatal(err)
	}
}

// deleteSession removes the session from its store.
func deleteSession(m *maker) {
	var err error
	switch m.store {
	case tree:
		messages, _ := m.records().Records()
		names := []string{"message/" + m.session, "session_diff/" + m.session + ".json"}
		for _, r := range messages {
			names = append(names, "part/"+r.ID)
		}
		for _, name := range names {
			err = errors.Join(err, os.RemoveAll(filepath.Join(m.openCodePath(), name)))
		}
		files, _ := filepath.Glob(filepath.Join(m.openCodePath(), "session", "*", m.session+".json"))
		if len(files) != 1 {
			m.Fatalf("the tree has %d records of the session", len(files))
		}
		err = errors.Join(err, os.Remove(files[0]))
	case lines:
		err = os.Remove(m.transcriptPath())
	case rollouts:
		err = os.Remove(filepath.Join(m.home, ".codex", codex.File))
	default:
		sql("DELETE FROM part; DELETE FROM message; DELETE FROM session")(m)
	}
	if err != nil {
		m.Fatal(err)
	}
}

// transcript writes a transcript of Claude Code with damage.
func transcript(damages ...string) func(*maker) {
	return func(m *maker) {
		m.session = claude.Session
		t := claude.New()
		for _, name := range damages {
			d := claude.ByName(name)
			if d.Shape != "" {
				t = claude.Shape(d.Shape)
			}
			d.Apply(t)
		}
		m.write(m.transcriptPath(), t.Bytes())
	}
}

func (m *maker) transcriptPath() string {
	return filepath.Join(m.home, ".claude", "projects", "-home-user-project", claude.Session+".jsonl")
}

// twoTranscripts writes two broken sessions.
func twoTranscripts(m *maker) {
	transcript("empty text in a result")(m)
	data, err := os.ReadFile(m.transcriptPath())
	if err != nil {
		m.Fatal(err)
	}
	other := "c0000000-0000-4000-8000-000000000001"
	m.write(filepath.Join(filepath.Dir(m.transcriptPath()), other+".jsonl"), bytes.ReplaceAll(data, []byte(claude.Session), []byte(other)))
}

// besideTranscript writes files of the session beside its transcript.
func besideTranscript(m *maker) {
	dir := strings.TrimSuffix(m.transcriptPath(), ".jsonl")
	m.write(filepath.Join(dir, "tool-results", "t.txt"), []byte("a result\n"))
	m.write(filepath.Join(dir, "subagents", "agent-a1.jsonl"), claude.New().Bytes())
}

// enlargeImage makes the images in the transcript large.
func enlargeImage(m *maker) {
	data, err := os.ReadFile(m.transcriptPath())
	if err != nil {
		m.Fatal(err)
	}
	m.write(m.transcriptPath(), bytes.ReplaceAll(data, []byte("iVBOR"), []byte(strings.Repeat("AAAA", 10000)+"iVBOR")))
}

// sessionStart is the input of a hook when Claude Code resumes the session.
func sessionStart(m *maker) string {
	return fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"cwd":"/","hook_event_name":"SessionStart","source":"resume"}`, m.session, m.transcriptPath())
}

// rollout writes a home of Codex, with damage.
func rollout(damages ...string) func(*maker) {
	return func(m *maker) {
		m.session = testdata.CodexSession
		h := codex.NewHome(m.T, "")
		for _, name := range []string{"state_5.sqlite", "thread_history_1.sqlite"} {
			h.Write(name, m.fixture("codex-0.169.0/base/"+name))
		}
		h.SQL("UPDATE threads SET rollout_path = '" + filepath.Join(m.home, ".codex", codex.File) + "'")
		var all []codex.Damage
		for _, name := range damages {
			all = append(all, codex.ByName(name))
		}
		h.Damage(all...)
		h.Write("config.toml", []byte("model = \"x\"\n"))
		if err := os.CopyFS(filepath.Join(m.home, ".codex"), os.DirFS(h.Root())); err != nil {
			m.Fatal(err)
		}
	}
}

// fixture returns a file from the archive of the real Codex's stores.
func (m *maker) fixture(name string) []byte {
	f, err := os.Open(filepath.Join(*fixtures, "codex-0.169.0.tar.gz"))
	if err != nil {
		m.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		m.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err != nil {
			m.Fatalf("%s: %v", name, err)
		}
		if h.Name == name {
			data, err := io.ReadAll(tr)
			if err != nil {
				m.Fatal(err)
			}
			return data
		}
	}
}

func (m *maker) write(path string, data []byte) {
	m.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		m.Fatal(err)
	}
}

// writeRecord changes a record that the verb changed, as another program would.
func writeRecord(m *maker) {
	if m.isOpenCode() {
		damage.Text(damage.SecondPrompt, "written by another program")(m.records())
		return
	}
	damage.SQL(m.T, filepath.Join(m.home, ".codex", "state_5.sqlite"))("UPDATE threads SET rollout_path = '/written/by/another/program.jsonl'")
}
