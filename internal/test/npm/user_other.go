//go:build !linux

package npm

import (
	"errors"
	"syscall"
)

// As is of use on Linux alone, as the programs are.
func As(uint32) *syscall.SysProcAttr { return nil }

// Give is of use on Linux alone.
func Give(string, string, uint32) (string, error) { return "", errors.ErrUnsupported }
