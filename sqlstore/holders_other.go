//go:build !linux

package sqlstore

import "context"

// holders reports whether a connection has the database at path open; the system does not name it.
func holders(_ context.Context, path string) ([]string, error) {
	files, err := inspectFiles(path)
	if err != nil {
		return nil, nil //nolint:nilerr // it is damaged
	}
	held, err := files.inUse(path)
	if err != nil || !held {
		return nil, err
	}
	return []string{"another process"}, nil
}

// isRunning reports whether there may be a process with that number.
func isRunning(int) bool { return true }

// lockDatabase does nothing: this system's locks belong to processes.
func lockDatabase(string) (unlock func(), err error) { return func() {}, nil }
