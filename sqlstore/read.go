package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"mend/change"
)

// readTries is how often a read is repeated if the files change meanwhile although no other program
// has them open.
const readTries = 5

// ErrStop may be returned by the function that [Store.View] calls, to end reading early.
var ErrStop = errors.New("reading was ended early")

// View runs f in one transaction, so that it sees one state. It changes no file. f may be run more
// than once.
func (s *Store) View(ctx context.Context, f func(*Conn) error) error {
	return s.nameHolders(ctx, s.view(ctx, false, f))
}

// view is View. If check is set, each page is checked, see [pageCheck].
func (s *Store) view(ctx context.Context, check bool, f func(*Conn) error) error {
	s.conns.RLock()
	defer s.conns.RUnlock()
	for range readTries {
		files, err := inspectFiles(s.id.Root)
		if err != nil {
			return err
		}
		live, err := s.needsLocks(files)
		if err != nil {
			return err
		}
		if again, err := s.readOnce(ctx, files, live, check, f); !again {
			return err
		}
	}
	return fmt.Errorf("%w: it kept changing while it was read", change.ErrLocked)
}

// needsLocks reports whether SQLite's locks are needed: another program has the database open, or
// it is not in WAL mode, so only locks can show whether another program has it open.
func (s *Store) needsLocks(files fileState) (bool, error) {
	if !files.walMode {
		return true, nil
	}
	return files.isInUse(s.id.Root)
}

// readOnce runs f, and reports whether it must be run again because the files changed during an
// unlocked read.
func (s *Store) readOnce(ctx context.Context, files fileState, live, check bool, f func(*Conn) error) (again bool, err error) {
	var c *Conn
	defer func() { err = explain(ctx, err) }()
	defer func() {
		same := live || s.isUnchanged(files)
		again = !same && ctx.Err() == nil
		if same && !live && !check && !files.isFresh() && (err == nil || errors.Is(err, ErrStop)) {
			s.putIdle(c, files)
		} else {
			c.closeReader()
		}
	}()
	defer recoverPanic(&err)
	if c, err = s.reader(ctx, files, live, check); err != nil {
		return false, err
	}
	if err = f(c); err == nil && check && c.pages.fault != "" {
		err = damagedError{&change.DamagedError{File: s.id.Root, Why: c.pages.fault}}
	}
	return false, err
}

// isUnchanged reports whether an unlocked read saw one state of the files: they have not changed, and
// no other program has opened them.
func (s *Store) isUnchanged(before fileState) bool {
	after, err := inspectFiles(s.id.Root)
	if err != nil {
		return false
	}
	live, err := s.needsLocks(after)
	return err == nil && !live && after == before
}

// reader returns a connection in a read transaction.
func (s *Store) reader(ctx context.Context, files fileState, live, check bool) (*Conn, error) {
	if !live && !check {
		if c := s.takeIdle(files); c != nil {
			c.db.SetInterrupt(ctx)
			return c, nil
		}
	}
	c, err := s.openReader(ctx, live, check)
	if err != nil {
		return nil, err
	}
	if err = c.db.Exec("BEGIN"); err == nil {
		c.schema, err = s.schemaOf(c)
	}
	if err != nil {
		c.closeReader()
		return nil, err
	}
	return c, nil
}

// Read returns the content of the rows, in the order of refs, nil for a row that does not exist. A
// row is found by its id alone: one that was moved to another message is returned. The error wraps
// [change.ErrInvalid] for a ref that no row can have, [ErrUnusable] or [change.ErrLocked], or is an
// error of the system.
func (s *Store) Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error) {
	var images []*change.Image
	if len(refs) > 0 && refs[0].Kind.WholeFiles() {
		return s.readAside(ctx, refs)
	}
	err := s.View(ctx, func(c *Conn) error {
		images = make([]*change.Image, len(refs))
		for i, ref := range refs {
			t := c.Table(ref.Kind)
			if t == nil {
				return fmt.Errorf("%w: a database has no %v", change.ErrInvalid, ref.Kind)
			}
			var err error
			if images[i], err = c.image(t, ref.ID()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.id.Root, err)
	}
	return images, nil
}
