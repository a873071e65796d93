package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"mend/change"
	"mend/internal/aside"
	"mend/internal/fail"
)

// ErrUnusable means that the file is not a database, is damaged, or has an unknown schema. mend never
// writes to such a file.
var ErrUnusable = errors.New("the database cannot be used")

// Options configure a [Store]. The zero value is right for normal use.
type Options struct {
	// Step, if not nil, is called before each call that changes a file. If it returns an error, the call
	// is not made and fails with that error.
	Step func(what string) error
	// BusyTimeout is how long to wait for a lock; 0 means five seconds.
	BusyTimeout time.Duration
	// MaxRecord is the greatest size in bytes of a row's data that is read; 0 for SQLite's own limit.
	MaxRecord int64
	// Check, if not nil, is called before a change is prepared, and in each transaction that writes. Its
	// error ends the change.
	Check func(*Conn) error
}

func (o *Options) setDefaults() {
	o.BusyTimeout = cmp.Or(o.BusyTimeout, 5*time.Second)
	if o.MaxRecord <= 0 {
		o.MaxRecord = maxValue
	}
	if o.Step == nil {
		o.Step = func(string) error { return nil }
	}
	if o.Check == nil {
		o.Check = func(*Conn) error { return nil }
	}
}

// maxValue is the size of the largest value that SQLite holds, SQLITE_MAX_LENGTH.
const maxValue = 1_000_000_000

// maxPath is the greatest length of a path in bytes: the driver's limit is 1,024, including the suffix
// -journal and a NUL.
const maxPath = 1024 - len("-journal") - 1

// A Store is one database. Between calls it holds no lock; it keeps files open for at most half a
// second. It is safe for concurrent use.
type Store struct {
	id    change.StoreID
	specs []TableSpec
	opt   Options

	// conns is locked for reading while a connection is in use, and for writing by Held and CheckFree, which must not
	// see this store's own locks.
	conns sync.RWMutex

	sums aside.Sums // checksums of whole files

	// look names the other processes that have the database open.
	look func(ctx context.Context, path string) (holders []string, err error)

	schema atomic.Pointer[schema] // cache: the schema that was read last

	mu      sync.Mutex
	idle    []idleConn
	idleEnd *time.Timer
}

// Open opens the database at file, a canonical path: SQLite derives the names of -wal and -shm from it.
// It reads the header and checks the side files. The first read checks the schema, and also the header
// if the file is probably a damaged database. Open writes nothing. The error wraps [ErrUnusable] or is
// an error of the system.
func Open(file string, specs []TableSpec, o Options) (*Store, error) {
	o.setDefaults()
	if len(file) > maxPath {
		return nil, fmt.Errorf("opening %s: %w", file, Unusable("its path has %d bytes, and SQLite opens none with more than %d: move its folder to a shorter one", len(file), maxPath))
	}
	s := &Store{id: change.StoreID{Kind: "sqlite", Root: file}, specs: specs, opt: o, look: currentHolders}
	files, err := inspectFiles(file)
	if err != nil && (!fail.IsSalvageable(err) || !mayBeDatabase(file)) {
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	s.id.Dev, s.id.Ino = files.db.dev, files.db.ino
	return s, nil
}

// ID identifies the database by its absolute path without links.
func (s *Store) ID() change.StoreID { return s.id }

// ErrEmpty means that the file has no bytes. Its error also wraps ErrUnusable.
var ErrEmpty = errors.New("the file is empty")

// Unusable returns an error that wraps ErrUnusable.
func Unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnusable, fmt.Errorf(format, args...))
}
