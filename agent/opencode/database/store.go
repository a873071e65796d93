package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/memory"
	"mend/sqlstore"
)

// errNoSession means that the database does not have the session.
var errNoSession = errors.New("no such session")

// Options configure a [Store]. The zero value is right for normal use.
type Options struct {
	// Program is the program that the database belongs to, according to the names of the files in its folder;
	// "" for OpenCode.
	Program Program
	// Step, BusyTimeout and MaxRecord: see [sqlstore.Options].
	Step        func(what string) error
	BusyTimeout time.Duration
	MaxRecord   int64
	// MaxSession is the greatest size in bytes of a session that is loaded; 0 for an eighth of the machine's
	// memory.
	MaxSession int64
}

// A Store is one database of OpenCode. It is safe for concurrent use. Its embedded store makes the changes.
type Store struct {
	*sqlstore.Store
	agent.Base // for methods that only a tree supports

	opt     Options
	damaged atomic.Pointer[change.DamagedError] // found by CheckFile
	misfit  atomic.Pointer[string]              // the IndexFault of every session; nil for none
}

// CheckFile implements [agent.Store]. If the file is damaged, sessions that are loaded afterwards have an
// IndexFault.
func (s *Store) CheckFile(ctx context.Context, what change.Check) error {
	err := s.Store.CheckFile(ctx, what)
	damage, damaged := errors.AsType[*change.DamagedError](err)
	if what < change.CheckAll && !damaged { // earlier results about the pages stay
		if err == nil && what == change.CheckFree {
			err = s.checkMigrations(ctx)
		}
		return err
	}
	s.misfit.Store(nil)
	if err == nil {
		err = s.checkMigrations(ctx)
		damage, _ = errors.AsType[*change.DamagedError](err)
	} else if damaged && damage.WAL {
		why := "The database and its -wal do not belong together: " + damage.Why +
			". It is not known whether the newest messages of the session are here."
		s.misfit.Store(&why)
	}
	s.damaged.Store(damage)
	return err
}

// CheckRoom returns an error if the disk has too little room for a prompt.
func (s *Store) CheckRoom() error {
	return sqlstore.CheckSpace(filepath.Dir(s.ID().Root), 0, "a prompt needs")
}

// Reclaim implements [agent.Store]. It overwrites the file with what it reads, so the -wal must belong to the
// file.
func (s *Store) Reclaim(ctx context.Context) (before, after int64, err error) {
	if err := s.CheckFile(ctx, change.CheckLog); err != nil {
		return 0, 0, err
	}
	return s.Store.Reclaim(ctx)
}

// KeptFiles implements [agent.Store].
func (s *Store) KeptFiles(journal string) agent.KeptFiles { return s.WithOwner(journal) }

// Open opens the database at path, or the database in the folder at path. It reads its header and checks its side
// files; the first read checks the schema. It writes nothing. The error wraps [sqlstore.ErrUnusable], or comes from the
// system.
func Open(path string, o Options) (*Store, error) {
	if o.MaxSession <= 0 {
		o.MaxSession = memory.LargestSession()
	}
	file, err := cmp.Or(o.Program, OpenCode).locate(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	db, err := sqlstore.Open(file, tables(), sqlstore.Options{
		Step: o.Step, BusyTimeout: o.BusyTimeout, MaxRecord: o.MaxRecord, Check: checkGeneration,
	})
	if errors.Is(err, sqlstore.ErrEmpty) { // measured with OpenCode 1.18.34
		return nil, fail.WithHint(err, fmt.Sprintf("no session is in it. Start %s once: it makes a new database there. "+
			"Then \"mend restore --all\" brings back what was kept", cmp.Or(o.Program, OpenCode)))
	}
	if err != nil {
		return nil, err
	}
	return &Store{Store: db, opt: o}, nil
}

// A conn is a connection to the database.
type conn struct{ *sqlstore.Conn }

// read runs f in one transaction; see [sqlstore.Store.View].
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	return s.View(ctx, func(c *sqlstore.Conn) error { return f(&conn{c}) })
}
