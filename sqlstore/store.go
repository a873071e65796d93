package sqlstore

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"mend/change"
	"mend/internal/memory"
)

var (
	// ErrNoSession says that the database has no such session.
	ErrNoSession = errors.New("no such session")
	// ErrBusy says that another program holds a lock for longer than was waited.
	// Nothing was changed; trying again is all it needs.
	ErrBusy = change.ErrLocked
	// ErrUnusable says that the file is no database of OpenCode's, is damaged, or
	// has a schema that is not known. Such a file is never written.
	ErrUnusable = errors.New("the database cannot be used")
)

// Options change how a store works. The zero value is right for a user.
type Options struct {
	// Step, if set, is told what is about to happen before each call that changes
	// a file. Its error takes the place of that call.
	Step func(what string) error
	// BusyTimeout is how long to wait for a lock; 0 means five seconds, which is
	// also what OpenCode waits.
	BusyTimeout time.Duration
	// MaxRecord is the size in bytes above which the data of a row is not read; 0
	// for what SQLite can hold.
	MaxRecord int64
	// MaxSession is the size in bytes of the rows of a session above which it is not
	// loaded; 0 for an eighth of the machine's memory.
	MaxSession int64
	// Unattached lets rows be made whose parent is not there: those of [Store.Orphans]
	// that are put back.
	AllowMissingParent bool
}

// maxValue is the size of the largest value that SQLite holds, SQLITE_MAX_LENGTH.
const maxValue = 1_000_000_000

// A Store is one database. Between calls it holds no lock; files it holds open
// for half a second at most. It may be used from many goroutines.
type Store struct {
	id  change.StoreID
	opt Options

	// conns is held for reading by everybody who has a connection open, and for
	// writing by Held, so that it sees no lock of ours.
	conns sync.RWMutex

	mu      sync.Mutex
	schema  *schema // as last seen
	sound   bool    // the pages were checked
	idle    []idleConn
	idleEnd *time.Timer
}

// Open finds the database at path, or the one in the folder at path, and looks at
// its header and its side files; that its schema is known, the first read tells.
// It writes nothing. The error wraps [ErrUnusable] or the system's reason why the
// file cannot be read.
func Open(path string, o Options) (*Store, error) {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.MaxRecord <= 0 {
		o.MaxRecord = maxValue
	}
	if o.MaxSession <= 0 {
		o.MaxSession = memory.Total() / 8 // a repair needs six times the session
	}
	file, err := locate(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	s := &Store{id: change.StoreID{Kind: "sqlite", Root: file}, opt: o}
	if _, err := inspectFiles(file); err != nil {
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	s.id.Dev, s.id.Ino = inode(file)
	return s, nil
}

// ID says which database it is, by the absolute path without links.
func (s *Store) ID() change.StoreID { return s.id }

// step is called before a change of a file; see [Options].
func (s *Store) step(what string) error {
	if s.opt.Step == nil {
		return nil
	}
	return s.opt.Step(what)
}

// unusable is an error that wraps ErrUnusable.
func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnusable, fmt.Errorf(format, args...))
}
