package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/sqlite"
)

// A Conn is a connection with its compiled statements.
type Conn struct {
	*Statements

	db     *sqlite3.Conn
	schema *schema // of the open transaction
	shared bool    // another program had the database open when this connection was opened
	pages  *pageCheck
}

// Statements run queries on a connection.
type Statements = sqlite.Statements

// The settings of mend's connections: they change only the planned rows, and the changes survive a power cut. The
// agent's settings are synchronous=NORMAL and foreign_keys=ON.
const (
	readPragmas = "PRAGMA temp_store=MEMORY; PRAGMA query_only=ON; PRAGMA cell_size_check=ON;" +
		// 256 KB instead of SQLite's 2 MB: most pages are read once, and a cache that fits into the processor's
		// cache is faster.
		"PRAGMA cache_size=-256;"
	unlockedPragma = "PRAGMA locking_mode=EXCLUSIVE;"

	writePragmas = "PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF;" +
		"PRAGMA synchronous=FULL; PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON; PRAGMA wal_autocheckpoint=0;"
	// Without a WAL no page may reach the file before COMMIT.
	journalPragma = "PRAGMA cache_spill=OFF;"
)

// connect opens a connection to a URI and applies the settings.
func connect(ctx context.Context, uri string, flags sqlite3.OpenFlag, busy time.Duration, pragmas string) (*Conn, error) {
	db, err := sqlite3.OpenFlags(uri, flags|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	c := &Conn{db: db, Statements: sqlite.NewStatements(db)}
	db.SetInterrupt(ctx)
	_, err = db.Config(sqlite3.DBCONFIG_DEFENSIVE, true)
	err = errors.Join(err, db.BusyTimeout(busy), db.Exec(pragmas))
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// openReader opens the database for reading. If live is set, it uses SQLite's locks, see [readVFS]. If check is set,
// the pages are checked.
func (s *Store) openReader(ctx context.Context, live, check bool) (*Conn, error) {
	name, pragmas := unlockedVFS, unlockedPragma+readPragmas
	if live {
		name, pragmas = lockedVFS, readPragmas
	}
	v := readVFS{locked: live}
	if check {
		v.check = new(pageCheck)
		name = fmt.Sprintf("%s-%p", name, v.check)
		v.check.vfs = name
	}
	vfs.Register(name, v)
	c, err := connect(ctx, uri(s.id.Root, "mode=ro&vfs="+name), sqlite3.OPEN_READONLY, s.opt.BusyTimeout, pragmas)
	switch {
	case err == nil:
		c.pages = v.check
	case check:
		vfs.Unregister(name)
	}
	return c, err
}

// openWriter opens the database for writing. Unless keep is set, closing the last connection checkpoints the
// -wal and removes -wal and -shm.
func (s *Store) openWriter(ctx context.Context, files fileState, keep bool) (*Conn, error) {
	query, pragmas := "mode=rw", writePragmas
	if !files.walMode {
		// A -journal gets the mode of the database, as with SQLite's own file system.
		query, pragmas = query+"&modeof="+escape(s.id.Root), writePragmas+journalPragma
	}
	c, err := connect(ctx, uri(s.id.Root, query), sqlite3.OPEN_READWRITE, s.opt.BusyTimeout, pragmas)
	if err == nil && keep {
		err = c.keepFiles()
	}
	return c, err
}

// keepFiles keeps the -wal and -shm in place, even if this is the last connection to close.
func (c *Conn) keepFiles() error {
	_, err := c.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	return err
}

// uri returns the SQLite URI of a file.
func uri(path, query string) string {
	if path = filepath.ToSlash(path); strings.HasPrefix(path, "//") {
		path = "//" + path // a share of Windows, not an authority of the URI
	}
	return "file:" + escape(path) + "?" + query
}

// escape escapes the bytes of a path that have a special meaning in a URI of SQLite.
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23", "&", "%26", "=", "%3D").Replace(path)
}

// close closes the connection. After an error side files may remain.
func (c *Conn) close() error {
	c.db.SetInterrupt(context.Background())
	c.CloseStatements()
	if c.pages != nil {
		defer vfs.Unregister(c.pages.vfs)
	}
	return c.db.Close()
}

// closeReader closes a connection that has only read. c may be nil.
func (c *Conn) closeReader() {
	if c != nil {
		_ = c.close() // nothing was written
	}
}

// exec runs a statement without rows and returns how many rows it changed.
func (c *Conn) exec(sql string, args []Value) (int64, error) {
	err := c.Query(sql, args, nil)
	return c.db.Changes(), err
}

// explain wraps errors of SQLite in the sentinels of this package, on one line: they may quote the content of
// the file.
func explain(ctx context.Context, err error) error {
	err = classify(ctx, err)
	if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
		return lineError{err}
	}
	return err
}

func classify(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, ErrUnusable) || errors.Is(err, change.ErrLocked):
		return err
	case ctx.Err() != nil && isAny(err, sqlite3.INTERRUPT, sqlite3.BUSY, sqlite3.LOCKED): // ctx also ends a wait for a lock
		return ctx.Err()
	case isAny(err, sqlite3.BUSY, sqlite3.LOCKED):
		return fmt.Errorf("%w (%w)", change.ErrLocked, err)
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.IOERR_SHORT_READ):
		return Unusable("%w (%w)", change.ErrMalformed, err)
	case errors.Is(err, sqlite3.NOTADB):
		return Unusable("not an SQLite database (%w)", err)
	case errors.Is(err, sqlite3.IOERR_READ):
		return fail.WithHint(Unusable("the disk cannot read a part of it (%w)", err), fail.DiskHint)
	case errors.Is(err, sqlite3.FULL):
		return fmt.Errorf("%w (%w)", syscall.ENOSPC, err)
	}
	return err
}

func isAny(err error, codes ...sqlite3.ErrorCode) bool {
	return slices.ContainsFunc(codes, func(code sqlite3.ErrorCode) bool { return errors.Is(err, code) })
}

// A lineError is an error with a text of one line.
type lineError struct{ error }

func (e lineError) Unwrap() error { return e.error }

func (e lineError) Error() string {
	fields := strings.FieldsFunc(e.error.Error(), unicode.IsControl)
	return strings.Join(fields, " ")
}

// recoverPanic turns a panic of the driver into an error. The driver panics when it runs out of memory or the
// translated C code fails. It must be deferred.
func recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = Unusable("SQLite gave up on it: %v", p)
	}
}

// Table returns the table of the kind; nil if the database has none.
func (c *Conn) Table(kind change.Kind) *Table { return c.schema.tables[kind] }

// HasTable reports whether a table that a spec names exists.
func (c *Conn) HasTable(name string) bool { return c.schema.exist[name] }
