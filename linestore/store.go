package linestore

import (
	"fmt"
	"path"
	"strings"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// A Layout maps refs to transcripts. A [change.KindSession] is a whole transcript; any other ref is
// a line, with its id as the key.
type Layout interface {
	// Path returns the path of the transcript below the root, with slashes, and ref. It returns an
	// error if the store has no place for the ref.
	Path(ref change.Ref) (string, change.Ref, error)
	// Key returns the key of a line, "" for a line without one.
	Key(line []byte) string
}

// A Store changes transcripts below one root. It holds nothing open between calls and is
// safe for concurrent use.
type Store struct {
	id     change.StoreID
	layout Layout
	opt    Options
}

// Options configure a [Store].
type Options struct {
	// Owner is the id of the journal that records the changes. [Store.Prepare] and [Store.Settle]
	// require it.
	Owner string
	// InUse, if not nil, returns why the transcript at a path must not be replaced now, such as a
	// process that has its own copy in memory; "" if it may be replaced.
	InUse func(path string) string
	// Note, if not nil, receives messages for the user.
	Note func(string)
	// Step, if not nil, is called just before each call that changes the disk. If it returns
	// an error, the call is not made and fails with that error.
	Step func(call string) error
}

// Mode is the mode of the image of a line, whatever the mode of its file: a change of lines does
// not change the file's mode.
const Mode = 0o600

// New returns the store at root. It writes nothing.
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
	if o.InUse == nil {
		o.InUse = func(string) string { return "" }
	}
	return &Store{id: change.StoreID{Kind: "lines", Root: canonical, Dev: e.Dev, Ino: e.Ino}, layout: layout, opt: o}, nil
}

// ID identifies the store by the canonical path of its root.
func (s *Store) ID() change.StoreID { return s.id }

// A transaction is one change of a transcript in progress.
type transaction struct {
	*Store
	root *safedir.Dir
	own  stage.Area
	dir  *safedir.Dir // the folder of the transcript, or nil
	path string       // path of the transcript below the root
	name string       // name of the transcript in dir
	ops  []lineOp

	reverts []*change.AppendPoint // from the plan
	force   bool                  // from the plan
}

// begin locates the ops and opens the folder of their transcript. The error wraps [change.ErrInvalid] if an op is not
// valid, or if the ops are in several transcripts.
func (s *Store) begin(ops []change.Op) (*transaction, error) {
	located, in := make([]lineOp, 0, len(ops)), ""
	for _, o := range ops {
		p, op, err := s.locate(o)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
		}
		if in != "" && in != p {
			return nil, fmt.Errorf("%w: it changes %s and %s, and only one transcript can change at a time", change.ErrInvalid, in, p)
		}
		if in = p; op.whole() && len(ops) > 1 {
			return nil, fmt.Errorf("%w: it changes %s and lines of it", change.ErrInvalid, p)
		}
		located = append(located, op)
	}
	return s.open(in, located)
}

// open opens the folder of the transcript at a path, which the ops are on.
func (s *Store) open(p string, ops []lineOp) (*transaction, error) {
	root, err := safedir.OpenRoot(s.id.Root)
	if err != nil {
		return nil, err
	}
	dir, err := root.Sub(path.Dir(p))
	if err != nil && !safedir.IsMissing(err) {
		root.Close()
		return nil, err
	}
	own := stage.Area{Root: root, Path: s.id.Root, Owner: s.opt.Owner, Step: s.opt.Step}
	return &transaction{Store: s, root: root, own: own, dir: dir, path: p, name: path.Base(p), ops: ops}, nil
}

func (tx *transaction) close() {
	if tx.dir != nil {
		tx.dir.Close()
	}
	tx.root.Close()
}

// newlinePart begins the part of a ref for the newline that a change writes before its first line because the previous
// line lacks one. The beginning of the SHA-256 of that first line follows.
const newlinePart = "newline-"

// locate returns the path of the op's transcript, and the op with its key. It refuses images that the op cannot have.
func (s *Store) locate(o change.Op) (string, lineOp, error) {
	op := lineOp{Op: o}
	ref := o.Ref
	if ref.Kind == change.KindPart {
		if hash, ok := strings.CutPrefix(ref.Part, newlinePart); ok {
			op.newline = hash
			ref.Kind, ref.Part = change.KindMessage, ""
		}
	}
	p, _, err := s.layout.Path(ref)
	if err != nil {
		return "", op, err
	}
	if ref.Kind != change.KindSession {
		op.key = ref.ID()
	}
	if op.whole() && (o.Pre == nil) != (o.Post == nil) {
		return "", op, fmt.Errorf("%v %s: a transcript is neither made nor removed", ref.Kind, ref)
	}
	for _, i := range []*change.Image{o.Pre, o.Post} {
		if i == nil || op.whole() {
			continue
		}
		if i.Mode != Mode {
			return "", op, fmt.Errorf("%v %s: it has the mode %v", ref.Kind, ref, i.Mode)
		}
		if op.newline == "" && (len(i.Data) == 0 || strings.ContainsRune(string(i.Data), '\n') || s.layout.Key(i.Data) != op.key) {
			return "", op, fmt.Errorf("%v %s: it is not one line with that key", ref.Kind, ref)
		}
	}
	return p, op, nil
}
