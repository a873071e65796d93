package fsstore

import (
	"fmt"
	"path"
	"strings"

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
	// Note, if not nil, receives messages for the user: that content of another program is kept, or that a staged file
	// cannot be read.
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
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Step == nil {
		o.Step = func(string) error { return nil }
	}
	return &Store{id: change.StoreID{Kind: "json", Root: canonical, Dev: e.Dev, Ino: e.Ino}, layout: layout, opt: o}, nil
}

// ID identifies the store by the canonical path of its root.
func (s *Store) ID() change.StoreID { return s.id }

// Paths is a [Layout] of plain paths: each file is a record, named by its path below the root. The value of Paths is
// the session of every ref and plan, which the journal records.
type Paths string

// Ref returns the ref of the file at a slash-separated path below the root. [change.Ref.Validate] refuses a path that
// leads out of the root or has a hidden element.
func (s Paths) Ref(path string) change.Ref {
	return change.Ref{Kind: change.KindFile, Session: string(s), Part: path}
}

// Path implements [Layout].
func (s Paths) Path(ref change.Ref) (string, change.Ref, error) {
	file := s.Ref(ref.Part)
	folder := file
	folder.Kind = change.KindFolder
	if err := file.Validate(); err != nil || ref != file && ref != folder || ref.Part == "" {
		return "", ref, fmt.Errorf("%v %s is not a path of %s", ref.Kind, ref, string(s))
	}
	return path.Clean(ref.Part), ref, nil
}

// Folder implements [Layout].
func (s Paths) Folder(ref change.Ref, n int) (change.Ref, bool) {
	names := strings.Split(ref.Part, "/")
	folder := s.Ref(strings.Join(names[:n], "/"))
	folder.Kind = change.KindFolder
	return folder, true
}
