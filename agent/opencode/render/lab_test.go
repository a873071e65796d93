//go:build e2e

package render_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/render"
	"mend/agent/opencode/tree"
	"mend/internal/endpoint"
	"mend/internal/opencode"
	"mend/request"
	"mend/session"
	"mend/sqlstore"
	"mend/testdata"
)

// A row is a message or a part of the fixture's session, of either generation
// of stores.
type row struct {
	table   string // "message" or "part"
	id      string
	owner   string // a part's message
	created int64  // a column of the database
	fields  map[string]any
	raw     *string // what is stored instead of fields
}

// data is the JSON that is stored: in a file the ids are in it.
func (r row) data(session string, file bool) string {
	if r.raw != nil {
		return *r.raw
	}
	fields := maps.Clone(r.fields)
	if file {
		fields["id"], fields["sessionID"] = r.id, session
		if r.table == "part" {
			fields["messageID"] = r.owner
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A lab has one running agent, and the fixture's session, which each test cuts
// anew.
type lab struct {
	t       testing.TB
	version string
	profile render.Profile // that is judged
	session string
	dir     string // the agent's data directory
	api     *endpoint.Server
	agent   *opencode.Server
	db      *sqlite3.Conn // nil for a tree of files
	newest  bool          // of the newest generation
	model   string        // that the session's row names, in the newest

	pristine []row
	rows     []*row         // as the test has cut them
	info     map[string]any // what the test sets in the session's record
	stray    map[string]string
	reads    func(request.Model, string) (reads, known bool)
	// unmodelled: the session's row names no model.
	unmodelled bool
}

// archive is the fixture that a version takes for its own.
func archive(version string) (data []byte, newest bool) {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		panic(err)
	}
	switch {
	case major == 1 && minor < 2:
		return testdata.OpenCode1153, false
	case major == 1 && minor < 18:
		return testdata.OpenCode1227, false
	}
	return testdata.OpenCode11833, true
}

// newLab starts an agent of a version.
func newLab(t testing.TB, version string, thinking bool) *lab {
	t.Helper()
	return newLabOf(t, version, thinking, "text", "image", "pdf")
}

// newLabOf is newLab with a model that takes these kinds of input.
func newLabOf(t testing.TB, version string, thinking bool, input ...string) *lab {
	t.Helper()
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, thinking)
	l := &lab{t: t, version: version, profile: render.ProfileFor(version), dir: h.DataDir(), api: api}
	l.readMedia(input)
	fixture, newest := archive(version)
	l.session, l.newest = h.Unpack(fixture), newest
	if file := filepath.Join(l.dir, "opencode.db"); exists(file) {
		l.db = openDB(t, file)
	}
	l.load()
	l.agent = h.Serve()
	return l
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

func openDB(t testing.TB, file string) *sqlite3.Conn {
	db, err := sqlite3.OpenFlags(file, sqlite3.OPEN_READWRITE)
	if err == nil {
		err = db.Exec("PRAGMA busy_timeout=10000; PRAGMA foreign_keys=OFF")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// readMedia tells the agent what its model reads.
func (l *lab) readMedia(input []string) {
	file := filepath.Join(l.dir, "../../../.config/opencode/opencode.json")
	data, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(data, &config); err != nil {
		l.t.Fatal(err)
	}
	model := config["provider"].(fields)["anthropic"].(fields)["models"].(fields)["claude-fake"].(fields)
	model["attachment"], model["modalities"] = true, fields{"input": input, "output": []string{"text"}}
	if data, err = json.Marshal(config); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// open opens the store as mend does, and loads the session.
func (l *lab) open() *session.Session {
	l.t.Helper()
	head := session.Session{ID: l.session}
	var s *session.Session
	if l.db == nil {
		store, err := tree.Open(l.dir, "", tree.Options{})
		if err != nil {
			l.t.Fatal(err)
		}
		s, err = store.Load(context.Background(), head)
		if err != nil {
			l.t.Fatal(err)
		}
		return s
	}
	store, err := sqlstore.Open(l.dir, sqlstore.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	s, err = store.Load(context.Background(), head)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}
