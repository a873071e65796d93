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
type item struct {
	op        change.Op
	path      string // of the target, below the root
	dir, name string // the same, in two
	slot      string // in the staging folder

	owner safedir.Owner // of the target, as it was checked
	owned bool          // it was, and the target was there
}

func (it item) isFolder() bool { return it.op.Ref.Kind == session.KindFolder }

// limit is the size of the largest file that can be Pre or Post.
func (it item) limit() int64 {
	var n int
	for _, i := range []*change.Image{it.op.Pre, it.op.Post} {
		if i != nil {
			n = max(n, len(i.Data))
		}
	}
	return int64(n)
}

// A job is one change while it is worked on.
type job struct {
	*Store
	root     *safedir.Dir
	stage    *safedir.Dir // the staging folder, nil where there is none
	stageDir string       // its path, as Prepare said it
	lost     bool         // that one is gone: stage is the one that Settle made
	kept     bool         // another program's bytes were moved to where they are kept
	items    []item
	folders  map[string]bool // the paths of the items that are folders
	buf      safedir.Buffer  // for what is looked at and not kept
}

// job finds the places of the ops and opens the root. The error wraps
// [change.ErrInvalid] where an op has no place or two have the same.
func (s *Store) job(ops []change.Op) (*job, error) {
	j := &job{Store: s, folders: map[string]bool{}}
	seen := make(map[string]bool, len(ops))
	for _, o := range ops {
		it, err := s.place(o)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
		}
		if seen[it.path] {
			return nil, fmt.Errorf("%w: two ops on %s", change.ErrInvalid, it.path)
		}
		seen[it.path] = true
		j.add(it)
	}
	var err error
	j.root, err = s.open()
	return j, err
}

func (j *job) add(it item) {
	j.items = append(j.items, it)
	if it.isFolder() {
		j.folders[it.path] = true
	}
}

// place finds the target of an op, and refuses what no file can hold.
func (s *Store) place(o change.Op) (item, error) {
	p, ref, err := s.layout.path(o.Ref)
	if err != nil {
		return item{}, err
	}
	o.Ref = ref
	it := item{op: o, path: p, dir: path.Dir(p), name: path.Base(p)}
	for _, i := range []*change.Image{o.Pre, o.Post} {
		if i == nil {
			continue
		}
		want := fs.FileMode(0)
		if it.isFolder() {
			want = fs.ModeDir
		}
		if i.Mode&^fs.ModePerm != want {
			return item{}, fmt.Errorf("%v %s: it has the mode %v", ref.Kind, ref, i.Mode)
		}
	}
	if it.limit() > s.opt.MaxRecord {
		return item{}, fmt.Errorf("%v %s: it has %d bytes, at most %d are allowed", ref.Kind, ref, it.limit(), s.opt.MaxRecord)
	}
	if it.isFolder() && o.Pre != nil && o.Post != nil {
		return item{}, fmt.Errorf("folder %s: it is neither made nor removed", ref)
	}
	return it, nil
}

// resume is the job of what was staged before, perhaps by another process. Its
// staging folder may be gone.
func (s *Store) resume(st change.Staged) (*job, error) {
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
	j, err := s.job(st.Ops)
	if err != nil {
		return nil, err
	}
	j.name(st.Dir)
	j.stage, err = j.root.Sub(st.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		j.lost = true
		j.stage, err = j.root.Sub(st.Dir + again)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		j.close()
	}
	return j, err
}

// name says where the items are staged.
func (j *job) name(dir string) {
	j.stageDir = dir
	for i := range j.items {
		j.items[i].slot = slotName(i, j.items[i].op)
	}
}

func (j *job) close() {
	j.root.Close()
	if j.stage != nil {
		j.stage.Close()
	}
}

// step asks the hook of the tests whether the call may be made.
func (s *Store) step(call string) error {
	if s.opt.Step == nil {
		return nil
	}
	return s.opt.Step(call)
}

func (s *Store) stepItem(verb string, it item) error {
	if s.opt.Step == nil {
		return nil
	}
	return s.step(fmt.Sprintf("%s %v %s", verb, it.op.Ref.Kind, it.op.Ref))
}

// parent opens the folder in which the target is.
func (j *job) parent(it item) (*safedir.Dir, error) { return j.root.Sub(it.dir) }

// barrier makes the names durable in all folders that the items touch. The data
// has been durable since before any of these names changed.
//
// The other end of each rename is in one of our own folders. Where the file system
// logs it as one with this end, those are synced only for what is kept in them.
func (j *job) barrier(items []item) error {
	b := j.newBarrier()
	var folders []string
	seen := map[string]bool{}
	for _, it := range items {
		if !seen[it.dir] {
			seen[it.dir] = true
			folders = append(folders, it.dir)
		}
	}
	if j.kept || !b.LogsRenames() {
		folders = append(folders, j.ownFolders()...)
	}
	return errors.Join(j.addAll(b, folders), j.wait(b))
}

// ownFolders are those of our own folders that a change has.
func (j *job) ownFolders() []string {
	return []string{j.stageDir, j.stageDir + again, keptDir, mendDir, "."}
}

// newBarrier returns a barrier for this store. The root is open since before
// anything was written.
func (j *job) newBarrier() *atomicfile.Barrier { return atomicfile.NewBarrier(j.root.File()) }

// addAll puts the folders behind the barrier. Where something is missing, or
// no folder, nothing of ours is there.
func (j *job) addAll(b *atomicfile.Barrier, folders []string) error {
	if b.AddMany(len(folders)) {
		return nil
	}
	var errs []error
	for _, p := range folders {
		d, err := j.root.Sub(p)
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

func (j *job) wait(b *atomicfile.Barrier) error {
	err := errors.Join(j.step("barrier"), b.Wait())
	if err != nil {
		return fmt.Errorf("waiting for the disk: %w", err)
	}
	return nil
}
