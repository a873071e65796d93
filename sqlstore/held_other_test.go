//go:build !linux

package sqlstore_test

import "errors"

func lockShm(string) error { return errors.ErrUnsupported }
