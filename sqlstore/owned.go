package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mend/change"
	"mend/internal/aside"
	"mend/internal/stage"
)

// Owned is a database with the owner of its changes, a journal. Package [aside] makes changes of the whole database, of
// many rows and of folders beside the database, and keeps what they remove beside it.
type Owned struct {
	*Store
	wholeWriter
}

// A wholeWriter makes the changes that are not of single rows.
type wholeWriter = aside.Writer

// WithOwner returns the database for the changes of an owner.
func (s *Store) WithOwner(owner string) *Owned {
	return &Owned{s, aside.Writer{Store: wholeFiles{s}, Owner: owner}}
}

// wholeFiles implements [aside.Store].
type wholeFiles struct{ *Store }

// Area implements [aside.Store].
func (w wholeFiles) Area(owner string) (*aside.Area, error) { return w.area(owner) }

// area opens the owner's folder beside the database; the owner is "" while a file is built.
func (s *Store) area(owner string) (*aside.Area, error) {
	return aside.Open(filepath.Dir(s.id.Root), owner, s.opt.Step, &s.sums)
}

// File returns the database's file for a change of the whole database.
func (s *Store) File() aside.DatabaseFile {
	return aside.DatabaseFile{
		Name: filepath.Base(s.id.Root), CheckFree: s.CheckFree, Checkpoint: s.checkpoint,
		Lock: func() (func(), error) { return lockDatabase(s.id.Root) },
	}
}

// NewUnopened returns a database for changes of the whole file, even if it cannot be opened. step is [Options].Step.
func NewUnopened(path string, step func(string) error) *Store {
	s := &Store{id: change.StoreID{Kind: "sqlite", Root: path}, opt: Options{Step: step}, look: currentHolders}
	s.opt.setDefaults()
	return s
}

func isAside(ops []change.Op) bool { return len(ops) > 0 && ops[0].Ref.Kind.WholeFiles() }

// WholeChange implements [aside.Store].
func (w wholeFiles) WholeChange(a *aside.Area, st change.Staged) (aside.Change, error) {
	switch st.Ops[0].Ref.Kind {
	case change.KindDatabase:
		return aside.NewDatabase(a, w.File(), st)
	case change.KindRows:
		return w.newRows(a, st)
	default:
		return aside.NewTrees(a, w.CheckFree, st.Ops)
	}
}

// Prepare checks a change, of whole files or of single rows.
func (o *Owned) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	if !isAside(p.Ops) {
		return o.Store.Prepare(ctx, p)
	}
	return o.wholeWriter.Prepare(ctx, p)
}

// Commit makes a change.
func (o *Owned) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	if !isAside(st.Ops) {
		return o.Store.Commit(ctx, st)
	}
	return o.wholeWriter.Commit(ctx, st)
}

// Settle determines how far a change came, and finishes or reverts it.
func (o *Owned) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	if !isAside(st.Ops) {
		return o.Store.Settle(ctx, st)
	}
	return o.wholeWriter.Settle(ctx, st)
}

// Discard removes the empty folders of a change, and files that killed processes have built. Kept files stay.
func (o *Owned) Discard(ctx context.Context, st change.Staged) error {
	if !exists(filepath.Join(filepath.Dir(o.id.Root), stage.Dir)) || o.Owner == "" {
		return nil
	}
	if err := o.wholeWriter.Discard(ctx, st); err != nil {
		return fmt.Errorf("removing mend's own files beside %s: %w", o.id.Root, err)
	}
	return nil
}

// Tree describes the folder of a ref of [change.KindTree].
func (s *Store) Tree(ctx context.Context, ref change.Ref) (t aside.Tree, err error) {
	a, err := s.area("")
	if err != nil {
		return t, err
	}
	defer a.Close()
	return a.TreeOf(ctx, ref)
}

// readAside returns the images of whole files.
func (s *Store) readAside(ctx context.Context, refs []change.Ref) (images []*change.Image, err error) {
	a, err := s.area("")
	if err != nil {
		return nil, err
	}
	defer a.Close()
	for _, ref := range refs {
		var image *change.Image
		switch ref.Kind {
		case change.KindDatabase:
			image, err = a.Files(ctx, s.File().Place())
		case change.KindRows:
			image, err = s.readRows(ctx, ref)
		default:
			var t aside.Tree
			t, err = a.TreeOf(ctx, ref)
			image = t.Image
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", s.id.Root, err)
		}
		images = append(images, image)
	}
	return images, nil
}

// A Built is a new database beside the old one.
type Built struct {
	Ops     []change.Op // the change that replaces the old database with it
	Discard func()      // removes the new database, unless the change has moved it; call it in any case
}

// Build makes build write a new database at a path, and returns the change that replaces this database with it. Nothing
// else is written.
func (s *Store) Build(ctx context.Context, build func(path string) error) (b Built, err error) {
	a, err := s.area("")
	if err != nil {
		return b, err
	}
	defer a.Close()
	pre, err := a.Files(ctx, s.File().Place())
	if err != nil {
		return b, err
	}
	post, discard, err := a.BuildDatabase(ctx, s.File(), func(path string) error {
		if err := build(path); err != nil {
			return err
		}
		if err := copyOwnership(path, s.id.Root); err != nil {
			return err
		}
		now, err := a.Files(ctx, s.File().Place())
		if err == nil && !now.Equal(pre) {
			err = fmt.Errorf("%w: it changed while it was read", change.ErrLocked)
		}
		return err
	})
	if err != nil {
		return b, err
	}
	return Built{[]change.Op{{Ref: change.Ref{Kind: change.KindDatabase}, Pre: pre, Post: post}}, discard}, nil
}

// copyOwnership gives a new database the mode and the owner of the old one.
func copyOwnership(path, old string) error {
	info, err := os.Lstat(old)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	setOwner(f, info)
	return errors.Join(f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
}
