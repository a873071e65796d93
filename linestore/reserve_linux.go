package linestore

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserve makes the file system reserve n bytes past the end of the file, without moving the end, so that a full disk
// does not cut the append. It ignores file systems without that feature.
func (tx *transaction) reserve(f *os.File, n int64) error {
	e, err := f.Stat()
	if err != nil {
		return err
	}
	if err := tx.opt.Step("reserve " + tx.path); err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, e.Size(), n)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &os.PathError{Op: "append to", Path: tx.path, Err: err}
	}
	return nil
}
