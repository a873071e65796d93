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

	"mend/agent"
	"mend/change"
	"mend/internal/aside"
)

// If the file of a session is too large for a plan, it is built aside and moved into place, see [aside]. A database
// that the agent cannot use is set aside.

// asideFile returns the file that a change moves.
func (s *Store) asideFile(ref change.Ref) (f aside.DatabaseFile, err error) {
	if ref.Kind == change.KindDatabase && s.opt.Database != nil && ref.Part != "" && ref.Validate() == nil {
		return s.opt.Database(ref.Part).File(), nil
	}
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
			if use := s.opt.InUse(p); use != "" && s.opt.Lock == nil { // otherwise the session's lock shows that it is not in use
				return fmt.Errorf("%w: %s", change.ErrInUse, use)
			}
			return nil
		},
		Lock:       func() (func(), error) { return func() {}, nil }, // the writer holds the session's lock
		Checkpoint: func(context.Context) (bool, error) { return false, nil },
	}, nil
}

// area opens the root for an owner; the owner is "" while something is built.
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
func (s *Store) BuildAside(ctx context.Context, ref change.Ref, dry bool, write func(io.Writer) error) (op change.Op, discard func(), err error) {
	op.Ref, discard = ref, func() {}
	op.Ref.Kind = change.KindTranscript
	f, err := s.asideFile(op.Ref)
	if err != nil {
		return op, discard, err
	}
	if dry {
		sum := hashWriter{sha256.New(), 0}
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
	post, discardBuilt, err := a.BuildDatabase(ctx, f, func(path string) error {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		err = write(file)
		return errors.Join(err, file.Sync(), file.Close())
	})
	if err != nil {
		return op, discard, err
	}
	op.Post = post
	return op, discardBuilt, nil
}

// A hashWriter computes the size and the hash of the bytes written to it.
type hashWriter struct {
	hash.Hash
	size int64
}

func (s *hashWriter) Write(b []byte) (int, error) {
	s.size += int64(len(b))
	return s.Hash.Write(b)
}

// wholeFiles implements [aside.Store].
type wholeFiles struct{ *Store }

func (w wholeFiles) Area(owner string) (*aside.Area, error) { return w.area(owner) }

func (w wholeFiles) WholeChange(a *aside.Area, st change.Staged) (aside.Change, error) {
	f, err := w.asideFile(st.Ops[0].Ref)
	if err != nil {
		return nil, err
	}
	return aside.NewDatabase(a, f, st)
}

// keptFiles implements [agent.KeptFiles].
type keptFiles struct{ aside.Writer }

// KeptFiles implements [agent.Store].
func (s *Store) KeptFiles(journal string) agent.KeptFiles { return keptFiles{s.wholeFiles(journal)} }

// wholeFiles returns the writer of whole files for a journal.
func (s *Store) wholeFiles(journal string) aside.Writer {
	return aside.Writer{Store: wholeFiles{s}, Owner: journal}
}

func (keptFiles) ArchivedSessions(context.Context, change.Ref) (all, removed map[string]bool, err error) {
	return nil, nil, nil
}

func (keptFiles) CountUnrestorable(context.Context, change.Ref) (int64, error) { return 0, nil }
