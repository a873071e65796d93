package fsstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"mend/change"
	"mend/internal/memory"
	"mend/internal/ownfile"
	"mend/internal/safedir"
	"mend/session"
)

// A Store is one tree of JSON files. It holds nothing open between calls, and
// any of its methods may be called at any time.
type Store struct {
	id     change.StoreID
	layout *layout
	opt    Options

	buffers sync.Pool // of *safedir.Buffer

	processors int32
	reading    atomic.Int32 // how many goroutines read messages
}

// Options say how a store is worked on. The zero value is for reading.
type Options struct {
	// Owner is the id of the journal that changes are written to. It names the
	// folder in which they are made ready; Prepare needs it.
	Owner string
	// MaxRecord is the size in bytes above which a record is not read; 0 for
	// [session.MaxText].
	MaxRecord int64
	// MaxSession is the size in bytes of the records of a session above which it is
	// not loaded; 0 for an eighth of the machine's memory.
	MaxSession int64
	// Note, if not nil, is called with a sentence for the user: by Prepare if the
	// file system cannot do what the whole promise of this package needs, and by
	// Discard if it keeps what another program wrote, or cannot look.
	Note func(string)
	// Step, if not nil, is told of each call that changes the disk, just before
	// it is made, such as "exchange part msg_1/prt_1". If it returns an error
	// the call is not made and fails with that error. It is for tests: a crash
	// is a Step that fails from some call on.
	Step func(call string) error
}

// ErrNoStore says that a path leads to no tree of a known layout.
var ErrNoStore = errors.New("no session store there")

// ErrLayout says that no layout has that name.
var ErrLayout = errors.New("no such layout")

// ErrNoSession says that the store has no such session.
var ErrNoSession = errors.New("no such session")

// Open opens the tree that name leads to: the root itself, a folder above it
// that the layout knows, such as OpenCode's data folder, or one inside it. With
// layout "" the tree says by its folders which one it is. Nothing is written.
//
// The error wraps [ErrNoStore], and says what was looked for, [ErrLayout] or
// [fs.ErrNotExist].
func Open(name, layout string, o Options) (*Store, error) {
	if o.MaxRecord <= 0 {
		o.MaxRecord = session.MaxText
	}
	if o.MaxSession <= 0 {
		o.MaxSession = memory.Total() / 8 // a repair needs six times the session
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, err)
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("opening %s: %w: it is %s, not a folder", name, ErrNoStore, ownfile.KindName(fi.Mode()))
	}
	l, root, err := discover(abs, layout)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, err)
	}
	return newStore(l, root, o)
}

func newStore(l *layout, root string, o Options) (*Store, error) {
	canonical, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	s := &Store{id: change.StoreID{Kind: "json", Root: canonical}, layout: l, opt: o}
	s.buffers.New = func() any { return new(safedir.Buffer) }
	s.processors = int32(runtime.GOMAXPROCS(0))
	d, err := s.open()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t, err := d.Stat(".")
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	s.id.Dev, s.id.Ino = t.Dev, t.Ino
	return s, nil
}

// buffer is one that nobody uses. Whoever took it puts it back.
func (s *Store) buffer(keep bool) *safedir.Buffer {
	b := s.buffers.Get().(*safedir.Buffer)
	b.Keep = keep
	return b
}

// open opens the root.
func (s *Store) open() (*safedir.Dir, error) {
	d, err := safedir.Open(s.id.Root)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	return d, nil
}

// ID says which store it is: by the canonical path of its root.
func (s *Store) ID() change.StoreID { return s.id }

// Layout is the name of the layout that the tree has.
func (s *Store) Layout() string { return s.layout.name }
