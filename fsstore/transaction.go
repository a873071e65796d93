package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/session"
)

// An item is an op with the places where its record is kept: the target, which
// the agent reads, and the slot in the staging folder. One of them holds what
// the other shall get.
type fileOp struct {
	change.Op
	path      string // of the target, below the root
	dir, name string // the same, in two
	staged    string // in the staging folder

	owner safedir.Owner // of the target, as it was checked
	owned bool          // it was, and the target was there
}

func (op fileOp) isFolder() bool { return op.Ref.Kind == session.KindFolder }

// limit is the size of the largest file that can be Pre or Post.
func (op fileOp) limit() int64 {
	var n int
	for _, i := range []*change.Image{op.Pre, op.Post} {
		if i != nil {
			n = max(n, len(i.Data))
		}
	}
	return int64(n)
}

// A job is one change while it is worked on.
type transaction struct {
	*Store
	root      *safedir.Dir
	stageDir  *safedir.Dir // the staging folder, nil where there is none
	stagePath string       // its path, as Prepare said it
	lost      bool         // that one is gone: stage is the one that Settle made
	keptAny   bool         // another program's bytes were moved to where they are kept
	ops       []fileOp
	folders   map[string]bool // the paths of the items that are folders
	buf       safedir.Buffer  // for what is looked at and not kept
}

// begin finds the places of the ops and opens the root. The error wraps
// [change.ErrInvalid] where an op has no place or two have the same.
func (s *Store) begin(ops []change.Op) (*transaction, error) {
	tx := &transaction{Store: s, folders: map[string]bool{}}
	seen := make(map[string]bool, len(ops))
	for _, o := range ops {
		op, err := s.locate(o)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
		}
		if seen[op.path] {
			return nil, fmt.Errorf("%w: two ops on %s", change.ErrInvalid, op.path)
		}
		seen[op.path] = true
		tx.add(op)
	}
	var err error
	tx.root, err = s.OpenRoot()
	return tx, err
}

func (tx *transaction) add(op fileOp) {
	tx.ops = append(tx.ops, op)
	if op.isFolder() {
		tx.folders[op.path] = true
	}
}

// locate finds the target of an op, and refuses what no file can hold.
func (s *Store) locate(o change.Op) (fileOp, error) {
	p, ref, err := s.layout.Path(o.Ref)
	if err != nil {
		return fileOp{}, err
	}
	o.Ref = ref
	op := fileOp{Op: o, path: p, dir: path.Dir(p), name: path.Base(p)}
	for _, i := range []*change.Image{o.Pre, o.Post} {
		if i == nil {
			continue
		}
		want := fs.FileMode(0)
		if op.isFolder() {
			want = fs.ModeDir
		}
		if i.Mode&^fs.ModePerm != want {
			return fileOp{}, fmt.Errorf("%v %s: it has the mode %v", ref.Kind, ref, i.Mode)
		}
	}
	if op.limit() > s.opt.MaxRecord {
		return fileOp{}, fmt.Errorf("%v %s: it has %d bytes, at most %d are allowed", ref.Kind, ref, op.limit(), s.opt.MaxRecord)
	}
	if op.isFolder() && o.Pre != nil && o.Post != nil {
		return fileOp{}, fmt.Errorf("folder %s: it is neither made nor removed", ref)
	}
	return op, nil
}

// resume is the job of what was staged before, perhaps by another process. Its
// staging folder may be gone.
func (s *Store) resume(st change.Staged) (*transaction, error) {
	if err := safedir.CanWrite(); err != nil {
		return nil, err
	}
	if !st.Store.Same(s.id) {
		return nil, fmt.Errorf("the change is one of the store %s", st.Store.Root)
	}
	names := strings.Split(st.Dir, "/")
	if len(names) != 3 || names[0] != mendDir || session.ValidateID(names[1]) != nil || session.ValidateID(names[2]) != nil {
		return nil, fmt.Errorf("%q is no staging folder", st.Dir)
	}
	tx, err := s.begin(st.Ops)
	if err != nil {
		return nil, err
	}
	tx.setStage(st.Dir)
	tx.stageDir, err = tx.root.Sub(st.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		tx.lost = true
		tx.stageDir, err = tx.root.Sub(st.Dir + again)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return tx, nil
	}
	if err != nil {
		tx.close()
	}
	return tx, err
}

// setStage says where the items are staged.
func (tx *transaction) setStage(dir string) {
	tx.stagePath = dir
	for i := range tx.ops {
		tx.ops[i].staged = stagedName(i, tx.ops[i].Op)
	}
}

func (tx *transaction) close() {
	tx.root.Close()
	if tx.stageDir != nil {
		tx.stageDir.Close()
	}
}

func (s *Store) stepItem(verb string, op fileOp) error {
	if s.opt.Step == nil {
		return nil
	}
	return s.step(fmt.Sprintf("%s %v %s", verb, op.Ref.Kind, op.Ref))
}

// parent opens the folder in which the target is.
func (tx *transaction) parent(op fileOp) (*safedir.Dir, error) { return tx.root.Sub(op.dir) }

// barrier makes the names durable in all folders that the items touch. The data
// has been durable since before any of these names changed.
//
// The other end of each rename is in one of our own folders. Where the file system
// logs it as one with this end, those are synced only for what is kept in them.
func (tx *transaction) barrier(items []fileOp) error {
	b := tx.newBarrier()
	var folders []string
	seen := map[string]bool{}
	for _, op := range items {
		if !seen[op.dir] {
			seen[op.dir] = true
			folders = append(folders, op.dir)
		}
	}
	if tx.keptAny || !b.LogsRenames() {
		folders = append(folders, tx.ownFolders()...)
	}
	return errors.Join(tx.addDirs(b, folders), tx.waitFor(b))
}

// ownFolders are those of our own folders that a change has.
func (tx *transaction) ownFolders() []string {
	return []string{tx.stagePath, tx.stagePath + again, keptDir, mendDir, "."}
}

// newBarrier returns a barrier for this store. The root is open since before
// anything was written.
func (tx *transaction) newBarrier() *atomicfile.Barrier { return atomicfile.NewBarrier(tx.root.File()) }

// addDirs puts the folders behind the barrier. Where something is missing, or
// no folder, nothing of ours is there.
func (tx *transaction) addDirs(b *atomicfile.Barrier, folders []string) error {
	if b.AddMany(len(folders)) {
		return nil
	}
	var errs []error
	for _, p := range folders {
		d, err := tx.root.Sub(p)
		var strange *safedir.NotFolderError
		switch {
		case err == nil:
			b.Add(d.File())
		case !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &strange):
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (tx *transaction) waitFor(b *atomicfile.Barrier) error {
	err := errors.Join(tx.step("barrier"), b.Wait())
	if err != nil {
		return fmt.Errorf("waiting for the disk: %w", err)
	}
	return nil
}
