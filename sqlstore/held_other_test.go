//go:build !linux

package sqlstore

import "errors"

func lockShm(string) error { return errors.ErrUnsupported }
