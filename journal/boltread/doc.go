// Package boltread reads a bbolt file without trusting it: with plain reads, and
// with every bound checked. A file that is not as bbolt writes it gives an error
// that wraps [ErrDamaged], never a panic, an endless loop or a large allocation.
//
// bbolt itself trusts its file: a branch page that leads back to itself ends the
// process with a stack overflow, a wrong length makes it allocate gigabytes, and a
// short file raises SIGBUS. A caller can recover from none of these.
//
// [Open] reads the state after the newest transaction, [Snapshot.Bucket] finds a
// bucket in it, and [Bucket.Get] and [Bucket.Ascend] read its keys. A program that
// then writes with bbolt calls [Snapshot.CheckFreelist] before it opens the file
// and [Bucket.CheckPath] before it changes a key: bbolt then follows no pointer
// that was not checked. [Snapshot.CheckStructure] checks the whole file.
//
// Caveats: values have no checksum in a bbolt file, so the caller adds its own. No
// bucket may lie in another one. A Snapshot is not safe for concurrent use, and is
// of no use after the next transaction.
package boltread

import (
	"errors"
	"fmt"
)

// ErrDamaged says that the file is not one that bbolt wrote, or no longer is.
var ErrDamaged = errors.New("journal is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
