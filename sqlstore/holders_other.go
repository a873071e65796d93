//go:build !linux

package sqlstore

import (
	"context"
	"time"
)

// holders reports whether a connection has the database at path open; the system does not name it. One of ours, which counts, is
// closed when it was idle for a while.
func holders(ctx context.Context, path string) ([]string, error) {
	for range 2 * idleTime / tick {
		if who, err := holdersNow(path); err != nil || who == nil || ctx.Err() != nil {
			return who, err
		}
		time.Sleep(tick)
	}
	return holdersNow(path)
}

const tick = 50 * time.Millisecond

func holdersNow(path string) ([]string, error) {
	for _, suffix := range []string{"", "-shm"} {
		if held, err := isLocked(path + suffix); err != nil {
			return nil, err
		} else if held {
			return []string{"another process"}, nil
		}
	}
	return nil, nil
}

// isRunning reports whether there may be a process with that number.
func isRunning(int) bool { return true }

// lockDatabase does nothing: this system's locks belong to processes.
func lockDatabase(string) (unlock func(), err error) { return func() {}, nil }
