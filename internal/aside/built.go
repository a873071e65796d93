package aside

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/fail"
	"mend/internal/ownfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// The folder of all builds.
const (
	builder  = "built"
	builtDir = stage.Dir + "/" + builder
)

// A Built is a folder for a build of this process. It is locked until Discard, so that no other process removes it.
type Built struct {
	name string
	lock *safedir.Dir // nil if a folder cannot be locked; then builds of other processes stay
	open func() (*Area, error)
}

// Build makes a folder for a build of this process.
func (a *Area) Build() (*Built, error) {
	if err := a.SweepBuilt(); err != nil {
		return nil, err
	}
	path, owner, step, sums := a.Path, a.Owner, a.Step, a.sums
	b := &Built{open: func() (*Area, error) { return Open(path, owner, step, sums) }}
	for tries := 0; ; tries++ {
		b.name = rand.Text()
		d, err := a.Make(builtDir + "/" + b.name)
		if errors.Is(err, fs.ErrNotExist) && tries < 100 { // another process has removed the empty folder
			continue
		}
		if err != nil {
			_ = a.RemoveEmpty(builtDir) // it fails for the same reason
			return nil, fmt.Errorf("building in %s: %w", a.Path, err)
		}
		err = ownfile.TryLock(d.File())
		if errors.Is(err, errors.ErrUnsupported) {
			d.Close()
			return b, nil
		}
		// Until the folder is locked, another process may mistake it for the build of a killed process.
		if exists, errStat := a.exists(Place{builtDir, b.name}); err == nil && errStat == nil && exists {
			b.lock = d
			return b, nil
		}
		d.Close()
	}
}

// Folder returns the folder below the store's folder.
func (b *Built) Folder() string { return builtDir + "/" + b.name }

// Finish makes the build durable and renames it to name, which is derived from its content, so that a change finds it.
func (b *Built) Finish(a *Area, name string) error {
	err := a.rename(Move{Place{builtDir, b.name}, Place{builtDir, name}})
	if errors.Is(err, fs.ErrExist) {
		return fail.New(fail.Refused, "run the command again when it has ended", "another process of mend has built the same content")
	}
	if err != nil {
		return err
	}
	b.name = name
	return a.Sync(&atomicfile.Barrier{}, b.Folder(), builtDir, stage.Dir, ".")
}

// Discard unlocks the folder, and removes it unless a change has moved it. Always call it. If it cannot be removed,
// the next change does it.
func (b *Built) Discard() {
	if b.lock != nil {
		ownfile.Unlock(b.lock.File())
		b.lock.Close()
	}
	if a, err := b.open(); err == nil {
		_ = a.sweepBuilt(b.name)
		a.Close()
	}
}

// SweepBuilt removes builds of ended processes that no change has moved.
func (a *Area) SweepBuilt() error { return a.sweepBuilt("") }

// sweepBuilt removes this process's own build, or if that is "", the builds of all ended processes.
func (a *Area) sweepBuilt(own string) error {
	d, err := a.Open(builtDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if errors.Is(err, fs.ErrNotExist) { // another process has just removed the folder
		return nil
	}
	for _, name := range names {
		if own == "" || name == own {
			err = errors.Join(err, a.removeUnlocked(d, name, own != ""))
		}
	}
	return errors.Join(err, a.RemoveEmpty(builtDir))
}

// removeUnlocked removes a folder that no process has locked. own means that the folder belongs to this process.
func (a *Area) removeUnlocked(in *safedir.Dir, name string, own bool) error {
	d, err := in.Sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if err := ownfile.TryLock(d.File()); errors.Is(err, ownfile.ErrLocked) || err != nil && !own {
		return nil
	}
	return a.removeAll(in, name)
}

// removeAll removes a file, or a folder with all its content. It follows no link.
func (a *Area) removeAll(d *safedir.Dir, name string) error {
	e, err := d.Stat(name)
	if err != nil || !e.Exists {
		return err
	}
	if e.IsDir() {
		sub, err := d.Sub(name)
		if err != nil {
			return err
		}
		defer sub.Close()
		names, err := sub.Names()
		for _, n := range names {
			err = errors.Join(err, a.removeAll(sub, n))
		}
		if err != nil {
			return err
		}
	}
	return a.Remove(d, name)
}

// keptNames returns the names in the owner's folder for the content that an op removed or restored.
func keptNames(o change.OpInfo) (names []string) {
	switch o.Ref.Kind {
	case change.KindRows:
		names = []string{o.Ref.Part}
	case change.KindTree:
		names = []string{treeName(o.Ref)}
	case change.KindDatabase, change.KindTranscript:
		for _, set := range []*change.Digest{o.Pre, o.Post} {
			if set != nil {
				names = append(names, setName(set.SHA256))
			}
		}
	default:
	}
	return names
}

// Keeps reports whether the content that an op removed or restored is kept beside the store, by any owner.
func (a *Area) Keeps(o change.OpInfo) bool {
	return slices.ContainsFunc(keptNames(o), func(name string) bool {
		found, err := a.Find(name)
		return err == nil && len(found) > 0
	})
}

// Find returns the places where any owner keeps that name.
func (a *Area) Find(name string) (found []Place, err error) {
	owners, err := a.Names(stage.Dir)
	for _, owner := range owners {
		p := Place{stage.Dir + "/" + owner, name}
		if exists, errOne := a.exists(p); errOne == nil && exists && owner != builder {
			found = append(found, p)
		}
	}
	return found, err
}

// Sweep removes the content that the owner keeps for unneeded ops, except what needed ops also use, and returns its
// size in bytes. Content that belongs to no op stays.
func (a *Area) Sweep(ctx context.Context, needed, unneeded []change.OpInfo) (freed int64, err error) {
	if err := a.SweepBuilt(); err != nil || a.Owner == builder { // there is no journal
		return 0, err
	}
	remove := map[string]bool{}
	for _, op := range unneeded {
		for _, name := range keptNames(op) {
			remove[name] = true
		}
	}
	for _, op := range needed {
		for _, name := range keptNames(op) {
			delete(remove, name)
		}
	}
	own, err := a.Open(a.OwnerDir())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer own.Close()
	names, err := own.Names()
	for _, name := range names {
		if !remove[name] || err != nil {
			continue
		}
		var t Tree
		if t, err = a.Tree(ctx, a.Kept(name)); err == nil {
			err = a.removeAll(own, name)
		}
		freed += t.Bytes
	}
	if err != nil {
		return freed, err
	}
	return freed, a.RemoveEmpty(a.OwnerDir())
}
