package fsstore

import (
	"mend/change"
	"mend/internal/safedir"
)

// A Layout maps the refs of records, folders and other files to paths below the root of a tree.
// Paths use slashes. Different refs of one plan must have different paths.
type Layout interface {
	// Path returns the path of ref, and ref without the ids that its path does not contain. It
	// returns an error if the tree has no place for ref.
	Path(ref change.Ref) (string, change.Ref, error)
	// Folder returns the ref of the folder that the first n names of ref's path lead to. ok is
	// false if the folder must not be made for ref, because it always has other content, too.
	Folder(ref change.Ref, n int) (folder change.Ref, ok bool)
}

// A Store changes the files of one tree. It holds nothing open between calls and is safe for
// concurrent use.
type Store struct {
	id     change.StoreID
	layout Layout
	opt    Options
}

// Options configure a [Store].
type Options struct {
	// Owner is the id of the journal that records the changes, and the name of the staging folder.
	// [Store.Prepare] requires it.
	Owner string
	// Note, if not nil, receives messages for the user: from Prepare if the file system cannot
	// support the full promise of this package, and from Discard if it keeps content that another
	// program wrote, or cannot read a staged file.
	Note func(string)
	// Step, if not nil, is called just before each call that changes the disk, with a
	// description such as "exchange part msg_1/prt_1". If it returns an error, the
	// call is not made and fails with that error. Tests simulate a crash with a Step
	// that fails from some call on.
	Step func(call string) error
}

// New returns the store of the tree at root. It writes nothing.
func New(root string, layout Layout, o Options) (*Store, error) {
	canonical, e, err := safedir.Identify(root)
	if err != nil {
		return nil, err
	}
	return &Store{id: change.StoreID{Kind: "json", Root: canonical, Dev: e.Dev, Ino: e.Ino}, layout: layout, opt: o}, nil
}

func (s *Store) openRoot() (*safedir.Dir, error) { return safedir.OpenRoot(s.id.Root) }

// ID identifies the store by the canonical path of its root.
func (s *Store) ID() change.StoreID { return s.id }

// note reports a message to the user.
func (s *Store) note(text string) {
	if s.opt.Note != nil {
		s.opt.Note(text)
	}
}

// step calls [Options].Step before a call that changes the disk.
func (s *Store) step(call string) error {
	if s.opt.Step == nil {
		return nil
	}
	return s.opt.Step(call)
}
