//go:build !linux

package fsstore

import "context"

// Held reports false: this system does not tell which programs run.
func (s *Store) Held(context.Context) (bool, error) { return false, nil }
