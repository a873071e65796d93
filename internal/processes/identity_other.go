//go:build !linux && !darwin && !windows

package processes

import "errors"

// Identity is not known on this system.
func (p Process) Identity() (string, error) { return "", errors.ErrUnsupported }
