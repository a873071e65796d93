package aside

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"mend/change"
	"mend/internal/fail"
)

// A database is replaced by another one, or set aside. Each set of its files is kept in a folder named after the list
// of the files with their sizes and hashes; that list is the image of the change.
//
//	before    FILE, FILE-wal, FILE-shm           the old set     built/db-POST/FILE   the new one, or OWNER/db-POST of an undo
//	1         built/db-POST becomes OWNER/db-POST
//	2         -shm and -wal go to db-PRE: so that no program uses them with the new database
//	commit    FILE and db-POST/FILE are exchanged
//	3         db-POST/FILE goes to db-PRE/FILE
//	4         the -wal and the -shm in db-POST go beside FILE
//
// A sound database has no -wal here: [DatabaseFile].Checkpoint has emptied it. If a crash interrupts the change, a
// damaged database is without its -wal from step 2 until it is reverted.

// A DatabaseFile is the file of a database, with functions to use it.
type DatabaseFile struct {
	Folder string // below the folder of the area; "" for the folder itself
	Name   string
	// CheckFree returns an error that names the processes that have the database open.
	CheckFree func(ctx context.Context) error
	// Lock locks the file against other programs.
	Lock func() (unlock func(), err error)
	// Checkpoint moves the content of the -wal into the file if the database is sound. It reports whether it did.
	Checkpoint func(ctx context.Context) (bool, error)
}

// A database is a change of a whole database.
type database struct {
	*Area
	DatabaseFile
	op        change.Op
	pre, post *fileSet // nil for none
	dir       string
	unlock    func()
}

// NewDatabase returns the change of a database.
func NewDatabase(a *Area, f DatabaseFile, st change.Staged) (Change, error) {
	if len(st.Ops) != 1 {
		return nil, fmt.Errorf("%w: a whole file must be the only change", change.ErrInvalid)
	}
	op := st.Ops[0]
	x := &database{Area: a, DatabaseFile: f, op: op, dir: st.Dir, unlock: func() {}}
	var err, errPost error
	x.pre, err = setOf(op.Pre)
	x.post, errPost = setOf(op.Post)
	if err = cmp.Or(err, errPost); err == nil && x.pre == nil && x.post == nil {
		err = errors.New("not a change of a database")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
	}
	return x, nil
}

// BuildDatabase makes build write a new database at a path in a private folder, and returns the image of its files.
// discard removes it, unless a change has moved it; always call it.
func (a *Area) BuildDatabase(ctx context.Context, f DatabaseFile, build func(path string) error) (post *change.Image, discard func(), err error) {
	b, err := a.Build()
	if err != nil {
		return nil, nil, err
	}
	var set *fileSet
	if err = build(filepath.Join(a.Path, b.Folder(), f.Name)); err == nil {
		set, err = a.files(ctx, Place{b.Folder(), f.Name})
	}
	if err == nil && set == nil {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = b.Finish(a, set.name())
	}
	if err != nil {
		b.Discard()
		return nil, nil, err
	}
	return set.image(), b.Discard, nil
}

// Stage first moves the content of a sound database's -wal into the file, so that no crash separates the two; the
// change then expects the file with that content.
func (x *database) Stage(ctx context.Context, st *change.Staged) (err error) {
	if x.pre != nil && len(x.pre.files) > 1 { // it has a -wal
		if x.op.Pre, err = x.checkpoint(ctx); err == nil {
			x.pre, err = setOf(x.op.Pre)
		}
		if err != nil {
			return err
		}
		st.Ops = []change.Op{x.op}
	}
	x.dir = x.OwnerDir()
	if x.post != nil {
		x.dir, err = x.Dir(x.post.name())
	}
	st.Dir = x.dir
	return err
}

// checkpoint empties the -wal of a sound database that is as the change expects it, and returns the new image of its
// files.
func (x *database) checkpoint(ctx context.Context) (*change.Image, error) {
	now, err := x.Files(ctx, x.Place())
	if err != nil || !now.Equal(x.op.Pre) {
		return x.op.Pre, err
	}
	if err := x.CheckFree(ctx); err != nil {
		return nil, err
	}
	done, err := x.Checkpoint(ctx)
	if err != nil || !done {
		return x.op.Pre, err
	}
	return x.Files(ctx, x.Place())
}

// Place returns the place of the file.
func (f DatabaseFile) Place() Place { return f.place("") }

// place returns the place of a file beside the database.
func (f DatabaseFile) place(suffix string) Place {
	return Place{cmp.Or(f.Folder, "."), f.Name + suffix}
}

// keptPlace returns the place where a file of a set is kept.
func (x *database) keptPlace(set *fileSet, suffix string) Place {
	return Place{x.OwnerDir() + "/" + set.name(), x.Name + suffix}
}

func (x *database) Close() {
	x.unlock()
	x.Area.Close()
}

func (x *database) conflict(now *change.Image, why string) []change.Conflict {
	return []change.Conflict{{Ref: x.op.Ref, Pre: x.op.Pre, Post: x.op.Post, Now: now, Why: why}}
}

func (x *database) Check(ctx context.Context) error {
	if err := x.CheckFree(ctx); err != nil {
		return err
	}
	if x.pre != nil {
		unlock, err := x.Lock()
		if err != nil {
			return err
		}
		x.unlock = unlock
	}
	now, err := x.Files(ctx, x.Place())
	if err != nil {
		return err
	}
	if !now.Equal(x.op.Pre) {
		return &change.ConflictError{Conflicts: x.conflict(now, "it was changed since")}
	}
	if x.post == nil {
		return nil
	}
	if moves := x.FromBuilt(x.dir, x.post.name()); len(moves) > 0 {
		return x.checkSet(ctx, Place{x.dir, x.Name}, x.post)
	}
	return x.checkSet(ctx, x.keptPlace(x.post, ""), x.post)
}

// checkSet returns an error if the files in a place differ from a set.
func (x *database) checkSet(ctx context.Context, at Place, set *fileSet) error {
	kept, err := x.files(ctx, at)
	switch {
	case err != nil:
		return err
	case kept == nil:
		return fail.New(fail.Refused, "", "the files that would come back are no longer kept")
	case !bytes.Equal(kept.image().Data, set.image().Data):
		return fail.New(fail.Refused, "", "the kept files in %s are not the ones that the journal records", at.Dir)
	}
	return nil
}

func (x *database) CheckKept(ctx context.Context) error {
	if x.pre == nil {
		return nil
	}
	return x.checkSet(ctx, x.keptPlace(x.pre, ""), x.pre)
}

func (x *database) MovesBeforeCommit() (moves []Move) {
	if x.post != nil {
		moves = x.FromBuilt(x.dir, x.post.name())
	}
	if x.pre != nil {
		for _, suffix := range []string{shm, wal} {
			moves = append(moves, Move{x.place(suffix), x.keptPlace(x.pre, suffix)})
		}
	}
	return moves
}

func (x *database) Commit(ctx context.Context) error {
	var err error
	switch {
	case x.pre == nil:
		return x.rename(Move{x.keptPlace(x.post, ""), x.Place()})
	case x.post == nil:
		err = x.rename(Move{x.Place(), x.keptPlace(x.pre, "")})
	default:
		err = x.exchange()
	}
	if err != nil {
		return err
	}
	// Another program may have written to the old file until now.
	at := x.keptPlace(x.pre, "")
	sums, err := x.sum(ctx, at, true)
	if err == nil && sums.sum != x.pre.files[0].sum {
		err = fmt.Errorf("%w: it was written to while it was exchanged; its files are in %s", change.ErrLocked, at.Dir)
	}
	return err
}

// exchange swaps the file with the new one, and keeps the old one.
func (x *database) exchange() error {
	post := x.keptPlace(x.post, "")
	d, err := x.Root.Sub(post.Dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := x.Step("exchange " + x.Name); err != nil {
		return err
	}
	if err := x.Exchange(x.Root, x.Name, d, x.Name); err != nil {
		return err
	}
	return x.rename(Move{post, x.keptPlace(x.pre, "")})
}

func (x *database) hasFile(ctx context.Context, p Place, set *fileSet) (bool, error) {
	want := set.files[0]
	e, err := x.stat(p)
	if err != nil || !e.IsFile() || e.Size != want.size {
		return false, err
	}
	found, err := x.sum(ctx, p, false)
	return err == nil && found.sum == want.sum, err
}

// IsCommitted decides by the place of the old database: once it is kept, the commit point was reached. Without an old
// database, it was reached once the new one has left mend's private folders.
func (x *database) IsCommitted(ctx context.Context) (bool, error) {
	if x.pre == nil {
		waiting := []Place{x.keptPlace(x.post, "")}
		for _, m := range x.MovesBeforeCommit() { // from the build, if it is not moved yet
			waiting = append(waiting, m.From)
		}
		for _, p := range waiting {
			if exists, err := x.exists(p); err != nil || exists {
				return false, err
			}
		}
		return true, nil
	}
	kept, err := x.hasFile(ctx, x.keptPlace(x.pre, ""), x.pre)
	if err != nil || x.post == nil {
		return kept, err
	}
	if err := x.finishExchange(); err != nil {
		return false, err
	}
	post := x.keptPlace(x.post, "")
	exchanged, err := x.hasFile(ctx, post, x.pre)
	waiting, errWaiting := x.hasFile(ctx, post, x.post)
	exists, errExists := x.exists(x.Place())
	if err = cmp.Or(err, errWaiting, errExists); err != nil {
		return false, err
	}
	// Earlier versions of mend moved the old file away first if the system could not exchange two files.
	return (kept || exchanged) && (!waiting || !exists), nil
}

// finishExchange completes an exchange in several calls that a crash interrupted.
func (x *database) finishExchange() error {
	d, err := x.Root.Sub(x.keptPlace(x.post, "").Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return x.FinishExchanges(d)
}

func (x *database) MovesAfterCommit(ctx context.Context) (moves []Move, err error) {
	if x.post == nil {
		return []Move{{x.Place(), x.keptPlace(x.pre, "")}}, nil // already made, but not durable yet
	}
	exists, err := x.exists(x.Place())
	switch {
	case err != nil:
		return nil, err
	case !exists: // see IsCommitted
		moves = []Move{{x.keptPlace(x.post, ""), x.Place()}}
	case x.pre != nil:
		moves = []Move{{x.keptPlace(x.post, ""), x.keptPlace(x.pre, "")}}
	}
	if exists { // a program that used the new database has a -wal of its own
		if same, err := x.hasFile(ctx, x.Place(), x.post); err != nil || !same {
			return moves, err
		}
	}
	for _, suffix := range []string{wal, shm} {
		moves = append(moves, Move{x.keptPlace(x.post, suffix), x.place(suffix)})
	}
	return moves, nil
}

func (x *database) Outcome(ctx context.Context, passed bool) (out change.Outcome, err error) {
	now, err := x.Files(ctx, x.Place())
	if err != nil {
		return out, err
	}
	switch {
	case passed:
		out.State = change.Committed
		if x.post != nil {
			same, err := x.hasFile(ctx, x.Place(), x.post)
			if err != nil || same {
				return out, err
			}
			out.Conflicts = x.conflict(now, "it was changed since")
		}
	case now == nil && x.pre == nil, now != nil && x.pre != nil && bytes.Equal(now.Data, x.op.Pre.Data):
		out.State = change.Aborted
	default:
		out.State = change.Conflicted
		out.Conflicts = x.conflict(now, "it was changed meanwhile")
	}
	return out, nil
}
