package sqlstore

import (
	"context"
	"fmt"
	"time"
)

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
