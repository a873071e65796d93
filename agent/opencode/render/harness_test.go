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

	"mend/agent/opencode/database"
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/request"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/testdata"
)

// A row is a message or a part of the fixture's session, in a tree or in a database.
type row struct {
	table   string // "message" or "part"
	id      string
	owner   string // a part's message
	created int64  // a column of the database
	fields  map[string]any
	raw     *string // stored instead of fields, if not nil
}

// data returns the JSON that is stored. In a file it has the ids.
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

// A harness has a running agent and the fixture's session, which each trial changes.
type harness struct {
	t       testing.TB
	profile render.Profile // of the tested version
	session string
	dir     string // the agent's data directory
	api     *endpoint.Server
	agent   *opencode.Server
	db      *sqlite3.Conn // nil for a tree of files
	newest  bool          // the version has the newest schema
	model   string        // of the session's row, in the newest schema

	pristine []row
	rows     []*row         // as the trial changed them
	info     map[string]any // fields that the trial sets in the session's record
	stray    map[string]string
	reads    func(request.Model, string) (reads, known bool)
	noModel  bool // the session's row names no model
}

// archive returns the fixture in the format of a version, and whether that has the newest schema.
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

// newHarness starts an agent of a version.
func newHarness(t testing.TB, version string, thinking bool) *harness {
	t.Helper()
	return newHarnessFrom(t, version, thinking, "text", "image", "pdf")
}

// newHarnessFrom is newHarness with a model that supports the given kinds of input.
func newHarnessFrom(t testing.TB, version string, thinking bool, input ...string) *harness {
	t.Helper()
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, thinking)
	l := &harness{t: t, profile: render.ProfileFor(version), dir: h.DataDir(), api: api}
	l.readMedia(input)
	fixture, newest := archive(version)
	l.session, l.newest = h.Unpack(fixture), newest
	if file := filepath.Join(l.dir, "opencode.db"); exists(file) {
		l.db = openDB(t, file)
	}
	l.readStore()
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

// readMedia configures what the model supports.
func (l *harness) readMedia(input []string) {
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
func (l *harness) open() *record.Session {
	l.t.Helper()
	head := change.Head{ID: l.session}
	var s *record.Session
	if l.db == nil {
		store, err := tree.Open(l.dir, false, tree.Options{})
		if err != nil {
			l.t.Fatal(err)
		}
		s, _, err = store.Load(context.Background(), head)
		if err != nil {
			l.t.Fatal(err)
		}
		return s
	}
	store, err := database.Open(l.dir, database.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	s, _, err = store.Load(context.Background(), head)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}
