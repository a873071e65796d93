package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mend/agent"
	"mend/fsstore"
	"mend/internal/memory"
	"mend/internal/ownfile"
)

// A Store is one tree of JSON files. It holds nothing open between calls and is safe for concurrent use. Its
// embedded store makes the changes.
type Store struct {
	*fsstore.Store
	agent.Base // for methods that only a database supports

	opt Options
}

// Options configure a [Store]. The zero value is enough for reading.
type Options struct {
	// Owner, Note and Step: see [fsstore.Options].
	Owner string
	Note  func(string)
	Step  func(call string) error
	// ProjectOf returns the id of the agent's project for a folder, "" if unknown. A nil ProjectOf knows none.
	ProjectOf func(folder string) string
	// MaxSession is the greatest size in bytes of a session that is loaded; 0 for an eighth of the machine's memory.
	MaxSession int64
}

// errNoSession means that the store does not have the session.
var errNoSession = errors.New("no such session")

// Open opens the tree at path: its root, OpenCode's data folder or the folder above it, or a folder inside the tree.
// named means that the user knows that a tree is there, so that it may be empty. Open writes nothing.
//
// The error wraps [agent.ErrNoStore] or [fs.ErrNotExist].
func Open(path string, named bool, o Options) (*Store, error) {
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
		return nil, fmt.Errorf("opening %s: %w: it is %s, not a folder", path, agent.ErrNoStore, ownfile.KindName(fi.Mode()))
	}
	root := findRoot(abs, named)
	if root == "" {
		return nil, fmt.Errorf("opening %s: %w", path, agent.ErrNoStore)
	}
	files, err := fsstore.New(root, layout{}, fsstore.Options{Owner: o.Owner, Note: o.Note, Step: o.Step})
	if err != nil {
		return nil, err
	}
	return &Store{Store: files, opt: o}, nil
}
