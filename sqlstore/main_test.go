package sqlstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

// specs returns the tables of OpenCode that the tests use.
func specs() []sqlstore.TableSpec {
	return []sqlstore.TableSpec{
		{Kind: change.KindSession, Name: "session", Columns: []string{"id", "title"}, SessionRows: `"id" = ?1`},
		{Kind: change.KindMessage, Name: "message", Data: "data", Parent: "session_id", Columns: []string{"id", "session_id", "data"}, SessionRows: `"session_id" = ?1`},
		{Kind: change.KindPart, Name: "part", Data: "data", Parent: "message_id", Columns: []string{"id", "message_id", "session_id", "data"}, SessionRows: `"session_id" = ?1`},
		{Name: "workspace", Columns: []string{"id"}, Optional: true},
	}
}

// unpackSmall is [dbtest.Unpack] without the tables and most of the events that sweeps do not need, and with a message
// that has no parts. A sweep opens hundreds of connections, and each reads the schema.
func unpackSmall(t testing.TB, version string) (path, id string) {
	t.Helper()
	smallLock.Lock()
	defer smallLock.Unlock()
	if db, ok := small[version]; ok {
		path = filepath.Join(t.TempDir(), dbtest.Name)
		dbtest.Write(t, path, db.data)
		return path, db.id
	}
	path, id = dbtest.Unpack(t, version)
	var drop []string
	dbtest.Must(t, dbtest.View(path, func(c *sqlstore.Conn) (err error) {
		drop, err = c.Strings(`SELECT 'DROP TABLE ' || name FROM sqlite_schema WHERE type = 'table'
			AND name NOT IN ('project', 'workspace', 'session', 'message', 'part', 'event', 'event_sequence') AND name NOT LIKE 'sqlite_%'`)
		return err
	}))
	if version == "1.18.33" {
		drop = append(drop, "DELETE FROM event WHERE seq > 20")
	}
	const addMessage = `INSERT INTO message SELECT id || '0', session_id, time_created + 1, time_updated, data
		FROM message ORDER BY time_created DESC LIMIT 1`
	dbtest.Alter(t, path, append(drop, addMessage, "VACUUM")...)
	small[version] = smallDatabase{id, dbtest.Files(t, path)[dbtest.Name]}
	return path, id
}

// A smallDatabase has the id of its session, and its bytes.
type smallDatabase struct{ id, data string }

// small has the databases that [unpackSmall] has made, by version, for one test at a time.
var (
	small     = map[string]smallDatabase{}
	smallLock sync.Mutex
)

func open(t testing.TB, path string, o sqlstore.Options) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(path, specs(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// load reads the session in one transaction.
func load(t testing.TB, s *sqlstore.Store, id string) *record.Session {
	t.Helper()
	loaded, err := read(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func read(ctx context.Context, s *sqlstore.Store, id string) (loaded *record.Session, err error) {
	err = s.View(ctx, func(c *sqlstore.Conn) error {
		loaded = &record.Session{Head: change.Head{ID: id}}
		rows := func(kind change.Kind, where string, add func(r change.Record, id string)) error {
			t := c.Table(kind)
			return c.Query(t.SelectAll+" WHERE "+where, []sqlstore.Value{sqlstore.Text(id)}, func(st *sqlite3.Stmt) error {
				r := t.CopyRow(st)
				own, _ := r.Col("id")
				r.Ref = change.Ref{Kind: kind, Session: id}
				add(r, string(own.Bytes))
				return nil
			})
		}
		err := rows(change.KindSession, "id = ?1", func(r change.Record, _ string) {
			title, _ := r.Col("title")
			loaded.Info, loaded.Title = r, string(title.Bytes)
		})
		if err != nil {
			return err
		}
		err = rows(change.KindMessage, "session_id = ?1 ORDER BY time_created, id", func(r change.Record, id string) {
			r.Ref.Message = id
			loaded.Messages = append(loaded.Messages, record.NewMessage(r))
		})
		if err != nil {
			return err
		}
		return rows(change.KindPart, "session_id = ?1 ORDER BY id", func(r change.Record, id string) {
			message, _ := r.Col("message_id")
			r.Ref.Message, r.Ref.Part = string(message.Bytes), id
			if m := loaded.Message(r.Ref.Message); m != nil {
				m.Parts = append(m.Parts, record.NewPart(r))
			}
		})
	})
	return loaded, err
}

func sessionIDs(ctx context.Context, s *sqlstore.Store) (ids []string, err error) {
	err = s.View(ctx, func(c *sqlstore.Conn) (err error) {
		ids, err = c.Strings("SELECT id FROM session")
		return err
	})
	return ids, err
}

func conflictsIn(err error) []change.Conflict {
	var c *change.ConflictError
	if errors.As(err, &c) {
		return c.Conflicts
	}
	return nil
}

// TestMain runs the tests or, in a process that a test has started, the role that SQLSTORE_ROLE names.
func TestMain(m *testing.M) {
	if role := os.Getenv("SQLSTORE_ROLE"); role != "" {
		if err := play(role, os.Args[1], os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	storetest.InMemory()
	os.Exit(m.Run())
}

func play(role, path, arg string) error {
	switch role {
	case "hold", "hammer":
		c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
		if err != nil {
			return err
		}
		err = c.Exec("PRAGMA busy_timeout=5000; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; SELECT 1 FROM session")
		if err != nil {
			return err
		}
		fmt.Println("ready")
		if role == "hammer" {
			return hammer(c)
		}
		_, err = io.ReadAll(os.Stdin)
		return errors.Join(err, c.Close())
	case "lock":
		return lockShm(path)
	case "crash":
		return crash(path, arg)
	case "read":
		s, err := sqlstore.Open(path, specs(), sqlstore.Options{})
		if err != nil {
			return err
		}
		got, err := read(noContext(), s, arg)
		if err == nil {
			fmt.Println(len(got.Messages), "messages")
		}
		return err
	case "write":
		s, err := sqlstore.Open(path, specs(), sqlstore.Options{})
		if err != nil {
			return err
		}
		_, err = s.Prepare(noContext(), change.Plan{Ops: []change.Op{titleOp(s, arg)}})
		return err
	}
	return fmt.Errorf("no role %s", role)
}

// hammer adds sessions until its input ends, and prints their number.
func hammer(c *sqlite3.Conn) error {
	done := make(chan struct{})
	go func() {
		_, _ = io.ReadAll(os.Stdin)
		close(done)
	}()
	for n := 0; ; n++ {
		select {
		case <-done:
			fmt.Println(n)
			return c.Close()
		default:
		}
		err := c.Exec(fmt.Sprintf(`INSERT INTO session(id, project_id, slug, directory, title, version, time_created, time_updated)
			SELECT 'ses_hammer%d', project_id, slug, directory, title, version, time_created, time_updated FROM session LIMIT 1`, n))
		if err != nil {
			return err
		}
	}
}

// A process runs this program in a role.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t testing.TB, role, path, arg string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, exe, role, path, arg, nil)
}

func startProgram(t testing.TB, exe, role, path, arg string, as *syscall.SysProcAttr) *process {
	t.Helper()
	p := &process{cmd: exec.Command(exe, path, arg)}
	p.cmd.SysProcAttr = as
	p.cmd.Env = append(os.Environ(), "SQLSTORE_ROLE="+role)
	p.cmd.Stderr = os.Stderr
	in, out := storetest.StartPiped(t, p.cmd)
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(func() { _, _ = p.in.Close(), p.cmd.Process.Kill() })
	return p
}

// ready waits until the process reports that it is ready.
func (p *process) ready(t testing.TB) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the process printed %q, %v", line, err)
	}
}

// end closes the input of the process, waits for its end, and returns its output.
func (p *process) end(t testing.TB) string {
	t.Helper()
	_ = p.in.Close()
	out, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestHeld: Held reports whether another process has the database open, before and after a change.
func TestHeld(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	check := func(want bool) {
		t.Helper()
		if held, err := s.Held(t.Context()); held.IsZero() == want || err != nil {
			t.Errorf("Held = %v, %v; want %v", held, err, want)
		}
	}
	check(false)
	p := start(t, "hold", path, "")
	p.ready(t)
	check(true)
	dbtest.Run(t, s, dbtest.MixedOps(t, load(t, s, id)))
	check(true)
	p.end(t)
	check(false)
	if n := len(dbtest.Files(t, path)); n != 1 {
		t.Errorf("%d files are left, want 1", n)
	}
}

// TestTwoProcesses: while another process writes without a pause, no write of either is lost.
func TestTwoProcesses(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	before := dbtest.Dump(t, path)
	p := start(t, "hammer", path, "")
	p.ready(t)
	ops := dbtest.MixedOps(t, load(t, s, id))
	for range 10 {
		if out := dbtest.Run(t, s, ops); out.State != change.Committed {
			t.Fatalf("Commit = %+v", out)
		}
		if got := load(t, s, id); !dbtest.HasText(got, "changed") || len(got.Messages) != 10 {
			t.Fatal("a reader does not see the change")
		}
		if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed {
			t.Fatalf("undo = %+v", out)
		}
	}
	n, err := strconv.Atoi(p.end(t))
	if err != nil {
		t.Fatal(err)
	}
	now := dbtest.Dump(t, path)
	if got := strings.Count(now, "\nsession id=4:"+fmt.Sprintf("%x", "ses_hammer")); got != n || n == 0 {
		t.Errorf("%d sessions, want the %d that were added", got, n)
	}
	dbtest.Alter(t, path, "DELETE FROM session WHERE id LIKE 'ses_hammer%'")
	if dbtest.Dump(t, path) != before {
		t.Error("other rows changed")
	}
	t.Logf("%d transactions of the other process, 20 of mend", n)
}
