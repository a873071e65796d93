package sqlstore

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"mend/internal/processes"
)

// heldSince returns the start of the oldest process that holds the lock of a connection on
// the -shm at path; the beginning of 1970 if that of one of them is not known.
func heldSince(path string) time.Time {
	unknown := time.Unix(0, 0)
	info, err := os.Stat(path)
	if err != nil {
		return unknown
	}
	_, ino := inodeOf(path, info)
	locking, err := processes.Locking(ino, shmDMS)
	if err != nil {
		return unknown
	}
	var since time.Time
	for _, p := range locking {
		started, err := p.Started()
		switch {
		case errors.Is(err, fs.ErrNotExist) && p != 0: // it has ended meanwhile
		case err != nil:
			return unknown
		case since.IsZero() || started.Before(since):
			since = started
		}
	}
	if since.IsZero() {
		return unknown
	}
	return since
}
