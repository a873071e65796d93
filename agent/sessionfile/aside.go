package sessionfile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"

	"mend/agent"
	"mend/change"
	"mend/internal/aside"
	"mend/txn"
)

// The file of a session that is too large for a plan is built aside and moved into its place, see [aside].

// asideFile returns the file that a change moves.
func (s *Store) asideFile(ref change.Ref) (f aside.DatabaseFile, err error) {
	if ref.Kind != change.KindTranscript {
		return f, fmt.Errorf("%w: the store has no %v", change.ErrInvalid, ref.Kind)
	}
	ref.Kind = change.KindSession
	p, _, err := s.layout.Path(ref)
	if err != nil {
		return f, fmt.Errorf("%w: %w", change.ErrInvalid, err)
	}
	return aside.DatabaseFile{
		Folder: path.Dir(p), Name: path.Base(p),
		CheckFree: func(context.Context) error {
			if use := s.opt.InUse(p); use != "" && s.opt.Lock == nil { // else the lock of the session says that it is not
				return fmt.Errorf("%w: %s", change.ErrInUse, use)
			}
			return nil
		},
		Lock:       func() (func(), error) { return func() {}, nil }, // the writer has that of the session
		Checkpoint: func(context.Context) (bool, error) { return false, nil },
	}, nil
}

// area opens the root for an owner, "" to build something.
func (s *Store) area(owner string) (*aside.Area, error) {
	return aside.Open(s.ID().Root, owner, s.opt.Step, &s.sums)
}

func isAside(ref change.Ref) bool { return ref.Kind.WholeFiles() }

func (s *Store) readAside(ctx context.Context, refs []change.Ref) (images []*change.Image, err error) {
	if len(refs) == 0 {
		return nil, nil
	}
	a, err := s.area("")
	if err != nil {
		return nil, err
	}
	defer a.Close()
	for _, ref := range refs {
		var image *change.Image
		f, err := s.asideFile(ref)
		if err == nil {
			image, err = a.Files(ctx, f.Place())
		}
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return images, nil
}

// BuildAside implements [agent.Store].
func (s *Store) BuildAside(ctx context.Context, ref change.Ref, dry bool, write func(io.Writer) error) (op change.Op, discard func() error, err error) {
	op.Ref, discard = ref, func() error { return nil }
	op.Ref.Kind = change.KindTranscript
	f, err := s.asideFile(op.Ref)
	if err != nil {
		return op, discard, err
	}
	if dry {
		sum := summing{sha256.New(), 0}
		if err = write(&sum); err == nil {
			op.Post = aside.FileImage(0o600, sum.size, sum.Sum(nil))
		}
		return op, discard, err
	}
	a, err := s.area("")
	if err != nil {
		return op, discard, err
	}
	defer a.Close()
	built, err := a.Build()
	if err != nil {
		return op, discard, err
	}
	file, err := os.OpenFile(filepath.Join(a.Path, built.Folder(), f.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = write(file)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		op.Post, err = a.FinishDatabase(ctx, built, f)
	}
	if err != nil {
		return op, discard, errors.Join(err, built.Discard())
	}
	return op, built.Discard, nil
}

// A summing computes size and hash of what is written to it.
type summing struct {
	hash.Hash
	size int64
}

func (s *summing) Write(b []byte) (int, error) {
	s.size += int64(len(b))
	return s.Hash.Write(b)
}

// An asideWriter makes changes of whole files for the journal that owns them.
type asideWriter struct {
	*Store
	owner string
}

var _ txn.Store = asideWriter{}

// open returns the change that is staged, or with prepare one that is staged now.
func (w asideWriter) open(ctx context.Context, st *change.Staged, prepare bool) (*aside.Area, aside.Change, error) {
	f, err := w.asideFile(st.Ops[0].Ref)
	if err != nil {
		return nil, nil, err
	}
	a, err := w.area(w.owner)
	if err != nil {
		return nil, nil, err
	}
	if prepare {
		*st, err = aside.StageDatabase(ctx, a, f, *st)
	}
	var c aside.Change
	if err == nil {
		c, err = aside.NewDatabase(a, f, *st)
	}
	if err != nil {
		a.Close()
	}
	return a, c, err
}

// Prepare implements [txn.Store].
func (w asideWriter) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	st := change.Staged{Store: w.ID(), Ops: p.Ops}
	_, c, err := w.open(ctx, &st, true)
	if err == nil {
		defer c.Close()
		err = c.Check(ctx)
	}
	return st, err
}

// Commit implements [txn.Store].
func (w asideWriter) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	a, c, err := w.open(ctx, &st, false)
	if err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	defer c.Close()
	return a.Run(ctx, c)
}

// Settle implements [txn.Store].
func (w asideWriter) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	a, c, err := w.open(ctx, &st, false)
	if err != nil {
		return change.Outcome{}, err
	}
	defer c.Close()
	return a.Settle(ctx, c)
}

// Discard implements [txn.Store].
func (w asideWriter) Discard(context.Context, change.Staged) error {
	a, err := w.area(w.owner)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Discard()
}

// KeptFiles implements [agent.Store].
func (s *Store) KeptFiles(journal string) agent.KeptFiles { return asideWriter{s, journal} }

// Keeps implements [agent.KeptFiles].
func (w asideWriter) Keeps(o change.OpInfo) bool {
	a, err := w.area("")
	if err != nil {
		return false
	}
	defer a.Close()
	return a.Keeps(o)
}

// ArchivedSessions implements [agent.KeptFiles].
func (asideWriter) ArchivedSessions(context.Context, change.Ref) (all, removed map[string]bool, err error) {
	return nil, nil, nil
}

// RowsLeftOut implements [agent.KeptFiles].
func (asideWriter) RowsLeftOut(context.Context, change.Ref) (int64, error) { return 0, nil }

// CheckKept implements [agent.KeptFiles].
func (w asideWriter) CheckKept(ctx context.Context, ops []change.Op) error {
	_, c, err := w.open(ctx, &change.Staged{Ops: ops}, false)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.CheckKept(ctx)
}

// Sweep implements [agent.KeptFiles].
func (w asideWriter) Sweep(ctx context.Context, needed []change.Op, dry bool) (int64, error) {
	a, err := w.area(w.owner)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	return a.Sweep(ctx, needed, dry)
}
