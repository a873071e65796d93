package sqlstore

import (
	"context"
	"errors"
	"fmt"
)

// readTries is how often a database is read that keeps changing although nobody
// is seen to have it open.
const readTries = 5

// read runs f within one transaction, so that all it sees is of one moment. It
// changes no file. f may be run more than once and must start anew each time.
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	s.conns.RLock()
	defer s.conns.RUnlock()
	for range readTries {
		sh, err := look(s.id.Root)
		if err != nil {
			return err
		}
		live, err := s.live(sh)
		if err != nil {
			return err
		}
		again, err := s.readOnce(ctx, sh, live, f)
		if !again {
			return err
		}
	}
	return fmt.Errorf("%w: it kept changing while it was read", ErrBusy)
}

// live reports whether the locks of SQLite are needed: somebody has the database
// open, or it is not in WAL mode, where only the locks would tell.
func (s *Store) live(sh shape) (bool, error) {
	if !sh.wal {
		return true, nil
	}
	return sh.held(s.id.Root)
}

// readOnce runs f, and reports whether it must be run again, since the files
// changed while nothing kept them from it.
func (s *Store) readOnce(ctx context.Context, sh shape, live bool, f func(*conn) error) (again bool, err error) {
	var c *conn
	defer func() { err = explain(ctx, err) }()
	defer func() {
		same := live || s.unchanged(sh)
		again = !same && ctx.Err() == nil
		if same && !live && (err == nil || errors.Is(err, errGivenUp)) {
			s.putIdle(c, sh)
		} else {
			c.discard()
		}
	}()
	defer guard(&err)
	if c, err = s.reader(ctx, sh, live); err != nil {
		return false, err
	}
	return false, f(c)
}

// unchanged reports whether a quiet look at the files saw one state of them:
// they are what they were before, and nobody has come.
func (s *Store) unchanged(before shape) bool {
	after, err := look(s.id.Root)
	if err != nil {
		return false
	}
	live, err := s.live(after)
	return err == nil && !live && after == before
}

// reader is a connection within a transaction that reads.
func (s *Store) reader(ctx context.Context, sh shape, live bool) (*conn, error) {
	if !live {
		if c := s.takeIdle(sh); c != nil {
			c.db.SetInterrupt(ctx)
			return c, nil
		}
	}
	c, err := s.openReader(ctx, live)
	if err != nil {
		return nil, err
	}
	if err = c.db.Exec("BEGIN"); err == nil {
		c.schema, err = s.schemaOf(c)
	}
	if err != nil {
		c.discard()
		return nil, err
	}
	return c, nil
}
