package sqlstore

import (
	"context"
	"fmt"
)

// Held reports whether another process has the database open. It waits until no
// connection of this store is open; one of another Store on the same database
// counts as another process. On Windows, and for a database that is not in WAL
// mode, it cannot tell and says no.
func (s *Store) Held(ctx context.Context) (bool, error) {
	s.conns.Lock()
	defer s.conns.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	held, err := heldFile(s.id.Root + "-shm")
	if err != nil {
		return false, fmt.Errorf("looking who has %s open: %w", s.id.Root, err)
	}
	return held, nil
}
