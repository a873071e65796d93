//go:build !linux

package tree

import (
	"context"
	"time"
)

// FindsHolders returns false: this system does not show which processes use a store.
func (*Store) FindsHolders() bool { return false }

// Held returns the zero time: this system does not show which processes use a store.
func (s *Store) Held(context.Context) (time.Time, error) { return time.Time{}, nil }
