package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// A fileOp is an op with the paths of its target, the file that the agent reads, and of its staged file. Commit
// exchanges the two.
type fileOp struct {
	*change.Op
	path   string // path of the target, below the root
	staged string // name of the staged file

	mtime   int64 // mtime of the target when it was compared
	newTime int64 // mtime of the file that the change moves to the target; 0 for none
}

// withTime returns the op, with the mtime of the file in Pre if the op removes the file or changes
// its mtime.
func (op fileOp) withTime(fresh bool) change.Op {
	o := *op.Op
	if o.Pre != nil && !op.isFolder() && (fresh || o.Post == nil || o.Post.Time != 0) {
		pre := *o.Pre
		pre.Time = op.mtime
		o.Pre = &pre
	}
	return o
}

// dir returns the folder of the target.
func (op fileOp) dir() string { return path.Dir(op.path) }

// name returns the name of the target in its folder.
func (op fileOp) name() string { return path.Base(op.path) }

func (op fileOp) isFolder() bool { return op.Ref.Kind == change.KindFolder }

// what names the record in steps and messages.
func (op fileOp) what() string { return fmt.Sprintf("%v %s", op.Ref.Kind, op.Ref) }

// limit returns the size in bytes of the larger of Pre and Post.
func (op fileOp) limit() int64 { return int64(max(op.Pre.Size(), op.Post.Size())) }

// A transaction is one change in progress.
type transaction struct {
	*Store
	root      *safedir.Dir
	own       stage.Area
	stageDir  *safedir.Dir // staging folder, or nil
	stagePath string       // its path, as Prepare returned it
	lost      bool         // the staging folder of Prepare is lost; stageDir is the one that Settle made
	settling  bool         // after a crash: it is unknown which names were changed
	ops       []fileOp
	folders   map[string]bool     // paths of the ops on folders
	kept      map[string][]string // see keptNames; nil before they are read
}

// begin finds the paths of the ops and opens the root. The error wraps [change.ErrInvalid] if an op
// has no path or two ops have the same.
func (s *Store) begin(ops []change.Op) (*transaction, error) {
	tx := &transaction{Store: s, ops: make([]fileOp, 0, len(ops)), folders: map[string]bool{}}
	seen := make(map[string]bool, len(ops))
	for i := range ops {
		op, err := s.locate(&ops[i])
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
	tx.root, err = safedir.OpenRoot(s.id.Root)
	tx.own = stage.Area{Root: tx.root, Path: s.id.Root, Owner: s.opt.Owner, Step: s.opt.Step}
	return tx, err
}

func (tx *transaction) add(op fileOp) {
	tx.ops = append(tx.ops, op)
	if op.isFolder() {
		tx.folders[op.path] = true
	}
}

// locate finds the target of an op, and refuses content that no file can hold.
func (s *Store) locate(o *change.Op) (fileOp, error) {
	p, ref, err := s.layout.Path(o.Ref)
	if err != nil {
		return fileOp{}, err
	}
	if o.Ref != ref {
		o = &change.Op{Ref: ref, Pre: o.Pre, Post: o.Post}
	}
	op := fileOp{Op: o, path: p}
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
	if op.limit() > change.MaxText {
		return fileOp{}, fmt.Errorf("%v %s: it has %d bytes, at most %d are allowed", ref.Kind, ref, op.limit(), change.MaxText)
	}
	if op.isFolder() && o.Pre != nil && o.Post != nil {
		return fileOp{}, fmt.Errorf("folder %s: it is neither made nor removed", ref)
	}
	return op, nil
}

// resume continues a change that was staged earlier, possibly by another process. Its staging
// folder may be lost.
func (s *Store) resume(st change.Staged) (*transaction, error) {
	if err := stage.Check(st, s.id, isNumber); err != nil {
		return nil, err
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
	if err == nil {
		err = tx.own.FinishExchanges(tx.stageDir)
	}
	if err != nil {
		tx.close()
	}
	return tx, err
}

// setStage sets the staging folder and the names of the staged files.
func (tx *transaction) setStage(dir string) {
	tx.stagePath = dir
	for i := range tx.ops {
		tx.ops[i].staged = stagedName(i, *tx.ops[i].Op)
	}
}

func (tx *transaction) close() {
	tx.root.Close()
	if tx.stageDir != nil {
		tx.stageDir.Close()
	}
}

// parent opens the folder of the target.
func (tx *transaction) parent(op fileOp) (*safedir.Dir, error) { return tx.root.Sub(op.dir()) }

// barrier makes the names durable in all folders that the ops touch, and in mend's own folders,
// where each rename has its other end. The data was already durable before any of these names
// changed.
func (tx *transaction) barrier(items []fileOp) error {
	folders := []string{tx.stagePath, tx.stagePath + again, stage.Kept, stage.Dir, "."}
	seen := map[string]bool{}
	for _, op := range items {
		if dir := op.dir(); !seen[dir] {
			seen[dir] = true
			folders = append(folders, dir)
		}
	}
	return tx.own.Sync(new(atomicfile.Barrier), folders...)
}
