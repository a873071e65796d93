package faulttest_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/keep"
	"mend/internal/test/claude"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
)

// damageStore damages three messages so that their repair creates a folder, and creates, changes and deletes files.
func (sb *sandbox) damageStore() {
	sb.Helper()
	if sb.kind == lines {
		sb.writeTranscript()
		return
	}
	if sb.kind == rollouts {
		sb.writeRollout()
		return
	}
	var s damage.Store = damage.Database{SQL: damage.SQL(sb.T, sb.store)}
	if sb.kind == tree {
		s = damage.Tree{T: sb.T, Root: sb.store, Session: sb.session}
	}
	switch {
	case sb.many:
		runningCalls(s)
		return
	case sb.aside:
		part := damage.Parts(s, damage.Hello, "text")[0]
		part.ID, part.Data = part.ID+"x", `{"type":"novelty"}`
		s.Put(part)
		return
	}
	for _, name := range []string{"reasoning last", "blank prompt", "first prompt lost its parts"} {
		damage.ByName(sb.T, name)(s)
	}
	if sb.kind == tree { // the agent also removes empty folders
		messages, _ := s.Records()
		if err := os.Remove(filepath.Join(sb.store, "part", messages[damage.FirstPrompt].ID)); err != nil {
			sb.Fatal(err)
		}
	}
}

// writeTranscript writes a transcript with a torn end and three kinds of damage.
func (sb *sandbox) writeTranscript() {
	sb.Helper()
	t := claude.New()
	for _, name := range []string{"thinking after the text", "parent unknown twice", "empty text in a result"} {
		claude.ByName(name).Apply(t)
	}
	data := append(t.Bytes(), `{"type":"mode","mo`...)
	if sb.aside {
		data = claude.ByName("unknown block").Broken()
	}
	file := filepath.Join(sb.store, "projects", "-home-user-project", claude.Session+".jsonl")
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		sb.Fatal(err)
	}
}

// writeRollout writes a rollout with two kinds of damage, and a row with another path.
func (sb *sandbox) writeRollout() {
	sb.Helper()
	file := filepath.Join(sb.store, codex.File)
	broken := bytes.Replace(codex.ByName("answer twice").Broken(), []byte(`"type":"session_meta"`), []byte(`"type":"session_met`), 1)
	place := "/nowhere.jsonl"
	if sb.aside {
		broken, place = codex.ByName("a part of no known type").Broken(), file
	}
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(sb.store, "config.toml"), []byte("model_provider = \"fake\"\n[model_providers.fake]\n"), 0o600)
	}
	if err == nil {
		err = os.WriteFile(file, broken, 0o600)
	}
	if err != nil {
		sb.Fatal(err)
	}
	index := damage.SQL(sb.T, filepath.Join(sb.store, codexIndex)) // runs one statement
	index("PRAGMA journal_mode = wal")
	index("CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, cwd TEXT NOT NULL DEFAULT '/home/user/src/cx/base/work', first_user_message TEXT NOT NULL DEFAULT 'x', preview TEXT NOT NULL DEFAULT 'x')")
	index("INSERT INTO threads (id, rollout_path) VALUES (?1, ?2)", sb.session, place)
}

// codexIndex is the name of the database with the rows of sessions.
const codexIndex = "state_5.sqlite"

// runningCalls adds calls that are still running.
func runningCalls(s damage.Store) {
	tool := damage.Parts(s, damage.OneCall, "tool")[0]
	for i := range 20 {
		one := tool.Edit(func(p map[string]any) {
			p["callID"] = fmt.Sprintf("call_many_%d", i)
			p["state"] = map[string]any{"status": "running", "input": map[string]any{"command": "x"}, "time": map[string]any{"start": 1}}
		})
		one.ID += fmt.Sprintf("z%02d", i)
		s.Put(one)
	}
}

// leaveWal runs f, and leaves its writes in a -wal, as the agent does.
func (sb *sandbox) leaveWal(f func()) {
	sb.Helper()
	agent, err := sqlite3.Open(sb.store)
	if err == nil {
		err = agent.Exec("PRAGMA wal_autocheckpoint=0; SELECT 1 FROM session")
	}
	if err != nil {
		sb.Fatal(err)
	}
	f() // its connections are not the last to close
	left, err := readState(filepath.Dir(sb.store))
	err = errors.Join(err, agent.Close()) // the last one checkpoints the -wal
	base := filepath.Base(sb.store)
	err = errors.Join(err, left[base].put(sb.store, true), left[base+"-wal"].put(sb.store+"-wal", false))
	if err != nil {
		sb.Fatal(err)
	}
}

// damagePage zeroes the first page of an index: every row can still be read.
func (sb *sandbox) damagePage() {
	sb.Helper()
	const page = 4096
	rows := damage.SQL(sb.T, sb.store)("SELECT rootpage FROM sqlite_schema WHERE name = 'part_session_idx'")
	root, err := strconv.ParseInt(fmt.Sprint(rows[0]["rootpage"]), 10, 64)
	if err != nil {
		sb.Fatal(err)
	}
	f, err := os.OpenFile(sb.store, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, page), (root-1)*page)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		sb.Fatal(err)
	}
}

// keepSnapshots writes OpenCode's snapshots of a project without sessions.
func (sb *sandbox) keepSnapshots() {
	sb.Helper()
	dir := filepath.Join(sb.snapshots(), strings.Repeat("ab", 20), strings.Repeat("cd", 20))
	err := os.MkdirAll(filepath.Join(dir, "objects"), 0o755)
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n", "objects/one": "1"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if err != nil {
		sb.Fatal(err)
	}
}

// snapshots is OpenCode's folder of snapshots.
func (sb *sandbox) snapshots() string { return filepath.Join(filepath.Dir(sb.store), "snapshot") }

// bytes returns the files of the database.
func (sb *sandbox) bytes() snapshot {
	sb.Helper()
	all := snapshot{}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(sb.store + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			sb.Fatal(err)
		}
		if len(data) > 0 {
			all["database"+suffix] = fmt.Sprintf("%x", sha256.Sum256(data))
		}
	}
	return all
}

// records returns the content of the store, without mend's files.
func (sb *sandbox) records() snapshot {
	sb.Helper()
	if sb.pages {
		return sb.bytes()
	}
	key, known := sb.key()
	if all, ok := sb.known[key]; known && ok {
		return maps.Clone(all)
	}
	all, err := damage.Snapshot(sb.store)
	if err != nil {
		sb.Fatal(err)
	}
	maps.DeleteFunc(all, func(name, _ string) bool {
		isLock := strings.HasPrefix(name, "thread-writer-locks")
		return name == "." || name == ".mend" || strings.HasPrefix(name, ".mend/") || isLock || strings.HasPrefix(name, codexIndex)
	})
	if sb.kind == rollouts {
		rows, err := damage.Snapshot(filepath.Join(sb.store, codexIndex))
		if err != nil {
			sb.Fatal(err)
		}
		maps.Copy(all, rows)
	}
	if known {
		sb.known[key] = maps.Clone(all)
	}
	return all
}

// key identifies the content of a database that no process has open: equal bytes mean equal rows, and reading
// the rows is slow.
func (sb *sandbox) key() (key digest, ok bool) {
	if sb.kind.isFiles() {
		return key, false
	}
	if info, err := os.Stat(sb.store + "-wal"); !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Size() > 0) {
		return key, false
	}
	data, err := os.ReadFile(sb.store)
	return digest(sha256.Sum256(data)), err == nil
}

// snapshot returns the records, the snapshots of OpenCode, the forgotten entries and, for some verbs, the copies.
func (sb *sandbox) snapshot() snapshot {
	sb.Helper()
	all := sb.records()
	copies, err := readState(sb.snapshots())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		sb.Fatal(err)
	}
	for p, e := range copies {
		all["snapshot "+p] = e.mode.String() + e.data
	}
	for _, e := range sb.entries() {
		if e.Forgotten {
			all["journal "+e.ID] = "forgotten"
		}
	}
	if sb.makesCopy() {
		if err := sb.addCopies(all); err != nil {
			all["copies"] = err.Error()
		}
	}
	return all
}

// addCopies adds the copies, after checking every byte.
func (sb *sandbox) addCopies(all snapshot) error {
	k, err := keep.Open(sb.journal(), keep.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = k.Close() }()
	states, err := k.States(keep.Query{})
	if err != nil {
		return err
	}
	for _, s := range states {
		ops, err := k.Load(sb.Context(), s)
		if err != nil {
			return err
		}
		sum := sha256.New()
		for _, o := range ops {
			fmt.Fprintf(sum, "%s %o %q\n", o.Ref, o.Post.Mode, o.Post.Data)
		}
		all["copy "+s.ID] = fmt.Sprintf("%d messages, %x", s.Messages, sum.Sum(nil))
	}
	_, err = k.Verify()
	return err
}

// lastScan matches the cache of the last scan, and a staged one that a cut has left: a later scan removes that.
var lastScan = regexp.MustCompile(`/cache/mend/\.?scan-[0-9a-f]+$`)

// leftovers lists files that should not exist: in mend's folder of the tree all but the kept files, and in the folders of the
// journal and of the cache all but their own files.
func (sb *sandbox) leftovers() []string {
	var left []string
	for _, pattern := range []string{filepath.Join(sb.store, ".mend", "*"), filepath.Join(sb.journal(), "*"), filepath.Join(sb.live, "cache", "mend", "*")} {
		found, _ := filepath.Glob(pattern)
		left = append(left, found...)
	}
	return slices.DeleteFunc(left, func(p string) bool {
		return slices.Contains([]string{"journal.db", "journal.lock", "keep.db", "keep.lock", "kept"}, filepath.Base(p)) || lastScan.MatchString(p)
	})
}
