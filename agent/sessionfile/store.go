package sessionfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"mend/change"
	"mend/fsstore"
	"mend/internal/aside"
	"mend/internal/memory"
	"mend/internal/safedir"
	"mend/linestore"
	"mend/sqlstore"
)

// A Layout maps records to paths. A [change.KindSession] is the whole file of a session, a [change.KindMessage] a line
// of it, a [change.KindFile] and a [change.KindFolder] are beside it, and a [change.KindIndex] is a row of the index. A
// [change.KindHistory] is in a database of its own.
type Layout interface {
	linestore.Layout
	fsstore.Layout
}

// Options configure a [Store].
type Options struct {
	Note func(string)            // receives messages for the user; may be nil
	Step func(call string) error // as in [linestore.Options], for tests
	// InUse returns why the file of a session must not be replaced now, "" if it may be.
	InUse func(path string) string
	// Head returns the list entry of the session in a file. The error wraps [fs.ErrNotExist] if the file is not a
	// session's.
	Head func(Entry) (change.Head, error)
	// Stamped returns further data for the stamp of a session besides its file. It may be nil.
	Stamped func(change.Head) []byte
	// Lock takes the lock of a session. It is nil if the agent takes no lock. The error wraps [change.ErrInUse] if
	// another process holds the lock.
	Lock func(session string) (unlock func(), err error)
	// Index opens the database with rows about the sessions, nil if it does not exist. Index is nil if the agent has
	// no such database. The agent can rebuild the rows from the files, so a change of both begins with the files.
	Index func() (*sqlstore.Store, error)
	// History opens the database with the records of [change.KindHistory], nil if it does not exist. History is nil if
	// the agent has none. A change of a session's file deletes the session's record.
	History func() (*sqlstore.Store, error)
	// Database returns a database below the root for changes of the whole file. It is nil if the agent has none.
	Database func(name string) *sqlstore.Store
}

// A Store is a folder of sessions. It implements part of [agent.Store].
type Store struct {
	lines  *linestore.Store
	files  *fsstore.Store
	layout Layout
	opt    Options
	Most   int64 // the greatest size in bytes of a file that is loaded
	unread atomic.Pointer[error]
	sums   aside.Sums
}

// New returns the store at root. It writes nothing.
func New(root string, l Layout, o Options) (*Store, error) {
	s := &Store{layout: l, opt: o, Most: memory.LargestSession()}
	var err error
	if s.lines, err = linestore.New(root, l, linestore.Options{Note: o.Note}); err != nil {
		return nil, err
	}
	s.files, err = fsstore.New(root, l, fsstore.Options{Note: o.Note})
	return s, err
}

// ID identifies the store by the canonical path of its root.
func (s *Store) ID() change.StoreID { return s.lines.ID() }

// OpenRoot opens the root.
func (s *Store) OpenRoot() (*safedir.Dir, error) { return safedir.OpenRoot(s.ID().Root) }

// Note tells the user about a path below the root, which is the first argument of the format.
func (s *Store) Note(format, path string, args ...any) {
	if s.opt.Note != nil {
		s.opt.Note(fmt.Sprintf(format, append([]any{filepath.Join(s.ID().Root, path)}, args...)...))
	}
}

// Begin begins a walk of all folders with [Store.Each].
func (s *Store) Begin() { s.unread.Store(new(error)) }

// Unread returns the error of the first folder of the last walk that is a link or cannot be read, and so may hide
// sessions.
func (s *Store) Unread() error {
	if p := s.unread.Load(); p != nil {
		return *p
	}
	return nil
}

// openNames opens a folder and returns the names in it, sorted. The folder is nil if it does not exist, is a link or
// cannot be read. It reports the last two with Note.
func (s *Store) openNames(parent *safedir.Dir, folder string) (*safedir.Dir, []string, error) {
	d, err := parent.Sub(folder)
	var names []string
	if err == nil {
		if names, err = d.Names(); err != nil {
			d.Close()
		}
	}
	if err == nil {
		return d, slices.Sorted(slices.Values(names)), nil
	}
	why, unreadable := safedir.ReadFailure(err)
	var notFolder *safedir.NotFolderError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case errors.As(err, &notFolder):
		if notFolder.Mode&fs.ModeSymlink == 0 {
			return nil, nil, nil
		}
		s.Note("%s is a symbolic link; its sessions are not examined", notFolder.Path)
		err = errors.New("it is a symbolic link")
	case unreadable:
		s.Note("%s cannot be read: %s; its sessions are not examined: run mend as the user who owns it, or change its "+
			"owner or mode", path.Join(parent.Path, folder), why)
	default:
		return nil, nil, err
	}
	if s.Unread() == nil {
		err = fmt.Errorf("listing the sessions of %s: %w", filepath.Join(s.ID().Root, parent.Path, folder), err)
		s.unread.Store(&err)
	}
	return nil, nil, nil
}

// An Entry is an entry of a folder.
type Entry struct {
	safedir.Entry
	Dir   *safedir.Dir // the folder, open
	Name  string
	Names []string // all names in the folder, sorted
	Why   string   // why it cannot be read; "" if it can
}

// Path returns the path below the root.
func (e Entry) Path() string { return path.Join(e.Dir.Path, e.Name) }

// Each calls yield for the wanted entries of a folder. There are none in a folder that does not exist, is a link or
// cannot be read. It reports the last two with Note, and Unread returns the first such error.
func (s *Store) Each(ctx context.Context, parent *safedir.Dir, folder string, wanted func(name string) bool,
	yield func(Entry) error,
) error {
	d, names, err := s.openNames(parent, folder)
	if d == nil || err != nil {
		return err
	}
	defer d.Close()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !wanted(name) {
			continue
		}
		e := Entry{Dir: d, Name: name, Names: names}
		e.Entry, err = d.Stat(name)
		if why, ok := safedir.ReadFailure(err); ok { // the folder may be readable, but not searchable
			e.Why = why
		} else if err != nil {
			return err
		} else if !e.Exists {
			continue
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// OpenFolder opens the folder of a session's file, and returns the file's name.
func (s *Store) OpenFolder(ref change.Ref) (*safedir.Dir, string, error) {
	p, _, err := s.layout.Path(ref)
	if err != nil {
		return nil, "", err
	}
	root, err := s.OpenRoot()
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	d, err := root.Sub(path.Dir(p))
	return d, path.Base(p), err
}

// OpenAt returns the entry of the file at a path, with its folder open. The error wraps [fs.ErrNotExist] if the file
// does not exist.
func (s *Store) OpenAt(at string) (e Entry, err error) {
	// The path may lead to the root through a link, such as the user's home.
	dir, err := filepath.EvalSymlinks(filepath.Dir(at))
	rel, rerr := filepath.Rel(s.ID().Root, filepath.Join(dir, filepath.Base(at)))
	if err != nil || rerr != nil || !filepath.IsLocal(rel) {
		return e, fs.ErrNotExist
	}
	root, err := s.OpenRoot()
	if err != nil {
		return e, err
	}
	defer root.Close()
	rel = filepath.ToSlash(rel)
	e.Name = path.Base(rel)
	if e.Dir, err = root.Sub(path.Dir(rel)); err != nil {
		return e, err
	}
	if e.Entry, err = e.Dir.Stat(e.Name); err == nil && !e.Exists {
		err = fs.ErrNotExist
	}
	if err != nil {
		e.Dir.Close()
	}
	return e, err
}

// SessionAt returns the session whose file is at a path. The error wraps [fs.ErrNotExist] if it is not a session's
// file.
func (s *Store) SessionAt(_ context.Context, at string) (h change.Head, err error) {
	e, err := s.OpenAt(at)
	if err == nil {
		defer e.Dir.Close()
		h, err = s.opt.Head(e)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no session of this store: %s: %w", at, fs.ErrNotExist)
	}
	return h, err
}

// Stat returns the entry of a session's file.
func (s *Store) Stat(ref change.Ref) (safedir.Entry, error) {
	d, name, err := s.OpenFolder(ref)
	if err != nil {
		return safedir.Entry{}, err
	}
	defer d.Close()
	return d.Stat(name)
}

// Load reads the file of a session.
func (s *Store) Load(ref change.Ref) (safedir.Entry, error) {
	d, name, err := s.OpenFolder(ref)
	if err != nil {
		return safedir.Entry{}, err
	}
	defer d.Close()
	e, err := d.Read(name, min(s.Most, change.MaxText))
	switch why := e.ReadProblem(); {
	case err != nil:
	case e.TooLarge && e.Size <= change.MaxText:
		err = fmt.Errorf("reading session %s: %w", ref.Session, &change.SizeError{Most: s.Most})
	case !e.Exists:
		err = fmt.Errorf("reading session %s: its file no longer exists", ref.Session)
	case why != "":
		err = fmt.Errorf("reading session %s: %s", ref.Session, why)
	default:
		err = CheckLines(ref, e.Data)
	}
	return e, err
}

// A line takes a few hundred bytes of memory, however short it is. A file may have freeLines lines, and more if their
// average length is minLine bytes: real records are longer.
const (
	freeLines = 1 << 18
	minLine   = 64
)

// CheckLines returns an error if a file has so many short lines that it would take far more memory than its size.
func CheckLines(ref change.Ref, data []byte) error {
	if n := bytes.Count(data, []byte("\n")); n > freeLines+len(data)/minLine {
		return fmt.Errorf("reading session %s: %d lines in %d bytes: nearly all are blank or torn", ref.Session, n, len(data))
	}
	return nil
}

// Read returns the content of records, in the order of refs: nil for a record that does not exist.
func (s *Store) Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error) {
	images := make([]*change.Image, len(refs))
	for _, source := range [...]struct {
		accepts func(change.Ref) bool
		read    func(context.Context, []change.Ref) ([]*change.Image, error)
	}{
		{isLine, s.lines.Read},
		{isFile, s.files.Read},
		{isRow, readRows(s.opt.Index)},
		{isHistory, s.readHistory},
		{isAside, s.readAside},
	} {
		var some []change.Ref
		var at []int
		for i, ref := range refs {
			if source.accepts(ref) {
				some, at = append(some, ref), append(at, i)
			}
		}
		got, err := source.read(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, image := range got {
			images[at[i]] = image
		}
	}
	return images, nil
}

// openDatabase opens a database of [Options], nil if there is none.
func openDatabase(open func() (*sqlstore.Store, error)) (*sqlstore.Store, error) {
	if open == nil {
		return nil, nil
	}
	return open()
}

// readRows returns a function that reads rows of the database that open opens.
func readRows(open func() (*sqlstore.Store, error)) func(context.Context, []change.Ref) ([]*change.Image, error) {
	return func(ctx context.Context, refs []change.Ref) ([]*change.Image, error) {
		if len(refs) == 0 {
			return nil, nil
		}
		db, err := openDatabase(open)
		if db == nil || err != nil {
			return nil, err
		}
		return db.Read(ctx, refs)
	}
}

func isFile(ref change.Ref) bool { return ref.Kind == change.KindFile || ref.Kind == change.KindFolder }

func isRow(ref change.Ref) bool { return ref.Kind == change.KindIndex }

// readHistory reads shown histories. One that cannot be read counts as missing, because the agent can derive it.
func (s *Store) readHistory(ctx context.Context, refs []change.Ref) ([]*change.Image, error) {
	images, err := readRows(s.opt.History)(ctx, refs)
	if err != nil {
		images = nil
	}
	return images, ctx.Err()
}

func isHistory(ref change.Ref) bool { return ref.Kind == change.KindHistory }

func isLine(ref change.Ref) bool {
	return !isFile(ref) && !isRow(ref) && !isHistory(ref) && !isAside(ref)
}

// CheckLinks returns a [*change.LinkedError] about the first session whose file cannot be changed, or whose change
// could not be undone.
func (s *Store) CheckLinks(ctx context.Context, refs []change.Ref) error {
	return s.lines.CheckLinks(ctx, slices.DeleteFunc(slices.Clone(refs), func(r change.Ref) bool { return !isLine(r) }))
}

// Stamp returns the current stamp of a session. It does not read the file's content.
func (s *Store) Stamp(_ context.Context, head change.Head) (change.Stamp, error) {
	e, err := s.Stat(head.Ref)
	var b []byte
	if s.opt.Stamped != nil {
		b = s.opt.Stamped(head)
	}
	return StampOf(b, e), err
}

// StampOf returns the stamp of a session's file, and of the further data in b. A repair restores the mtime, so the
// stamp also includes the inode's ctime.
func StampOf(b []byte, e safedir.Entry) change.Stamp {
	return change.Stamp{Sum: sha256.Sum256(AppendEntry(b, e)), Newest: time.Unix(0, max(e.Mtime, e.Ctime))}
}

// AppendEntry appends the attributes of an entry that change with the file.
func AppendEntry(b []byte, e safedir.Entry) []byte {
	for _, n := range []uint64{e.Dev, e.Ino, uint64(e.Size), uint64(e.Mtime), uint64(e.Ctime), uint64(e.Mode)} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}
