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

	"mend/internal/test/endpoint"
	"mend/internal/test/mutation"
	"mend/testdata"
)

// oracleTimeout is how long an Oracle waits for the program; one that is alive takes a
// fifth of a second.
const oracleTimeout = 20 * time.Second

// An Oracle is a running server whose store a test replaces by exact copies, entry by
// entry and row by row. Unlike a [StoreRunner] it changes no session's id, so that entries
// that do not belong into a store are copied too.
type Oracle struct {
	*StoreRunner
	healthy      string   // data directory with the healthy store
	ids          []string // of the healthy store's session, messages and parts
	tokens       atomic.Int64
	needsRestart bool   // the program may be busy or hung
	notListed    string // see Listed
}

// ServeOracle starts a server on the fixture in archive.
func (h *Home) ServeOracle(archive []byte) *Oracle {
	h.t.Helper()
	o := &Oracle{StoreRunner: h.ServeStores(archive), healthy: h.t.TempDir()}
	if err := o.prepare(archive); err != nil {
		h.t.Fatalf("preparing a store: %v", err)
	}
	if err := o.collectIDs(); err != nil {
		h.t.Fatalf("reading the prepared store: %v", err)
	}
	return o
}

// prepare makes the healthy store, with the project as the program knows it.
func (o *Oracle) prepare(archive []byte) error {
	other := &Home{t: o.home.t, program: o.home.program, exe: o.home.exe, api: o.home.api, dir: o.healthy}
	if err := os.MkdirAll(other.path(".local/share"), 0o755); err != nil {
		return err
	}
	if _, err := testdata.Unpack(archive, other.path(".local/share")); err != nil {
		return err
	}
	if !exists(o.file(other)) {
		record := "storage/project/global.json"
		data, err := os.ReadFile(filepath.Join(o.home.DataDir(), record))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(other.DataDir(), record), data, 0o644); err != nil {
			return err
		}
		storage := filepath.Join(other.DataDir(), "storage")
		return renameTree(storage, storage, func(data []byte) []byte {
			return bytes.ReplaceAll(data, []byte("/home/user/project"), []byte(o.home.Project()))
		})
	}
	db, err := sqlite3.Open(o.file(other))
	if err != nil {
		return err
	}
	script := []string{
		"pragma foreign_keys = off", "pragma journal_mode = delete",
		"update session set directory = " + sqlite3.Quote(o.home.Project()),
		"update message set data = replace(data, '/home/user/project', " + sqlite3.Quote(o.home.Project()) + ")",
		"attach " + sqlite3.Quote(o.file(o.home)) + " as live",
		"delete from project", "insert into project select * from live.project", "detach live",
	}
	return errors.Join(db.Exec(strings.Join(append(script, "vacuum"), ";")), db.Close())
}

func (o *Oracle) collectIDs() error {
	other := &Home{program: o.home.program, dir: o.healthy}
	path := o.file(other)
	if !exists(path) {
		path = filepath.Join(other.DataDir(), "storage")
	}
	s, err := mutation.Open(path, o.session)
	if err != nil {
		return err
	}
	o.ids = []string{o.session}
	for _, table := range []string{"message", "part"} {
		for _, r := range s.Records[table] {
			o.ids = append(o.ids, r.ID)
		}
	}
	return s.Close()
}

func (o *Oracle) file(h *Home) string { return h.database(h.DataDir()) }

// Healthy writes the healthy store to the data directory dir, with new ids of its session,
// messages and parts: after an answer the program still writes to the messages for a
// moment, and would find the same ids in the next store. It returns the path of the store
// and the session's id.
func (o *Oracle) Healthy(dir string) (path, id string, err error) {
	o.tries++
	fresh := func(id string) string { return fmt.Sprintf("%s%05d", id[:len(id)-5], o.tries) }
	id = fresh(o.session)
	pairs := make([]string, 0, 2*len(o.ids))
	for _, old := range o.ids {
		pairs = append(pairs, old, fresh(old))
	}
	r := strings.NewReplacer(pairs...)
	from := (&Home{program: o.home.program, dir: o.healthy}).DataDir()
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

// Try replaces the program's store by the one at path and sends one more prompt in the
// session. With forget the program first drops what it knows of projects. Try also returns
// the prompt.
func (o *Oracle) Try(path, id string, forget bool) (Result, string, error) {
	if o.needsRestart {
		o.restart()
	}
	if err := o.exchange(path); err != nil {
		return Result{}, "", fmt.Errorf("exchanging the store: %w", err)
	}
	if forget {
		o.server.do(o.home.t.Context(), http.MethodPost, "/instance/dispose", nil)
	}
	o.notListed = o.checkListed(id)
	prompt := fmt.Sprintf("one more, number %d", o.tokens.Add(1))
	before := len(o.home.api.Calls())
	r := o.send(id, prompt, oracleTimeout)
	// Drop requests that another session still sends.
	calls := slices.DeleteFunc(o.home.api.Calls()[before:], func(c endpoint.Call) bool {
		return bytes.Contains(c.Raw, []byte("one more, number ")) && !bytes.Contains(c.Raw, []byte(prompt))
	})
	r = r.withCalls(calls)
	if len(r.Calls) == 0 && len(calls) > 0 { // all tools are denied; it is no request for a title, since the session has one
		for i := range calls {
			calls[i].Request.Tools = []json.RawMessage{nil}
		}
		r = r.withCalls(calls)
	}
	if r.Verdict == Alive && failed(r.Output) {
		r.Verdict = Dead
	}
	o.needsRestart = forget || r.TimedOut || r.Code < 0
	return r, prompt, nil
}

// failed reports whether a reply is an answer with an error. The requests before it may have been
// accepted, as that for a compaction.
func failed(reply string) bool {
	var r struct {
		Info struct{ Error struct{ Name string } }
	}
	name := &r.Info.Error.Name
	return json.Unmarshal([]byte(reply), &r) == nil && *name != "" && *name != "MessageAbortedError"
}

// restart starts the program again, on a healthy store.
func (o *Oracle) restart() {
	o.server.Close()
	if path, id, err := o.Healthy(o.home.t.TempDir()); err == nil && o.exchange(path) == nil {
		o.server = o.home.Serve()
		o.server.Prompt(id, "is it well?")
	}
	o.needsRestart = false
}

// Listed reports whether the program listed the session and returned its page before the
// last prompt, and otherwise why not. A user could not continue such a session.
func (o *Oracle) Listed() (bool, string) { return o.notListed == "", o.notListed }

// checkListed requests the list of sessions and the session's page.
func (o *Oracle) checkListed(id string) (notListed string) {
	status, list := o.server.do(o.home.t.Context(), http.MethodGet, "/session", nil)
	if status != http.StatusOK || !strings.Contains(list, id) {
		return fmt.Sprintf("the list of sessions has status %d, %.300s", status, list)
	}
	if status, page := o.server.do(o.home.t.Context(), http.MethodGet, "/session/"+id, nil); status != http.StatusOK {
		return fmt.Sprintf("the session's page has status %d, %.300s", status, page)
	}
	return ""
}

func (o *Oracle) exchange(path string) error {
	if filepath.Ext(path) != ".db" {
		to := filepath.Join(o.home.DataDir(), "storage")
		if err := removeAll(to); err != nil {
			return err
		}
		return mutation.Copy(path, to)
	}
	db, err := sqlite3.Open(o.file(o.home))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	script := []string{"pragma foreign_keys = off", "attach " + sqlite3.Quote(path) + " as changed", "begin immediate"}
	tables := []string{"project", "session", "message", "part"}
	for _, table := range []string{"workspace", "event_sequence", "event"} {
		if mutation.HasTable(db, table) {
			tables = append(tables, table)
		}
	}
	for _, table := range tables {
		script = append(script, "delete from main."+table, fmt.Sprintf("insert into main.%[1]s select * from changed.%[1]s", table))
	}
	return errors.Join(db.BusyTimeout(timeout), db.Exec(strings.Join(append(script, "commit"), ";")))
}
