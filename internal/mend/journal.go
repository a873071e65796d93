package mend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/userdir"
	"mend/journal"
)

// A Journal records the changes of all stores in one folder. Its methods need no store and hold nothing open between
// calls. The fields are set before the first call.
type Journal struct {
	Dir     string       // its folder; "" for $XDG_STATE_HOME/mend
	Version string       // of mend, for new entries
	Copies  string       // the folder whose copies of sessions are read; "" for Dir
	Actor   change.Actor // for new entries: Channel and Verb; the rest is added

	// Context ends methods that only read the journal and take no context; nil: they always run to the end.
	Context context.Context

	// Unlocked reads the journal while another process writes it, instead of waiting. It is for operations
	// that change nothing, such as dry runs.
	Unlocked bool

	// Writing, if not nil, is called before the journal and a store are changed, and the function that it returns
	// afterwards. The program should not exit in between.
	Writing func() (done func())

	joins     bool   // see [Journal.Join]
	operation uint64 // the number of the first entry of the operation, 0 before it exists

	held int              // calls of Hold not yet released
	open *journal.Journal // for reading, while held; nil before the first read
}

// OpenJournal returns the journal in a folder, which need not exist; "" means the user's journal. It reads
// nothing yet.
func OpenJournal(dir string) *Journal { return &Journal{Dir: dir} }

// Clone returns a journal in the same folder with the same fields, for another goroutine: see [Journal.Hold].
func (l *Journal) Clone() *Journal {
	return &Journal{
		Dir: l.Dir, Version: l.Version, Copies: l.Copies, Actor: l.Actor, Context: l.Context, Unlocked: l.Unlocked, Writing: l.Writing,
	}
}

// Folder returns the folder of the journal. If the folder is unknown, the error names the variable to set.
func (l *Journal) Folder() (string, error) {
	if l.Dir != "" {
		return l.Dir, nil
	}
	dir, err := userdir.State()
	if err != nil {
		return "", fmt.Errorf("finding the journal: %w", err)
	}
	return dir, nil
}

// ID returns the id of the journal, which staged changes carry; "" before the journal exists.
func (l *Journal) ID() (string, error) {
	return readOf(l, func(j *journal.Journal) (string, error) { return j.ID(), nil })
}

// Join makes all following changes, up to the next call, one operation, so that they are undone together.
func (l *Journal) Join() { l.joins, l.operation = true, 0 }

// Hold keeps the journal open until release or the next write, so that all reads see one state. Meanwhile no other
// process can write the journal, so release it before a question or a long task. Hold is for one goroutine.
func (l *Journal) Hold() (release func()) {
	l.held++
	return sync.OnceFunc(func() {
		if l.held--; l.held == 0 {
			l.close()
		}
	})
}

// close closes the journal that is open for reading.
func (l *Journal) close() {
	if l.open != nil {
		_ = l.open.Close() // nothing was written
		l.open = nil
	}
}

// read runs f with the journal open for reading, an empty one if none exists. It may run f several times if
// the journal is read unlocked.
func (l *Journal) read(f func(*journal.Journal) error) error { return l.readJournal(l.Unlocked, f) }

// readOf returns the result of a function that reads the journal, see [Journal.read].
func readOf[T any](l *Journal, f func(*journal.Journal) (T, error)) (result T, err error) {
	err = l.read(func(j *journal.Journal) error {
		result, err = f(j)
		return err
	})
	return result, err
}

func (l *Journal) readJournal(unlocked bool, f func(*journal.Journal) error) error {
	jo := journal.Options{ReadOnly: true, Context: l.Context, Unlocked: unlocked}
	for range unlockedReads {
		moved := false
		err := l.run(jo, func(j *journal.Journal) error {
			err := f(j)
			moved = j.HasChanged()
			return err
		})
		if !moved && (!jo.Unlocked || !errors.Is(err, journal.ErrDamaged)) {
			return err
		}
		l.close()
	}
	jo.Unlocked = false // a writer is busy: wait for it, and report errors
	return l.run(jo, f)
}

// unlockedReads is the number of attempts to read a journal that a writer changes meanwhile.
const unlockedReads = 3

// write runs f with the journal open for writing. now, which may be nil, is the clock of new events.
func (l *Journal) write(by change.Actor, now func() time.Time, f func(*journal.Journal) error) error {
	l.close() // the lock of a reader keeps writers out
	end := func() {}
	defer func() { end() }() // after the journal is closed
	return l.run(journal.Options{Version: l.Version, Actor: complete(by), Now: now}, func(j *journal.Journal) error {
		if l.Writing != nil {
			end = l.Writing()
		}
		return f(j)
	})
}

// complete adds user, host and process to an actor.
func complete(a change.Actor) *change.Actor {
	a.UID, a.PID = os.Getuid(), os.Getpid()
	a.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		a.User = u.Username
	}
	return &a
}

// run runs f with the journal, which it opens unless it is held.
func (l *Journal) run(jo journal.Options, f func(*journal.Journal) error) error {
	if l.open != nil {
		return f(l.open)
	}
	dir, err := l.Folder()
	if err != nil {
		return err
	}
	j, err := journal.Open(dir, jo)
	if err != nil {
		return err
	}
	if l.held > 0 && jo.ReadOnly {
		l.open = j
		return f(j)
	}
	return errors.Join(f(j), j.Close())
}

// Log lists entries, newest first. A query without a store lists the entries of all stores.
func (l *Journal) Log(q journal.Query) ([]change.Entry, error) {
	return readOf(l, func(j *journal.Journal) ([]change.Entry, error) { return j.List(q) })
}

// Each yields the entries that Log lists, one at a time; after them the error, if there is one. The journal is held
// meanwhile, see [Journal.Hold].
func (l *Journal) Each(q journal.Query) iter.Seq2[change.Entry, error] {
	return func(yield func(change.Entry, error) bool) {
		defer l.Hold()()
		journal.Each(q, l.read)(yield)
	}
}

// Show returns the entry with that id and its ops; [Journal.Find] resolves names that users type. If the
// images were removed, ops and error are nil: the entry is Forgotten.
func (l *Journal) Show(id string) (e change.Entry, ops []change.Op, err error) {
	err = l.read(func(j *journal.Journal) error {
		if e, err = j.Get(id); err != nil {
			return err
		}
		if ops, err = j.Ops(e); errors.Is(err, journal.ErrForgotten) {
			return nil
		}
		return err
	})
	return e, ops, err
}

// operationPrefix begins the id of an operation.
const operationPrefix = "op-"

// OperationOf returns the id of the operation of an entry.
func OperationOf(e change.Entry) string { return operationPrefix + journal.IDOf(e.Operation) }

// Find returns the query for the entries that a user names: the entry with that id or the start of it, or all
// entries of the operation with that id.
func (l *Journal) Find(name string) (journal.Query, error) {
	return readOf(l, func(j *journal.Journal) (journal.Query, error) { return find(j, name) })
}

func find(j *journal.Journal, name string) (q journal.Query, err error) {
	id, isOperation := strings.CutPrefix(name, operationPrefix)
	e, err := j.Get(id)
	if !isOperation {
		return journal.Query{IDs: []string{e.ID}}, err
	}
	if errors.Is(err, journal.ErrNotFound) {
		err = fmt.Errorf("%q: %w", name, journal.ErrNotFound)
	}
	return journal.Query{Operation: e.Operation}, err
}

// NameOf returns the id of the entry or the operation that [Journal.Find] has found.
func NameOf(q journal.Query) string {
	if q.Operation != 0 {
		return operationPrefix + journal.IDOf(q.Operation)
	}
	return q.IDs[0]
}

// Verify checks the whole journal. With the head that an earlier call returned, it also checks that the events up to
// that head are unchanged.
func (l *Journal) Verify(head string) (journal.Report, error) {
	return readOf(l, func(j *journal.Journal) (journal.Report, error) { return j.Verify(head) })
}

// Old returns the ids of the entries with images that GC may remove, newest first, see [journal.Journal.Old].
func (l *Journal) Old(t time.Time) ([]string, error) {
	return readOf(l, func(j *journal.Journal) ([]string, error) { return j.Old(t) })
}

// GC removes the images of entries that began before t, except pending and conflicted ones. If only is not nil, it
// removes only the images of these entries. All entries stay, but can no longer be undone.
func (l *Journal) GC(ctx context.Context, t time.Time, only []string) (freed journal.Freed, err error) {
	err = l.write(l.Actor, nil, func(j *journal.Journal) error {
		freed, err = j.GC(ctx, t, only)
		return err
	})
	return freed, err
}

// Forget removes the images and texts of the entries from the journal's file. The entries stay.
func (l *Journal) Forget(ctx context.Context, ids []string) (freed journal.Freed, err error) {
	err = l.write(l.Actor, nil, func(j *journal.Journal) error {
		freed, err = j.Forget(ctx, ids)
		if state, ok := errors.AsType[*journal.StateError](err); ok {
			err = fail.New(fail.Unusable, "\"mend recover\" finishes it, or \"mend log "+state.ID+"\" shows how to decide", "repair %s is %s", state.ID, StateWord(state.State))
		}
		return err
	})
	return freed, err
}

// Export writes the whole journal to w as JSON Lines, see [journal.Journal.Export].
func (l *Journal) Export(ctx context.Context, w io.Writer, withBytes bool) (journal.Report, error) {
	return readOf(l, func(j *journal.Journal) (journal.Report, error) { return j.Export(ctx, w, withBytes) })
}
