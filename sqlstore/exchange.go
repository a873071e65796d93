package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/fail"
	"mend/internal/safedir"
	"mend/internal/salvage"
	"mend/internal/stage"
)

// An exchange replaces the whole database by another one, and keeps the old one. Each set of files (the database, its
// -wal and its -shm) has a folder of our own, .mend/OWNER/db-HASH beside the database, named after the list of the files
// with their sizes and hashes; that list is the image of the change. The -shm and an empty -wal go along and are not in
// the list: a program that only reads makes them. So the files are on the file system of the database,
// where they are renamed and never copied.
//
//	before   FILE, FILE-wal, FILE-shm         the old set    db-POST/FILE   the new one
//	1        -shm and -wal go to db-PRE: no program takes them for those of the new database
//	2        FILE and db-POST/FILE are exchanged
//	3        db-POST/FILE goes to db-PRE/FILE
//	4        the -wal and the -shm in db-POST go beside FILE
//
// A crash before 2 leaves the old database, which Settle completes with its -wal; one after it the new one. The kept
// set stays until [Owned.Forget], so that an undo is the same exchange back.

// Owned is a database for changes that belong to one journal: its owner.
type Owned struct {
	*Store
	owner string
}

// For returns the database for the changes of an owner.
func (s *Store) For(owner string) *Owned { return &Owned{s, owner} }

// A heldError says which processes have the database open.
type heldError struct{ who []string }

func (e *heldError) Error() string {
	verb := " has"
	if len(e.who) > 1 {
		verb = " have"
	}
	return strings.Join(e.who, " and ") + verb + " the database open"
}

// Failure gives the error its exit code and its hint, see [fail.Of].
func (e *heldError) Failure() (fail.Code, string) {
	return fail.Refused, "nothing was changed. End that program, then run the command again"
}

const tick = 50 * time.Millisecond

// holders names the other processes that have a file of the database at path open. If all of them may be of mend, it waits for them.
func holders(ctx context.Context, path string) (who []string, err error) {
	for began := time.Now(); ; time.Sleep(tick) {
		if who, err = holdersNow(ctx, path); len(who) == 0 || err != nil || !mayBeOwn(who) || time.Since(began) > patience || ctx.Err() != nil {
			return who, err
		}
	}
}

// Holders names the other processes that have a file of the database open.
func (s *Store) Holders(ctx context.Context) ([]string, error) {
	who, err := holders(ctx, s.id.Root)
	if err != nil {
		return nil, fmt.Errorf("looking who has %s open: %w", s.id.Root, err)
	}
	return who, nil
}

// nameHolders adds to the error of a lock which processes have the database open.
func (s *Store) nameHolders(ctx context.Context, err error) error {
	if !errors.Is(err, change.ErrLocked) || ctx.Err() != nil {
		return err
	}
	if who, errWho := s.Holders(ctx); errWho == nil && len(who) > 0 {
		return fmt.Errorf("%w: %s has it open", err, strings.Join(who, " and "))
	}
	return err
}

// CheckFree returns an error that names the processes that have the database open.
func (s *Store) CheckFree(ctx context.Context) error {
	s.dropIdle()
	s.conns.Lock()
	defer s.conns.Unlock()
	who, err := s.Holders(ctx)
	if err != nil {
		return err
	}
	if len(who) > 0 {
		return fmt.Errorf("%s: %w", s.id.Root, &heldError{who})
	}
	return nil
}

// CheckSpace returns an error if fewer bytes than needed are free in a folder. what needs them, as in "the new database needs".
func CheckSpace(dir string, needed int64, what string) error {
	needed += needed/8 + 1<<20 // indexes may be larger than they were
	if free := freeBytes(dir); free < needed {
		return fmt.Errorf("writing to %s: %w: %s up to %d MB there, and %d MB are free", dir, syscall.ENOSPC, what, needed>>20+1, free>>20)
	}
	return nil
}

// suffixes of the files of a database.
var suffixes = [...]string{"", "-wal", "-shm"}

// SalvageSource returns the files of the database for reading. close closes them.
func (s *Store) SalvageSource() (src salvage.Source, closeFiles func(), err error) {
	db, err := openPlain(s.id.Root)
	if err != nil {
		return src, nil, err
	}
	closeFiles = func() { _ = db.Close() }
	info, err := db.Stat()
	if err != nil {
		return src, nil, errors.Join(err, db.Close())
	}
	src.DB, src.Size = db, info.Size()
	wal, err := openPlain(s.id.Root + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return src, closeFiles, nil
	}
	if err != nil {
		return src, nil, errors.Join(err, db.Close())
	}
	closeFiles = func() { _, _ = db.Close(), wal.Close() }
	if info, err = wal.Stat(); err != nil {
		closeFiles()
		return src, nil, err
	}
	src.WAL, src.WALSize = wal, info.Size()
	return src, closeFiles, nil
}

// A setFile is a file of a set.
type setFile struct {
	suffix string
	size   int64
	sum    string
}

// A fileSet is the list of the files of a database.
type fileSet struct {
	mode  fs.FileMode // of the database
	files []setFile
}

const setVersion = "mend database 1\n"

// image returns the set as an image. The encoding is frozen.
func (f *fileSet) image() *change.Image {
	var b strings.Builder
	b.WriteString(setVersion)
	for _, x := range f.files {
		fmt.Fprintf(&b, "database%s %d %s\n", x.suffix, x.size, x.sum)
	}
	return &change.Image{Data: []byte(b.String()), Mode: f.mode}
}

// setOf decodes an image.
func setOf(i *change.Image) (f fileSet, err error) {
	if i == nil {
		return f, errors.New("a database is only exchanged for another one")
	}
	text, ok := strings.CutPrefix(string(i.Data), setVersion)
	f.mode = i.Mode
	for line := range strings.Lines(text) {
		var x setFile
		var name string
		n, err := fmt.Sscanf(line, "%s %d %s\n", &name, &x.size, &x.sum)
		suffix, is := strings.CutPrefix(name, "database")
		if n != 3 || err != nil || !is || !slices.Contains(suffixes[:2], suffix) || len(x.sum) != 64 || (len(f.files) == 0) != (suffix == "") {
			ok = false
			break
		}
		x.suffix = suffix
		f.files = append(f.files, x)
	}
	if !ok || len(f.files) == 0 {
		return f, errors.New("the list of its files is damaged")
	}
	return f, nil
}

// name returns the name of the set's folder.
func (f *fileSet) name() string { return setName(sha256.Sum256(f.image().Data)) }

// setName returns the name of the folder of a set whose list has that hash.
func setName(sum [sha256.Size]byte) string { return "db-" + hex.EncodeToString(sum[:8]) }

// isExchange reports whether the ops exchange the database.
func isExchange(ops []change.Op) bool {
	return len(ops) == 1 && ops[0].Ref.Kind == change.KindDatabase
}

// setImage returns what the files of the database are now.
func (s *Store) setImage(ctx context.Context) (*change.Image, error) {
	set, err := s.setAt(ctx, s.id.Root)
	if err != nil {
		return nil, err
	}
	return set.image(), nil
}

// setAt returns the set of files of the database at path.
func (s *Store) setAt(ctx context.Context, path string) (set fileSet, err error) {
	for _, suffix := range suffixes[:2] {
		f, err := s.sumFile(ctx, path+suffix)
		if errors.Is(err, fs.ErrNotExist) && suffix != "" {
			continue
		}
		if err != nil {
			return set, err
		}
		if suffix != "" && f.size == 0 {
			continue
		}
		if suffix == "" {
			info, err := os.Lstat(path)
			if err != nil {
				return set, err
			}
			set.mode = info.Mode().Perm()
		}
		f.suffix = suffix
		set.files = append(set.files, f)
	}
	return set, nil
}

// sumFile returns size and hash of a file. It reads a file again only if it changed since. A piece that the disk
// cannot read counts as zeros.
func (s *Store) sumFile(ctx context.Context, path string) (x setFile, err error) {
	f, err := openPlain(path)
	if err != nil {
		return x, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return x, err
	}
	stamp := newFileStamp(path, info)
	s.mu.Lock()
	sum, known := s.sums[stamp]
	s.mu.Unlock()
	x.size = info.Size()
	if known {
		x.sum = sum
		return x, nil
	}
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for at := int64(0); at < x.size; {
		if err := ctx.Err(); err != nil {
			return x, err
		}
		piece := buf[:min(int64(len(buf)), x.size-at)]
		n, err := f.ReadAt(piece, at)
		if err != nil && !errors.Is(err, io.EOF) {
			n = readAround(f, piece, at)
		}
		if n == 0 {
			break
		}
		h.Write(piece[:n])
		at += int64(n)
	}
	x.sum = hex.EncodeToString(h.Sum(nil))
	s.mu.Lock()
	if s.sums == nil {
		s.sums = map[fileStamp]string{}
	}
	s.sums[stamp] = x.sum
	s.mu.Unlock()
	return x, nil
}

// readAround reads a piece of a file page by page: those that the disk cannot read are zero.
func readAround(f io.ReaderAt, piece []byte, at int64) int {
	const block = 4096
	clear(piece)
	for i := 0; i < len(piece); i += block {
		b := piece[i:min(i+block, len(piece))]
		if _, err := f.ReadAt(b, at+int64(i)); err != nil && !errors.Is(err, io.EOF) {
			clear(b)
		}
	}
	return len(piece)
}

// An exchange is one change of the whole database.
type exchange struct {
	*Owned
	own       stage.Area
	pre, post fileSet
	base      string // name of the database
}

func (o *Owned) exchange(ops []change.Op) (*exchange, error) {
	x := &exchange{Owned: o, base: filepath.Base(o.id.Root)}
	var err, errPost error
	x.pre, err = setOf(ops[0].Pre)
	x.post, errPost = setOf(ops[0].Post)
	if err := errors.Join(err, errPost); err != nil {
		return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
	}
	return x, x.open()
}

// open opens the folder of the database.
func (x *exchange) open() error {
	if err := stage.CheckOwner(x.owner); err != nil {
		return err
	}
	dir := filepath.Dir(x.id.Root)
	root, err := safedir.OpenRoot(dir)
	if err != nil {
		return err
	}
	x.own = stage.Area{Root: root, Path: dir, Owner: x.owner, Step: x.step}
	return nil
}

func (x *exchange) close() { x.own.Root.Close() }

// dir returns the path of the folder of a set, below the folder of the database.
func (x *exchange) dir(set *fileSet) string { return x.own.OwnerDir() + "/" + set.name() }

// A Built is a new database beside the old one.
type Built struct {
	Ops     []change.Op  // the change that puts it into the place of the old one
	Discard func() error // removes the new database
}

// builder is the owner of new databases that no change has put into their place yet.
const builder = "salvage"

// Build has build make a new database at a path, and returns the change that puts it into the place of this one.
// Nothing else is written.
func (s *Store) Build(ctx context.Context, build func(path string) error) (b Built, err error) {
	o := s.For(builder)
	x := &exchange{Owned: o, base: filepath.Base(o.id.Root)}
	if err := x.open(); err != nil {
		return b, err
	}
	defer x.close()
	if x.pre, err = o.setAt(ctx, o.id.Root); err != nil {
		return b, err
	}
	if err := x.removeUnfinished(true); err != nil {
		return b, err
	}
	x.setBuilding()
	fresh := builtFolder()
	remove := func(p string) func() error {
		return func() error {
			y := &exchange{Owned: o, base: x.base}
			if err := y.open(); err != nil {
				return err
			}
			defer y.close()
			return y.own.Empty(p, y.own.Remove)
		}
	}
	d, err := x.own.Make(fresh)
	if err != nil {
		return b, errors.Join(err, remove(fresh)())
	}
	defer d.Close()
	path := filepath.Join(x.own.Path, fresh, x.base)
	if err := build(path); err != nil {
		return b, errors.Join(err, remove(fresh)())
	}
	if err := x.likeOld(path); err != nil {
		return b, errors.Join(err, remove(fresh)())
	}
	x.post, err = o.setAt(ctx, path)
	now, errNow := o.setAt(ctx, o.id.Root)
	if err := errors.Join(err, errNow); err != nil {
		return b, errors.Join(err, remove(fresh)())
	}
	if !now.image().Equal(x.pre.image()) {
		return b, errors.Join(fmt.Errorf("%w: it changed while it was read", change.ErrLocked), remove(fresh)())
	}
	b.Ops = []change.Op{{Ref: change.Ref{Kind: change.KindDatabase}, Pre: x.pre.image(), Post: x.post.image()}}
	b.Discard = remove(fresh)
	return b, nil
}

// builtFolder returns the folder of a new database that this process builds.
func builtFolder() string {
	return fmt.Sprintf("%s/%s/%d%s", stage.Dir, builder, os.Getpid(), stage.Unfinished)
}

// likeOld gives the new database the mode and the owner of the old one.
func (x *exchange) likeOld(path string) error {
	info, err := os.Lstat(x.id.Root)
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

// isBuilding reports whether this process has built a database or an archive, or does.
func (x *exchange) isBuilding() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.building
}

// setBuilding notes that this process builds something.
func (x *exchange) setBuilding() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.building = true
}

// removeUnfinished removes what processes that have ended left of databases that they built, and with own what this one did.
func (x *exchange) removeUnfinished(own bool) error {
	owner, err := x.own.Root.Sub(x.own.OwnerDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer owner.Close()
	names, err := owner.Names()
	for _, name := range names {
		var pid int
		if n, _ := fmt.Sscanf(name, "%d"+stage.Unfinished, &pid); n == 1 && (own && pid == os.Getpid() || (pid != os.Getpid() || !x.isBuilding()) && !isRunning(pid)) {
			err = errors.Join(err, x.own.Empty(x.own.OwnerDir()+"/"+name, x.own.Remove))
		}
	}
	return err
}

// Prepare checks, for an exchange, that the files are as the change expects and that no process has them open, and makes
// the folder in which they are kept. Else it is that of the [Store].
func (o *Owned) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	if isRows(p.Ops) {
		return o.prepareRows(ctx, p)
	}
	if isTrees(p.Ops) {
		return o.prepareTrees(ctx, p)
	}
	if !isExchange(p.Ops) {
		return o.Store.Prepare(ctx, p)
	}
	st := change.Staged{Store: o.id, Ops: p.Ops}
	x, err := o.exchange(p.Ops)
	if err != nil {
		return st, err
	}
	defer x.close()
	if err := x.adopt(x.post.name()); err != nil {
		return st, err
	}
	if err := x.check(ctx, p.Ops[0]); err != nil {
		return st, fmt.Errorf("preparing the exchange of %s: %w", o.id.Root, errors.Join(err, x.removeAdopted()))
	}
	d, err := x.own.Make(x.dir(&x.pre))
	if err != nil {
		return st, err
	}
	d.Close()
	st.Dir = x.dir(&x.post)
	return st, x.own.Sync(&atomicfile.Barrier{}, x.own.OwnerDir(), stage.Dir, ".")
}

// adopt takes over the new database or the archive that this process has built, if there is one and the owner has none.
func (x *exchange) adopt(as string) error {
	built, err := x.own.Root.Sub(stage.Dir + "/" + builder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer built.Close()
	name := filepath.Base(builtFolder())
	if e, err := built.Stat(name); err != nil || !e.IsDir() {
		return err
	}
	owner, err := x.own.Make(x.own.OwnerDir())
	if err != nil {
		return err
	}
	defer owner.Close()
	if err := x.step("adopt " + name); err != nil {
		return err
	}
	err = built.Move(name, owner, as)
	if errors.Is(err, fs.ErrExist) { // an undo has put the same one there
		return x.own.Empty(builtFolder(), x.own.Remove)
	}
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.adopted = as
	x.mu.Unlock()
	return x.own.RemoveEmpty(built.Path)
}

func (x *exchange) check(ctx context.Context, op change.Op) error {
	if err := x.CheckFree(ctx); err != nil {
		return err
	}
	now, err := x.setImage(ctx)
	if err != nil {
		return err
	}
	if !now.Equal(op.Pre) {
		return &change.ConflictError{Conflicts: []change.Conflict{{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Now: now, Why: "it was changed since"}}}
	}
	return x.checkSet(ctx, &x.post, op.Post)
}

// checkSet returns an error if the files of a set are not kept as its image says.
func (x *exchange) checkSet(ctx context.Context, set *fileSet, image *change.Image) error {
	kept, err := x.setAt(ctx, filepath.Join(x.own.Path, x.dir(set), x.base))
	if errors.Is(err, fs.ErrNotExist) {
		return fail.New(fail.Refused, "", "the files that would come back are no longer kept")
	}
	if err == nil && !bytes.Equal(kept.image().Data, image.Data) {
		err = fail.New(fail.Refused, "", "the kept files in %s are not those that the journal knows", x.dir(set))
	}
	return err
}

// Commit makes an exchange. Else it is that of the [Store].
func (o *Owned) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	if isRows(st.Ops) {
		return o.commitRows(ctx, st)
	}
	if isTrees(st.Ops) {
		return o.commitTrees(ctx, st)
	}
	if !isExchange(st.Ops) {
		return o.Store.Commit(ctx, st)
	}
	x, err := o.exchange(st.Ops)
	if err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	defer x.close()
	unlock, err := lockDatabase(o.id.Root)
	if err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	defer unlock()
	if err = x.check(ctx, st.Ops[0]); err == nil {
		err = x.apply(ctx)
	}
	if err == nil {
		return change.Outcome{State: change.Committed}, nil
	}
	out, serr := x.settle(context.WithoutCancel(ctx), st.Ops[0])
	if serr != nil {
		return change.Outcome{}, errors.Join(err, serr)
	}
	if out.State == change.Aborted {
		out.Cause, out.Conflicts = err, nil
		if conflicts := conflictsIn(err); len(conflicts) > 0 {
			out.Conflicts = conflicts
		}
	}
	return out, nil
}

// apply makes the steps of an exchange.
func (x *exchange) apply(ctx context.Context) error {
	pre, err := x.own.Make(x.dir(&x.pre))
	if err != nil {
		return err
	}
	defer pre.Close()
	post, err := x.own.Root.Sub(x.dir(&x.post))
	if err != nil {
		return err
	}
	defer post.Close()
	for _, suffix := range []string{"-shm", "-wal"} {
		if x.exists(".", suffix) {
			if err := x.move(x.own.Root, pre, x.base+suffix); err != nil {
				return err
			}
		}
	}
	if err := x.own.Sync(&atomicfile.Barrier{}, ".", x.dir(&x.pre)); err != nil {
		return err
	}
	if err := x.step("exchange " + x.base); err != nil {
		return err
	}
	err = x.own.Root.Exchange(x.base, post, x.base)
	if errors.Is(err, errors.ErrUnsupported) {
		if err = x.move(x.own.Root, pre, x.base); err == nil {
			err = x.move(post, x.own.Root, x.base)
		}
	} else if err == nil {
		err = x.move(post, pre, x.base)
	}
	if err != nil {
		return err
	}
	// What came out may have been written to until now.
	if came, err := x.sumFile(ctx, filepath.Join(x.own.Path, x.dir(&x.pre), x.base)); err != nil || came.sum != x.pre.files[0].sum {
		return cmp.Or(err, fmt.Errorf("%w: it was written to while it was exchanged; its files are in %s", change.ErrLocked, x.dir(&x.pre)))
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if x.exists(x.dir(&x.post), suffix) {
			if err := x.move(post, x.own.Root, x.base+suffix); err != nil {
				return err
			}
		}
	}
	return x.own.Sync(&atomicfile.Barrier{}, ".", x.dir(&x.pre), x.dir(&x.post))
}

// move moves a file between two folders, where it must not exist.
func (x *exchange) move(from, to *safedir.Dir, name string) error {
	if err := x.step("move " + name); err != nil {
		return err
	}
	return from.Move(name, to, name)
}

// Settle finds out how far an exchange came, and finishes or reverts it. Else it is that of the [Store].
func (o *Owned) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	if isRows(st.Ops) {
		return o.settleRows(ctx, st)
	}
	if isTrees(st.Ops) {
		return o.settleTrees(ctx, st)
	}
	if !isExchange(st.Ops) {
		return o.Store.Settle(ctx, st)
	}
	x, err := o.exchange(st.Ops)
	if err != nil {
		return change.Outcome{}, err
	}
	defer x.close()
	out, err := x.settle(ctx, st.Ops[0])
	if err != nil {
		return out, fmt.Errorf("settling the exchange of %s: %w", o.id.Root, err)
	}
	return out, nil
}

// at reports whether a folder below that of the database has the database of a set.
func (x *exchange) at(ctx context.Context, folder string, set *fileSet) (bool, error) {
	want := set.files[0]
	path := filepath.Join(x.own.Path, folder, x.base)
	if info, err := os.Lstat(path); err != nil || info.Size() != want.size {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	found, err := x.sumFile(ctx, path)
	return err == nil && found.sum == want.sum, err
}

func (x *exchange) exists(folder, suffix string) bool {
	_, err := os.Lstat(filepath.Join(x.own.Path, folder, x.base+suffix))
	return err == nil
}

// settle decides by the place of the old database. If it is kept, the exchange was made.
func (x *exchange) settle(ctx context.Context, op change.Op) (out change.Outcome, err error) {
	preDir, postDir := x.dir(&x.pre), x.dir(&x.post)
	oldKept, err := x.at(ctx, preDir, &x.pre)
	if err != nil {
		return out, err
	}
	oldStaged, err := x.at(ctx, postDir, &x.pre)
	if err != nil {
		return out, err
	}
	newStaged, err := x.at(ctx, postDir, &x.post)
	if err != nil {
		return out, err
	}
	// Where the two files cannot be exchanged, the old one is kept before the new one is in its place.
	if oldKept && !x.exists(".", "") && newStaged {
		if err := x.moveBetween(postDir, ".", ""); err != nil {
			return out, err
		}
		newStaged = false
	}
	if (oldKept || oldStaged) && !newStaged {
		return x.forward(ctx, op, oldStaged)
	}
	return x.back(ctx, op)
}

// forward finishes an exchange.
func (x *exchange) forward(ctx context.Context, op change.Op, oldStaged bool) (out change.Outcome, err error) {
	preDir, postDir := x.dir(&x.pre), x.dir(&x.post)
	if oldStaged {
		if err := x.moveBetween(postDir, preDir, ""); err != nil {
			return out, err
		}
	}
	same, err := x.at(ctx, ".", &x.post)
	if err != nil {
		return out, err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if same && x.exists(postDir, suffix) && !x.exists(".", suffix) {
			if err := x.moveBetween(postDir, ".", suffix); err != nil {
				return out, err
			}
		}
	}
	if err := x.own.Sync(&atomicfile.Barrier{}, ".", preDir, postDir); err != nil {
		return out, err
	}
	out.State = change.Committed
	if !same { // a program has worked with the new database since
		now, err := x.setImage(ctx)
		if err != nil {
			return out, err
		}
		out.Conflicts = []change.Conflict{{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Now: now, Why: "it was changed since"}}
	}
	return out, nil
}

// back reverts an exchange that was not made.
func (x *exchange) back(ctx context.Context, op change.Op) (out change.Outcome, err error) {
	preDir := x.dir(&x.pre)
	out.State = change.Aborted
	for _, suffix := range []string{"-wal", "-shm"} {
		if x.exists(preDir, suffix) && !x.exists(".", suffix) {
			if err := x.moveBetween(preDir, ".", suffix); err != nil {
				return out, err
			}
		}
	}
	if err := x.own.Sync(&atomicfile.Barrier{}, ".", preDir); err != nil {
		return out, err
	}
	now, err := x.setImage(ctx)
	if err != nil {
		return out, err
	}
	if !bytes.Equal(now.Data, op.Pre.Data) {
		out.State = change.Conflicted
		out.Conflicts = []change.Conflict{{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Now: now, Why: "it was changed meanwhile"}}
	}
	return out, nil
}

func (x *exchange) moveBetween(from, to, suffix string) error {
	a, err := x.own.Root.Sub(from)
	if err != nil {
		return err
	}
	defer a.Close()
	var b *safedir.Dir
	if to == "." {
		b, err = x.own.Root.Sub(".")
	} else {
		b, err = x.own.Make(to)
	}
	if err != nil {
		return err
	}
	defer b.Close()
	return x.move(a, b, x.base+suffix)
}

// Discard removes the empty folders of an exchange; what is kept stays. With the zero Staged it removes what processes left that
// have ended while they built a database.
func (o *Owned) Discard(_ context.Context, st change.Staged) error {
	if st.Dir != "" && !isExchange(st.Ops) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(o.id.Root), stage.Dir)); err != nil || o.owner == "" {
		return nil
	}
	if st.Dir == "" {
		x := &exchange{Owned: o.For(builder), base: filepath.Base(o.id.Root)}
		if err := x.open(); err != nil {
			return err
		}
		defer x.close()
		return x.removeUnfinished(false)
	}
	x, err := o.exchange(st.Ops)
	if err != nil {
		return err
	}
	defer x.close()
	return errors.Join(x.removeAdopted(), x.own.RemoveEmpty(x.dir(&x.pre)), x.own.RemoveEmpty(x.dir(&x.post)))
}

// removeAdopted removes the new database that this process has built if it is in no place: the change was not made.
func (x *exchange) removeAdopted() error {
	x.mu.Lock()
	own := x.adopted == x.post.name()
	x.mu.Unlock()
	if there, err := x.at(context.Background(), x.dir(&x.post), &x.post); !own || !there || err != nil {
		return err
	}
	return x.own.Empty(x.dir(&x.post), x.own.Remove)
}

// keptNames returns the names that what ops took away, or bring back, has in the owner's folder.
func keptNames(ops []change.Op) (names []string) {
	for _, op := range ops {
		names = append(names, keptNamesOf(change.OpInfo{Ref: op.Ref, Pre: change.DigestOf(op.Pre), Post: change.DigestOf(op.Post)})...)
	}
	return names
}

func keptNamesOf(o change.OpInfo) (names []string) {
	switch o.Ref.Kind {
	case change.KindRows:
		names = []string{o.Ref.Part}
	case change.KindTree:
		names = []string{keptTree(o.Ref)}
	case change.KindDatabase:
		for _, set := range []*change.Digest{o.Pre, o.Post} {
			if set != nil {
				names = append(names, setName(set.SHA256))
			}
		}
	default:
	}
	return names
}

// Keeps reports whether what an op took away, or brought back, is kept beside the database, by any owner.
func (s *Store) Keeps(o change.OpInfo) bool {
	return slices.ContainsFunc(keptNamesOf(o), func(name string) bool {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(escapeGlob(s.id.Root)), stage.Dir, "*", escapeGlob(name)))
		return err == nil && len(found) > 0
	})
}

// Sweep removes what the owner has beside the database, except what is needed for ops, and returns how many bytes that was: what
// forgotten changes have taken away, and what a process that was killed has built. With dry it removes nothing.
func (o *Owned) Sweep(ctx context.Context, needed []change.Op, dry bool) (freed int64, err error) {
	if !dry {
		err = o.For(builder).Discard(ctx, change.Staged{})
	}
	if err != nil || o.owner == "" {
		return 0, err
	}
	x := &exchange{Owned: o, base: filepath.Base(o.id.Root)}
	if err := x.open(); err != nil {
		return 0, err
	}
	defer x.close()
	own, err := x.own.Root.Sub(x.own.OwnerDir())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer own.Close()
	names, err := own.Names()
	stay := keptNames(needed)
	for _, name := range names {
		if slices.Contains(stay, name) || err != nil {
			continue
		}
		var t Tree
		if t, err = treeAt(ctx, x.own.Root, x.own.OwnerDir(), name); err == nil && !dry {
			err = x.removeAll(own, name)
		}
		freed += t.Bytes
	}
	if err != nil || dry {
		return freed, err
	}
	return freed, x.own.RemoveEmpty(x.own.OwnerDir())
}

// CheckKept returns an error if what ops took away is not kept whole beside the database.
func (o *Owned) CheckKept(ctx context.Context, ops []change.Op) error {
	switch {
	case isRows(ops):
		x, err := o.rowsChange(ops)
		if err != nil {
			return err
		}
		defer x.close()
		return x.checkArchive()
	case isTrees(ops):
		x, err := o.treesChange(ops)
		if err != nil {
			return err
		}
		defer x.close()
		for _, op := range ops {
			kept, err := treeAt(ctx, x.own.Root, x.own.OwnerDir(), keptTree(op.Ref))
			if err != nil {
				return err
			}
			if op.Pre != nil && (kept.Image == nil || !bytes.Equal(kept.Image.Data, op.Pre.Data)) {
				return fail.New(fail.Unusable, "", "the folder %s is no longer kept as it was", op.Ref)
			}
		}
		return nil
	}
	x, err := o.exchange(ops)
	if err != nil {
		return err
	}
	defer x.close()
	return x.checkSet(ctx, &x.pre, ops[0].Pre)
}
