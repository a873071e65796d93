//go:build !linux

package sqlstore

import "time"

// FindsHolders returns false: this system does not name the processes.
func (*Store) FindsHolders() bool { return false }

// oldestHolder returns the beginning of 1970: this system does not name the processes.
func oldestHolder(string) time.Time { return time.Unix(0, 0) }
