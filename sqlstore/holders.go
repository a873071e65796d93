package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"mend/change"
	"mend/internal/fail"
)

// endProgram is the hint if another program prevents a change.
const endProgram = "nothing was changed. End that program, then run the command again"

// tick is the time between two attempts.
const tick = 50 * time.Millisecond

// holders names the other processes that have a file of the database at path open. While all of them may be mend's, it
// waits for them. It looks at least twice before it names any: a child process has all files of its parent open until
// it starts its own program.
func holders(ctx context.Context, path string, look func(context.Context, string) ([]string, error)) (who []string, err error) {
	began := time.Now()
	for again := false; ; again = true {
		who, err = look(ctx, path)
		if len(who) == 0 || err != nil || again && !mayBeOwn(who) || time.Since(began) > patience || ctx.Err() != nil {
			return who, err
		}
		time.Sleep(tick)
	}
}

// Holders names the other processes that have a file of the database open.
func (s *Store) Holders(ctx context.Context) ([]string, error) {
	who, err := holders(ctx, s.id.Root, s.look)
	if err != nil {
		return nil, fmt.Errorf("finding processes that have %s open: %w", s.id.Root, err)
	}
	return who, nil
}

// nameHolders adds the names of the processes that have the database open to a [change.ErrLocked].
func (s *Store) nameHolders(ctx context.Context, err error) error {
	if !errors.Is(err, change.ErrLocked) || ctx.Err() != nil {
		return err
	}
	if who, errWho := s.Holders(ctx); errWho == nil && len(who) > 0 {
		return fmt.Errorf("%w: the database is open in %s", err, strings.Join(who, " and "))
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
		return fail.New(fail.Refused, endProgram, "%s is open in %s", s.id.Root, strings.Join(who, " and "))
	}
	return nil
}

// CheckSpace returns an error if the file system of dir has less than needed bytes free. The argument what begins the
// reason in the error text, such as "the new database needs".
func CheckSpace(dir string, needed int64, what string) error {
	needed += needed/8 + 1<<20 // new indexes may be larger
	if free := freeBytes(dir); free < needed {
		return fmt.Errorf("writing to %s: %w: %s up to %d MB there, and %d MB are free", dir, syscall.ENOSPC, what, needed>>20+1, free>>20)
	}
	return nil
}

// Held returns the start time of the oldest other process that has the database open: the zero time
// if no process does, and the beginning of 1970 if the system does not name the processes. It waits
// until this store has no open connection; a connection of another Store to the same database
// counts as another process. For a database that is not in WAL mode it returns the zero time.
func (s *Store) Held(ctx context.Context) (time.Time, error) {
	s.conns.Lock()
	defer s.conns.Unlock()
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	shm := s.id.Root + "-shm"
	held, err := isLocked(shm)
	if err != nil {
		return time.Time{}, fmt.Errorf("finding processes that have %s open: %w", s.id.Root, err)
	}
	if !held {
		return time.Time{}, nil
	}
	return oldestHolder(shm), nil
}
