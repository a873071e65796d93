//go:build !linux

package processes

import "errors"

// Locking returns [errors.ErrUnsupported]: this system does not list locks.
func Locking(uint64, int64) ([]Process, error) { return nil, errors.ErrUnsupported }
