package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mend/change"
)

// Reclaim returns the free pages of the database to the file system: SQLite copies the pages in use (VACUUM), and empties
// the -wal. Rows keep their bytes and their primary keys; their hidden rowids change. It returns the size of the files
// before and after. If other processes have the database open, or the disk lacks space, nothing is changed, and the
// error says so.
func (s *Store) Reclaim(ctx context.Context) (before, after int64, err error) {
	before = s.filesSize()
	if err := s.CheckFree(ctx); err != nil {
		return before, before, err
	}
	err = s.alone(ctx, s.reclaim)
	if after = s.filesSize(); err != nil {
		err = fmt.Errorf("giving back the free pages of %s: %w", s.id.Root, err)
	}
	return before, after, err
}

// filesSize returns the size of the database and its -wal in bytes.
func (s *Store) filesSize() (n int64) {
	for _, suffix := range suffixes[:2] {
		if info, err := os.Lstat(s.id.Root + suffix); err == nil {
			n += info.Size()
		}
	}
	return n
}

// checkpoint moves the content of the -wal into the file if the database is sound, and reports whether it did.
func (s *Store) checkpoint(ctx context.Context) (bool, error) {
	if err := s.CheckFile(ctx, change.CheckAll); err != nil {
		if errors.Is(err, change.ErrLocked) || ctx.Err() != nil {
			return false, err
		}
		return false, nil
	}
	return true, s.alone(ctx, s.truncateLog)
}

// truncateLog moves the content of the -wal into the file and empties it.
func (s *Store) truncateLog(c *Conn) error {
	if err := s.opt.Step("checkpoint"); err != nil {
		return err
	}
	return c.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
}

// alone runs f with a connection that can write, outside a transaction. The database must be in WAL mode.
func (s *Store) alone(ctx context.Context, f func(c *Conn) error) error {
	return s.withWriter(ctx, func(files fileState) (keep bool, err error) {
		if !files.walMode {
			err = errNoWAL
		}
		return false, err
	}, func(c *Conn) error {
		if err := s.opt.Check(c); err != nil {
			return err
		}
		return f(c)
	})
}

func (s *Store) reclaim(c *Conn) (err error) {
	if err := s.truncateLog(c); err != nil {
		return err
	}
	var pages, free, size int64
	for pragma, n := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
		if *n, err = c.Integer("PRAGMA " + pragma); err != nil {
			return err
		}
	}
	if free == 0 {
		return nil
	}
	// The pages in use are copied into a temporary file, and from there into the -wal.
	dir := filepath.Dir(s.id.Root)
	if err := CheckSpace(dir, 2*(pages-free)*size, "giving back free pages needs"); err != nil {
		return err
	}
	_, set := os.LookupEnv(tempFolder)
	if !set { // SQLite's default folder may be in memory
		if err := os.Setenv(tempFolder, dir); err != nil {
			return err
		}
		defer func() { _ = os.Unsetenv(tempFolder) }()
	}
	if err := s.opt.Step("vacuum"); err != nil {
		return err
	}
	if err := c.db.Exec("PRAGMA temp_store=FILE; VACUUM"); err != nil {
		return err
	}
	return s.truncateLog(c)
}

// tempFolder is the environment variable for SQLite's temporary files.
const tempFolder = "SQLITE_TMPDIR"
