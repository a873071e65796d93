package mend

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/testdata"
)

func (b *scanFixture) database() string { return filepath.Join(b.dir, "opencode/opencode.db") }

// alter runs statements on the database, as another program would.
func (b *scanFixture) alter(sql string) {
	b.t.Helper()
	db, err := sqlite3.Open(b.database())
	b.must(err)
	b.must(db.Exec("PRAGMA foreign_keys=OFF; " + sql))
	b.must(db.Close())
}

// wantRescan checks that a scan with the cache asks the store or not, reads so many sessions, and reports these rules.
func (b *scanFixture) wantRescan(when string, asked bool, read int, rules ...string) {
	b.t.Helper()
	got, st := b.pass((*Store).WithCache)
	if st.asked != asked || len(st.read) != read || !slices.Equal(got, rules) {
		b.t.Errorf("%s: asked %t, %d sessions read, rules %v; want %t, %d, %v", when, st.asked, len(st.read), got, asked, read, rules)
	}
}

// addSession adds a second session, so that one can change without the other.
const addSession = `INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
	SELECT 'ses_0', project_id, slug, directory, title, version, time_created, time_updated FROM session LIMIT 1`

// TestRescanOfDatabase: after these changes of a database or the cache, the next scan reads the changed sessions only.
func TestRescanOfDatabase(t *testing.T) {
	const ofPart = ` WHERE data LIKE '%"Running."%'`
	rows := []struct {
		name  string
		do    func(b *scanFixture)
		asked bool
		read  int
		want  []string
	}{
		{"nothing", func(*scanFixture) {}, false, 0, nil},
		{"another time", func(b *scanFixture) {
			b.must(os.Chtimes(b.database(), time.Time{}, time.Unix(1_000_000_000, 0)))
		}, true, 0, nil},
		{"a copy", func(b *scanFixture) {
			info, err := os.Stat(b.database())
			b.must(err)
			data, err := os.ReadFile(b.database())
			b.must(err)
			b.must(os.WriteFile(b.database()+".new", data, 0o644))
			b.must(os.Chtimes(b.database()+".new", info.ModTime(), info.ModTime()))
			b.must(os.Rename(b.database()+".new", b.database()))
		}, true, 0, nil},
		{"another session", func(b *scanFixture) { b.alter(addSession) }, true, 1, nil},
		{"another table", func(b *scanFixture) { b.alter("CREATE TABLE x(y)") }, true, 0, nil},
		{"a text, later", func(b *scanFixture) {
			b.alter(`UPDATE part SET data = replace(data, '"Running."', '"        "'), time_updated = time_updated + 1` + ofPart)
		}, true, 1, []string{"R11"}},
		{"a longer text", func(b *scanFixture) {
			b.alter(`UPDATE part SET data = replace(data, '"Running."', '"         "')` + ofPart)
		}, true, 1, []string{"R11"}},
		{"a text as a blob", func(b *scanFixture) { b.alter(`UPDATE part SET data = CAST(data AS blob)` + ofPart) }, true, 1, []string{"row"}},
		{"a removed part", func(b *scanFixture) { b.alter(`DELETE FROM part` + ofPart) }, true, 1, nil},
		{"a part with another id", func(b *scanFixture) { b.alter(`UPDATE part SET id = 'prt_zzz'` + ofPart) }, true, 1, []string{"R1"}},
		{"a message with a later time", func(b *scanFixture) {
			b.alter(`UPDATE message SET time_created = time_created + 1000 WHERE id = (SELECT min(id) FROM message)`)
		}, true, 1, []string{"R16"}},
		{"the session's row", func(b *scanFixture) { b.alter(`UPDATE session SET directory = ''`) }, true, 1, nil},
		{"a newer project", func(b *scanFixture) {
			b.alter(`INSERT INTO project SELECT 'newer', worktree, vcs, name, icon_url, icon_color, time_created, time_updated + 1, time_initialized, sandboxes, commands FROM project`)
		}, true, 1, nil}, // outside a repository the project is global, whatever other sessions the folder has
		{"only in the -wal", func(b *scanFixture) {
			db, err := sqlite3.Open(b.database())
			b.must(err)
			b.t.Cleanup(func() { b.must(db.Close()) })
			b.must(db.Exec(`UPDATE part SET data = replace(data, '"Running."', '"         "')` + ofPart))
		}, true, 1, []string{"R11"}},
		{"the cache is damaged", func(b *scanFixture) { b.edit(func(data []byte) []byte { data[len(data)/2] ^= 1; return data }) }, true, 1, nil},
		{"the cache is longer", func(b *scanFixture) { b.edit(func(data []byte) []byte { return append(data, '?') }) }, true, 1, nil},
		{"the cache is gone", func(b *scanFixture) { b.must(os.RemoveAll(b.opt.Cache)) }, true, 1, nil},
		{"another version of mend", func(b *scanFixture) { b.opt.Journal.Version = "2" }, true, 1, nil},
		{"for another version of the agent", func(b *scanFixture) { b.opt.AgentVersion = "1.0.185" }, true, 1, nil},
		{"the session is about to be written", func(b *scanFixture) {
			c, err := Open(b.opt)
			b.must(err)
			c.cache().Forget(b.id)
		}, true, 1, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			b := newScanFixture(t, testdata.OpenCode1227)
			b.wantRescan("the first scan", true, 1)
			b.wantRescan("again", false, 0)
			r.do(b)
			b.wantRescan("then", r.asked, r.read, r.want...)
		})
	}
}

// TestRescanOfYoungDatabase: neither the state of a database that a later change may leave with the same stamp is
// cached, nor the result of a session with rows dated in the future.
func TestRescanOfYoungDatabase(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode1227)
	b.clock = 0
	b.wantRescan("the first scan", true, 1)
	b.clock = time.Hour
	b.wantRescan("again, later", true, 0)
	b.wantRescan("once more", false, 0)
	b.alter(`UPDATE part SET time_updated = 1000 * unixepoch('now', '+1 day')`)
	b.wantRescan("with rows of tomorrow", true, 1)
	b.wantRescan("again", true, 1)
}

// TestScanOneKeepsCache: a scan of one session changes no cached result.
func TestScanOneKeepsCache(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode1227)
	b.alter(addSession)
	b.wantRescan("the first scan", true, 2)
	b.alter(`UPDATE part SET data = replace(data, '"Running."', '"         "') WHERE data LIKE '%"Running."%'`)
	c, err := Open(b.opt)
	b.must(err)
	c.clock = func() time.Time { return time.Now().Add(b.clock) }
	head, err := c.Session(t.Context(), b.id)
	b.must(err)
	_, err = c.ScanOne(t.Context(), head)
	b.must(err)
	b.wantRescan("after a scan of the changed session", true, 1, "R11")
	b.wantRescan("again", false, 0, "R11")
}

// TestLookFindsChanges: Look finds changes of other programs since the last scan, and returns nothing without time.
func TestLookFindsChanges(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode11833)
	c, err := Open(b.opt)
	b.must(err)
	want := func(when string, broken int) {
		t.Helper()
		switch s, err := c.Look(t.Context(), time.Minute); {
		case err != nil || s == nil:
			t.Fatalf("%s: Look = %v, %v", when, s, err)
		case s.Broken != broken || s.Time.IsZero():
			t.Errorf("%s: %d broken at %v, want %d", when, s.Broken, s.Time, broken)
		}
	}
	want("at first", 0)
	b.alter(`UPDATE part SET data = 'x'`)
	want("after a change from outside", 1)
	if s, err := c.Look(t.Context(), 0); s != nil || err != nil {
		t.Errorf("without time: Look = %v, %v, want nil, nil", s, err)
	}
}
