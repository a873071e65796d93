//go:build !linux

package sqlstore

import (
	"context"
	"time"
)

// patience exceeds the time for which a process of mend keeps an idle connection open.
const patience = 2 * idleTime

// mayBeOwn returns true: the system names no process.
func mayBeOwn([]string) bool { return true }

// currentHolders is lockHolders: the system does not show the open files of a process.
func currentHolders(ctx context.Context, path string) ([]string, error) {
	return lockHolders(ctx, path)
}

// lockHolders reports whether a connection has the database at path open; the system does not name it.
func lockHolders(_ context.Context, path string) ([]string, error) {
	for _, suffix := range []string{"", "-shm"} {
		if held, err := isLocked(path + suffix); err != nil {
			return nil, err
		} else if held {
			return []string{"another process"}, nil
		}
	}
	return nil, nil
}

// lockDatabase does nothing: this system's locks belong to a process, not to an open file.
func lockDatabase(string) (unlock func(), err error) { return func() {}, nil }

// FindsHolders returns false: this system does not name the processes.
func (*Store) FindsHolders() bool { return false }

// oldestHolder returns the beginning of 1970: this system does not name the processes.
func oldestHolder(string) time.Time { return time.Unix(0, 0) }
