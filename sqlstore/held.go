package sqlstore

import (
	"context"
	"fmt"
	"time"
)

// Held returns since when another process has had the database open: the start of the
// oldest such process, the zero time if there is none, and the beginning of 1970 if the
// system does not name the processes. It waits until no connection of this store is open;
// a connection of another Store on the same database counts as another process. On
// Windows, and for a database that is not in WAL mode, it returns the zero time.
func (s *Store) Held(ctx context.Context) (time.Time, error) {
	s.conns.Lock()
	defer s.conns.Unlock()
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	shm := s.id.Root + "-shm"
	held, err := isLocked(shm)
	if err != nil {
		return time.Time{}, fmt.Errorf("looking who has %s open: %w", s.id.Root, err)
	}
	if !held {
		return time.Time{}, nil
	}
	return heldSince(shm), nil
}
