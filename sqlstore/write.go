package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/ownfile"
)

// write runs f in one transaction that holds the write lock. f commits; if it does not, nothing is
// changed. An error can also mean that f succeeded and only side files could not be removed.
func (s *Store) write(ctx context.Context, f func(*Conn) error) error {
	shared := false
	err := s.withWriter(ctx, func(files fileState) (keep bool, err error) {
		live, err := s.needsLocks(files)
		shared = live && files.walMode
		return live || files.wal != fileStamp{}, err
	}, func(c *Conn) error {
		c.shared = shared
		return s.begin(c, f)
	})
	return s.nameHolders(ctx, err)
}

// withWriter runs f with a connection that can write. check may refuse the files, and reports whether -wal and -shm stay.
func (s *Store) withWriter(ctx context.Context, check func(fileState) (keep bool, err error), f func(*Conn) error) (err error) {
	s.conns.RLock()
	defer s.conns.RUnlock()
	defer func() { err = explain(ctx, s.wrapDiskFull(err)) }()
	defer recoverPanic(&err)
	s.dropIdle() // they see the state before the change, and Windows cannot remove open files
	files, err := inspectFiles(s.id.Root)
	if err != nil {
		return err
	}
	keep, err := check(files)
	if err != nil {
		return err
	}
	if err := s.makeSideFiles(files); err != nil {
		return err
	}
	c, err := s.openWriter(ctx, files, keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.finish(c, keep)) }()
	return f(c)
}

// wrapDiskFull makes an I/O error on a full disk wrap ENOSPC. (The driver v0.35.6 looks for the
// cause in the wrong place.)
func (s *Store) wrapDiskFull(err error) error {
	if errors.Is(err, sqlite3.IOERR) && freeBytes(s.id.Root) < 1<<20 {
		return fmt.Errorf("%w (%w)", syscall.ENOSPC, err)
	}
	return err
}

// begin takes the write lock and runs f.
func (s *Store) begin(c *Conn, f func(*Conn) error) error {
	if err := s.opt.Step("begin"); err != nil {
		return err
	}
	if err := c.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := s.opt.Check(c); err != nil {
		return err
	}
	var err error
	if c.schema, err = s.schemaOf(c); err != nil {
		return err
	}
	return f(c)
}

// finish ends the transaction if it is still open, and closes the connection. An error does not
// change the outcome: without COMMIT no page is written, and with it a -wal that could not be
// removed contains the change as well.
func (s *Store) finish(c *Conn, keep bool) error {
	c.db.SetInterrupt(context.Background())
	if !c.db.GetAutocommit() {
		_ = c.db.Exec("ROLLBACK") // closing does the same
	}
	var err error
	if !keep {
		if err = s.opt.Step("remove side files"); err != nil {
			_ = c.keepFiles() // the step stands for the call that would remove them
		}
	}
	return errors.Join(err, c.close())
}

// makeSideFiles makes the missing -wal and -shm of a database in WAL mode, with its mode and owner.
// The driver would use the umask and the current user: then a private database would have side
// files that everyone can read, or the agent could not write those that root made.
//
// A crash here leaves empty side files, which SQLite ignores.
func (s *Store) makeSideFiles(files fileState) error {
	if !files.walMode {
		return nil
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		path := s.id.Root + suffix
		if exists(path) {
			continue
		}
		if err := s.opt.Step("make " + suffix); err != nil {
			return err
		}
		if err := createLike(path, s.id.Root); err != nil {
			return err
		}
	}
	return nil
}

// createLike creates an empty file with the mode and owner of another, unless the file exists.
func createLike(path, model string) error {
	info, err := os.Stat(model)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	setOwner(f, info)
	return errors.Join(f.Chmod(info.Mode().Perm()), f.Close())
}

// syncFiles makes the content of the files durable before SQLite reads them: the last writes of a
// killed process may be in memory only, and changes that depend on them must not outlive them.
func (s *Store) syncFiles() error {
	for _, path := range []string{s.id.Root + "-wal", s.id.Root} {
		if err := s.opt.Step("sync " + path); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) && path != s.id.Root {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return ownfile.SyncDir(filepath.Dir(s.id.Root))
}

// overwrite writes one page unchanged. A writer that was killed, or whose sync failed, may have
// left a whole transaction in the -wal that the shared index does not contain: no reader sees it,
// until the index is lost and rebuilt from the -wal. The next transaction overwrites it, and this
// is that transaction.
func (s *Store) overwrite(c *Conn) error {
	if err := s.opt.Step("overwrite"); err != nil {
		return err
	}
	version, err := c.Integer("PRAGMA user_version")
	if err != nil {
		return err
	}
	if err := c.db.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		return err
	}
	return c.db.Exec("COMMIT")
}
