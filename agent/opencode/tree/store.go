package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"mend/change"
	"mend/fsstore"
	"mend/internal/memory"
	"mend/internal/ownfile"
	"mend/internal/safedir"
)

// A Store is one tree of JSON files. It holds nothing open between calls and is safe
// for concurrent use. Its embedded store makes the changes.
type Store struct {
	*fsstore.Store

	layout *layout
	opt    Options

	buffers sync.Pool // of *safedir.Buffer
}

// Options configure a [Store]. The zero value is for reading.
type Options struct {
	// Owner, Note and Step are those of [fsstore.Options].
	Owner string
	Note  func(string)
	Step  func(call string) error
	// ProjectOf returns the id of the project as which the agent uses a folder, "" if that is
	// not known. nil means that it never is.
	ProjectOf func(folder string) string
	// MaxRecord is the size in bytes of the largest record that is read; 0 for
	// [change.MaxText].
	MaxRecord int64
	// MaxSession is the size in bytes of the largest session that is loaded; 0 for an
	// eighth of the machine's memory.
	MaxSession int64
}

var (
	// ErrNoStore means that a path leads to no tree of a known layout.
	ErrNoStore = errors.New("no session store here")
	// ErrLayout means that no layout has that name.
	ErrLayout = errors.New("no such layout")
	// errNoSession means that the store has no such session.
	errNoSession = errors.New("no such session")
)

// Open opens the tree at path: its root, a folder above it that the layout knows, such
// as OpenCode's data folder, or a folder inside it. If layout is "", the layout is
// detected from the folders of the tree. Nothing is written.
//
// The error wraps [ErrNoStore] and lists what was looked for, [ErrLayout] or
// [fs.ErrNotExist].
func Open(path, layout string, o Options) (*Store, error) {
	if o.MaxRecord <= 0 {
		o.MaxRecord = change.MaxText
	}
	if o.MaxSession <= 0 {
		o.MaxSession = memory.LargestSession()
	}
	if o.ProjectOf == nil {
		o.ProjectOf = func(string) string { return "" }
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("opening %s: %w: it is %s, not a folder", path, ErrNoStore, ownfile.KindName(fi.Mode()))
	}
	l, root, err := discover(abs, layout)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	files, err := fsstore.New(root, l, fsstore.Options{Owner: o.Owner, MaxRecord: o.MaxRecord, Note: o.Note, Step: o.Step})
	if err != nil {
		return nil, err
	}
	s := &Store{Store: files, layout: l, opt: o}
	s.buffers.New = func() any { return &safedir.Buffer{Keep: true} }
	return s, nil
}

// buffer returns a buffer from the pool, to which the caller returns it.
func (s *Store) buffer() *safedir.Buffer { return s.buffers.Get().(*safedir.Buffer) }

// Layout returns the name of the tree's layout.
func (s *Store) Layout() string { return s.layout.name }

// Foreign reports whether another program than OpenCode reads the store.
func (s *Store) Foreign() bool { return s.layout.foreign }
