//go:build !linux

package database

import "errors"

func lockShm(string) error { return errors.ErrUnsupported }
