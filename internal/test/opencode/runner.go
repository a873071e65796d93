package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/test/damage"
)

// A StoreRunner is a running server whose store a test replaces repeatedly. A prompt takes a tenth of a
// second; "opencode run" takes two to five.
type StoreRunner struct {
	home    *Home
	server  *Server
	session string // id of the fixture's session
	tries   int
	tried   string // id of the last session

	dropsLate bool // see [StoreRunner.DropLate]
}

// ServeStores starts a server on the fixture in archive, under a name that mend does not recognise as
// OpenCode.
func (h *Home) ServeStores(archive []byte) *StoreRunner {
	h.t.Helper()
	h.rename()
	session := h.Unpack(archive)
	s := &StoreRunner{home: h, server: h.Serve(), session: session}
	if r := s.server.Prompt(session, "is it well?"); r.Verdict != Alive { // the first prompt takes long
		h.t.Fatalf("a prompt before any damage = %s; reply:\n%s", r.Verdict, r.Output)
	}
	return s
}

// rename renames the executable: mend assumes that a program called opencode uses every tree of its user, and
// watches its servers.
func (h *Home) rename() {
	h.t.Helper()
	exe := filepath.Join(filepath.Dir(h.exe), "bench")
	if err := os.Link(h.exe, exe); err != nil && !errors.Is(err, fs.ErrExist) {
		h.t.Fatalf("naming the executable: %v", err)
	}
	h.exe = exe
}

// NameModel makes prompts name the agent and the model, as the TUI does.
func (s *StoreRunner) NameModel() { s.server.NameModel = true }

// Try replaces the server's store by the fixture's session in its state in the data directory dir, and sends
// one more prompt in it. The session gets a new id, because the server continues to write to the previous
// one. In dir nothing changes except what SQLite changes in a database when it opens it.
func (s *StoreRunner) Try(dir string) (Result, error) {
	if err := s.exchange(dir); err != nil {
		return Result{}, err
	}
	return s.send("one more"), nil
}

// TryAgain sends one more prompt in the session of the last [StoreRunner.Try].
func (s *StoreRunner) TryAgain() Result { return s.send("once more") }

// send sends a prompt, and aborts it if the program waits for a retry.
func (s *StoreRunner) send(prompt string) Result {
	reply := make(chan Result, 1)
	go func() { reply <- s.server.Prompt(s.tried, prompt) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case r := <-reply:
			return r
		case <-tick.C:
		}
		if s.server.isRetrying(s.tried) {
			s.server.abort(s.tried)
		}
	}
}

// TryListed is like Try, but requests the list of sessions and the session's page first:
// the verdict is Unlisted if one of these fails and the prompt is answered.
func (s *StoreRunner) TryListed(dir string) (Result, error) {
	if err := s.exchange(dir); err != nil {
		return Result{}, err
	}
	id := s.tried
	get := func(path string) (status int, reply string) {
		return s.server.do(s.home.t.Context(), http.MethodGet, path, nil)
	}
	list, all := get("/session")
	page, one := get("/session/" + id)
	messages, _ := get("/session/" + id + "/message")
	r := s.server.Prompt(id, "one more")
	if list != http.StatusOK || !strings.Contains(all, id) || page != http.StatusOK || messages != http.StatusOK {
		if r.Output += "\nlist: " + all + "\npage: " + one; r.Verdict == Alive {
			r.Verdict = damage.Unlisted
		}
	}
	return r, nil
}

// isRetrying reports whether the prompt failed and the program waits for a retry, as 1.18.33 does for a
// minute if an image is too large or cannot be read.
func (s *Server) isRetrying(id string) bool {
	ctx, cancel := context.WithTimeout(s.home.t.Context(), statusTimeout)
	defer cancel()
	_, reply := s.do(ctx, http.MethodGet, "/session/status", nil)
	var status map[string]struct{ Type string }
	return json.Unmarshal([]byte(reply), &status) == nil && status[id].Type == "retry"
}

// abort aborts the current prompt.
func (s *Server) abort(id string) {
	ctx, cancel := context.WithTimeout(s.home.t.Context(), statusTimeout)
	defer cancel()
	s.do(ctx, http.MethodPost, "/session/"+id+"/abort", nil)
}

// statusTimeout is the limit of a request that an idle program answers immediately.
const statusTimeout = 10 * time.Second

// exchange replaces the store by the one in dir, with a new id of its session.
func (s *StoreRunner) exchange(dir string) error {
	s.tries++
	s.tried = fmt.Sprintf("%s%04d", s.session[:len(s.session)-4], s.tries)
	if err := s.exchangeFor(dir, s.tried); err != nil {
		return fmt.Errorf("exchanging the store: %w", err)
	}
	return nil
}

func (s *StoreRunner) exchangeFor(dir, id string) error {
	db := s.home.database(dir)
	if _, err := os.Stat(db); err == nil {
		return s.exchangeRows(db, id)
	}
	from, to := filepath.Join(dir, "storage"), filepath.Join(s.home.DataDir(), "storage")
	if err := removeAll(filepath.Join(to, "part")); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name = filepath.Join(to, strings.ReplaceAll(strings.TrimPrefix(name, from), s.session, id))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, bytes.ReplaceAll(data, []byte(s.session), []byte(id)), 0o644)
	})
}

// removeAll removes a folder to which the server may be writing.
func removeAll(dir string) error {
	var err error
	for range 20 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

const fixtureDir = "/home/user/project"

// exchangeRows copies the rows in one transaction; the session's directory
// becomes Project, as in [Home.Unpack].
func (s *StoreRunner) exchangeRows(from, id string) error {
	db, err := sqlite3.Open(s.home.database(s.home.DataDir()))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	exchange := exchangeScript(from, id, fixtureDir, s.home.Project())
	if s.dropsLate {
		exchange = "drop trigger if exists late_message; drop trigger if exists late_part; " + exchange + "; " + s.ignoreLate(id)
	}
	return errors.Join(db.BusyTimeout(timeout), db.Exec(exchange))
}

// DropLate makes the database ignore the program's late writes for an earlier try: it summarises a session
// after it has answered, and writes its last prompt again, with an id that is also in the new session. mend
// does not write to a database with triggers.
func (s *StoreRunner) DropLate() { s.dropsLate = true }

// ignoreLate returns the statements for DropLate when the session with that id is tried.
func (s *StoreRunner) ignoreLate(id string) string {
	var script []string
	for _, table := range []string{"message", "part"} {
		script = append(script, fmt.Sprintf("create trigger late_%[1]s before insert on %[1]s "+
			"when new.session_id <> %[2]s and new.session_id glob %[3]s begin select raise(ignore); end",
			table, sqlite3.Quote(id), sqlite3.Quote(s.session[:len(s.session)-4]+"????")))
	}
	return strings.Join(script, ";")
}

// CopyRows replaces the rows of a database by the rows of the database in from, which has one session.
func CopyRows(from, to, session string) error {
	db, err := sqlite3.Open(to)
	if err != nil {
		return err
	}
	return errors.Join(db.Exec(exchangeScript(from, session, "", "")), db.Close())
}

// exchangeScript returns the statements that replace the rows of a database by the rows of the database in from,
// which has one session. The session gets an id and, instead of the directory was, the directory dir.
func exchangeScript(from, id, previous, dir string) string {
	script := []string{
		"pragma foreign_keys = off", // one damage is a part without its message
		"attach " + sqlite3.Quote(from) + " as damaged",
		"begin immediate",
	}
	for _, table := range []string{"session", "message", "part"} {
		script = append(script, "delete from main."+table, fmt.Sprintf("insert into main.%[1]s select * from damaged.%[1]s", table))
	}
	return strings.Join(append(script,
		"update main.session set id = "+sqlite3.Quote(id),
		"update main.session set directory = "+sqlite3.Quote(dir)+" where directory = "+sqlite3.Quote(previous),
		"update main.message set session_id = "+sqlite3.Quote(id),
		"update main.part set session_id = "+sqlite3.Quote(id),
		"commit"), ";")
}
