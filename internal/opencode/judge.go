package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/endpoint"
	"mend/internal/mutation"
	"mend/testdata"
)

// patience is how long a Judge waits for the program; one that is alive takes a
// fifth of a second.
const patience = 20 * time.Second

// A Judge is a running server under which a test exchanges the store, entry by
// entry and row by row as it stands elsewhere: unlike a [Bench] it changes no
// session's id, so that also what does not belong into a store gets there.
type Judge struct {
	*Bench
	healthy string   // a data directory
	ids     []string // of its session, messages and parts
	tokens  atomic.Int64
	spoilt  bool   // the program is no longer as it was at its start
	hidden  string // see Shown
}

// Judge starts a server on the fixture that is in archive.
func (h *Home) Judge(archive []byte) *Judge {
	h.t.Helper()
	j := &Judge{Bench: h.Bench(archive), healthy: h.t.TempDir()}
	if err := j.prepare(archive); err != nil {
		h.t.Fatalf("preparing a store: %v", err)
	}
	if err := j.collectIDs(); err != nil {
		h.t.Fatalf("reading the prepared store: %v", err)
	}
	return j
}

// prepare makes the healthy store, with the project as the program knows it.
func (j *Judge) prepare(archive []byte) error {
	other := &Home{t: j.home.t, exe: j.home.exe, api: j.home.api, dir: j.healthy}
	if err := os.MkdirAll(other.path(".local/share"), 0o755); err != nil {
		return err
	}
	if _, err := testdata.Unpack(archive, other.path(".local/share")); err != nil {
		return err
	}
	if !exists(j.file(other)) {
		record := "storage/project/global.json"
		data, err := os.ReadFile(filepath.Join(j.home.DataDir(), record))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(other.DataDir(), record), data, 0o644)
	}
	db, err := sqlite3.Open(j.file(other))
	if err != nil {
		return err
	}
	script := []string{
		"pragma foreign_keys = off", "pragma journal_mode = delete",
		"update session set directory = " + sqlite3.Quote(j.home.Project()),
		"update message set data = replace(data, '/home/user/project', " + sqlite3.Quote(j.home.Project()) + ")",
		"attach " + sqlite3.Quote(j.file(j.home)) + " as live",
		"delete from project", "insert into project select * from live.project", "detach live",
	}
	for _, table := range []string{"event", "event_sequence"} {
		if st, _, err := db.Prepare("select 1 from " + table); err == nil {
			_ = st.Close()
			script = append(script, "delete from "+table)
		}
	}
	return errors.Join(db.Exec(strings.Join(append(script, "vacuum"), ";")), db.Close())
}

func (j *Judge) collectIDs() error {
	other := &Home{dir: j.healthy}
	path := j.file(other)
	if !exists(path) {
		path = filepath.Join(other.DataDir(), "storage")
	}
	s, err := mutation.Open(path, j.session)
	if err != nil {
		return err
	}
	j.ids = []string{j.session}
	for _, table := range []string{"message", "part"} {
		for _, r := range s.Records[table] {
			j.ids = append(j.ids, r.ID)
		}
	}
	return s.Close()
}

func (j *Judge) file(h *Home) string { return filepath.Join(h.DataDir(), "opencode.db") }

// Healthy makes a data directory of dir: the healthy store, whose session, messages
// and parts have ids that were in no store before. After it has answered a prompt the
// program still writes to its messages for a moment, and finds them by their ids, in
// the next store too. It returns the path of the store and the session's id.
func (j *Judge) Healthy(dir string) (path, id string, err error) {
	j.tries++
	fresh := func(id string) string { return fmt.Sprintf("%s%05d", id[:len(id)-5], j.tries) }
	id = fresh(j.session)
	pairs := make([]string, 0, 2*len(j.ids))
	for _, old := range j.ids {
		pairs = append(pairs, old, fresh(old))
	}
	r := strings.NewReplacer(pairs...)
	from := (&Home{dir: j.healthy}).DataDir()
	renamed := func(data []byte) []byte { return []byte(r.Replace(string(data))) }
	if db := filepath.Join(from, "opencode.db"); exists(db) {
		data, err := os.ReadFile(db)
		path = filepath.Join(dir, "opencode.db")
		return path, id, errors.Join(err, os.WriteFile(path, renamed(data), 0o644)) // ids are of one length, and sort as before
	}
	path = filepath.Join(dir, "storage")
	return path, id, renameTree(filepath.Join(from, "storage"), path, renamed)
}

// renameTree copies a tree of regular files, with other names and contents.
func renameTree(from, to string, renamed func([]byte) []byte) error {
	return filepath.WalkDir(from, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, string(renamed([]byte(strings.TrimPrefix(name, from)))))
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, renamed(data), 0o644)
	})
}

// Try puts the store at path in place of the program's, and sends one more prompt
// in the session of that id. With forget the program reads again what it knows of
// projects, which it keeps even where it could not read it.
func (j *Judge) Try(path, id string, forget bool) (Result, string, error) {
	if j.spoilt {
		j.restart()
	}
	if err := j.exchange(path); err != nil {
		return Result{}, "", fmt.Errorf("exchanging the store: %w", err)
	}
	if forget {
		j.server.do(j.home.t.Context(), http.MethodPost, "/instance/dispose", nil)
	}
	j.hidden = j.look(id)
	prompt := fmt.Sprintf("one more, number %d", j.tokens.Add(1))
	before := len(j.home.api.Calls())
	r := j.send(id, prompt, patience)
	// What another session still sends is not of this one.
	calls := slices.DeleteFunc(j.home.api.Calls()[before:], func(c endpoint.Call) bool {
		return bytes.Contains(c.Raw, []byte("one more, number ")) && !bytes.Contains(c.Raw, []byte(prompt))
	})
	r = r.of(calls)
	if len(r.Calls) == 0 && len(calls) > 0 { // all tools are denied: no question for a title, since the session has one
		for i := range calls {
			calls[i].Request.Tools = []json.RawMessage{nil}
		}
		r = r.of(calls)
	}
	j.spoilt = forget || r.TimedOut || r.Code < 0
	return r, prompt, nil
}

// restart starts the program again, on a healthy store.
func (j *Judge) restart() {
	j.server.Close()
	if path, id, err := j.Healthy(j.home.t.TempDir()); err == nil && j.exchange(path) == nil {
		j.server = j.home.Serve()
		j.server.Prompt(id, "is it well?")
	}
	j.spoilt = false
}

// Shown reports whether the program, before the last prompt, listed its sessions, that
// one among them, and showed it, or else why not: no user could continue it.
func (j *Judge) Shown() (bool, string) { return j.hidden == "", j.hidden }

// look asks the program for its list of sessions and for the session.
func (j *Judge) look(id string) (hidden string) {
	status, list := j.server.do(j.home.t.Context(), http.MethodGet, "/session", nil)
	if status != http.StatusOK || !strings.Contains(list, id) {
		return fmt.Sprintf("the list of sessions has status %d, %.300s", status, list)
	}
	if status, page := j.server.do(j.home.t.Context(), http.MethodGet, "/session/"+id, nil); status != http.StatusOK {
		return fmt.Sprintf("the session's page has status %d, %.300s", status, page)
	}
	return ""
}

func (j *Judge) exchange(path string) error {
	if filepath.Ext(path) != ".db" {
		to := filepath.Join(j.home.DataDir(), "storage")
		if err := removeAll(to); err != nil {
			return err
		}
		return mutation.Copy(path, to)
	}
	db, err := sqlite3.Open(j.file(j.home))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	script := []string{"pragma foreign_keys = off", "attach " + sqlite3.Quote(path) + " as changed", "begin immediate"}
	for _, table := range []string{"project", "session", "message", "part"} {
		script = append(script, "delete from main."+table, fmt.Sprintf("insert into main.%[1]s select * from changed.%[1]s", table))
	}
	return errors.Join(db.BusyTimeout(timeout), db.Exec(strings.Join(append(script, "commit"), ";")))
}
