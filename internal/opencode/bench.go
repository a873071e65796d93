package opencode

import (
	"bytes"
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

	"mend/internal/damage"
)

// A Bench is a running server under which a test exchanges the store. A prompt
// takes a tenth of a second, where "opencode run" takes two to five.
type Bench struct {
	home    *Home
	server  *Server
	session string // the fixture's
	tries   int
}

// Bench starts a server on the fixture that is in archive. Its executable has
// another name: a program that is called opencode holds every tree of its user.
func (h *Home) Bench(archive []byte) *Bench {
	h.t.Helper()
	exe := filepath.Join(filepath.Dir(h.exe), "bench")
	if err := os.Link(h.exe, exe); err != nil && !errors.Is(err, fs.ErrExist) {
		h.t.Fatalf("naming the executable: %v", err)
	}
	h.exe = exe
	session := h.Unpack(archive)
	b := &Bench{home: h, server: h.Serve(), session: session}
	if r := b.server.Prompt(session, "is it well?"); r.Verdict != Alive { // the first takes long
		h.t.Fatalf("a prompt before any damage = %s; reply:\n%s", r.Verdict, r.Output)
	}
	return b
}

// Try puts the fixture's session, as it is in another data directory, in place of
// all that is there, and sends one more prompt in it. The session gets an id of
// its own, since the server goes on writing about the one before. The directory
// is only read, but for what SQLite does to a database that it opens.
func (b *Bench) Try(dir string) (Result, error) {
	b.tries++
	id := fmt.Sprintf("%s%04d", b.session[:len(b.session)-4], b.tries)
	if err := b.exchange(dir, id); err != nil {
		return Result{}, fmt.Errorf("exchanging the store: %w", err)
	}
	return b.send(id, "one more", timeout), nil
}

// send sends a prompt, and stops the program where it would try again for long.
func (b *Bench) send(id, prompt string, wait time.Duration) Result {
	reply := make(chan Result, 1)
	go func() { reply <- b.server.prompt(id, prompt, wait) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case r := <-reply:
			return r
		case <-tick.C:
		}
		if b.retries(id) {
			b.server.do(b.home.t.Context(), http.MethodPost, "/session/"+id+"/abort", nil)
		}
	}
}

// TryListed is like Try, but it asks for the list of sessions and for the session's
// page first: a session that is answered and in one of these is not is Unlisted.
func (b *Bench) TryListed(dir string) (Result, error) {
	b.tries++
	id := fmt.Sprintf("%s%04d", b.session[:len(b.session)-4], b.tries)
	if err := b.exchange(dir, id); err != nil {
		return Result{}, fmt.Errorf("exchanging the store: %w", err)
	}
	ask := func(path string) (status int, reply string) {
		return b.server.do(b.home.t.Context(), http.MethodGet, path, nil)
	}
	list, all := ask("/session")
	page, one := ask("/session/" + id)
	messages, _ := ask("/session/" + id + "/message")
	r := b.server.Prompt(id, "one more")
	if list != http.StatusOK || !strings.Contains(all, id) || page != http.StatusOK || messages != http.StatusOK {
		if r.Output += "\nlist: " + all + "\npage: " + one; r.Verdict == Alive {
			r.Verdict = damage.Unlisted
		}
	}
	return r, nil
}

// retries reports whether the prompt failed and the program waits to try again,
// as 1.18.33 does for a minute with an image that is too large or cannot be had.
func (b *Bench) retries(id string) bool {
	_, reply := b.server.do(b.home.t.Context(), http.MethodGet, "/session/status", nil)
	var status map[string]struct{ Type string }
	return json.Unmarshal([]byte(reply), &status) == nil && status[id].Type == "retry"
}

func (b *Bench) exchange(dir, id string) error {
	if db := filepath.Join(dir, "opencode.db"); exists(db) {
		return b.exchangeRows(db, id)
	}
	from, to := filepath.Join(dir, "storage"), filepath.Join(b.home.DataDir(), "storage")
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
		name = filepath.Join(to, strings.ReplaceAll(strings.TrimPrefix(name, from), b.session, id))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, bytes.ReplaceAll(data, []byte(b.session), []byte(id)), 0o644)
	})
}

// removeAll removes a folder into which the server may just be writing.
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

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// fixtureDir is where the sessions of the fixtures worked.
const fixtureDir = "/home/user/project"

// exchangeRows copies the rows in one transaction; the session's directory
// becomes Project, as in [Home.Unpack].
func (b *Bench) exchangeRows(from, id string) error {
	db, err := sqlite3.Open(filepath.Join(b.home.DataDir(), "opencode.db"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	script := []string{
		"pragma foreign_keys = off", // one damage is a part whose message is gone
		"attach " + sqlite3.Quote(from) + " as damaged",
		"begin immediate",
	}
	for _, table := range []string{"session", "message", "part"} {
		script = append(script, "delete from main."+table, fmt.Sprintf("insert into main.%[1]s select * from damaged.%[1]s", table))
	}
	script = append(script,
		"update main.session set id = "+sqlite3.Quote(id),
		"update main.session set directory = "+sqlite3.Quote(b.home.Project())+" where directory = "+sqlite3.Quote(fixtureDir),
		"update main.message set session_id = "+sqlite3.Quote(id),
		"update main.part set session_id = "+sqlite3.Quote(id),
		"commit")
	return errors.Join(db.BusyTimeout(timeout), db.Exec(strings.Join(script, ";")))
}
