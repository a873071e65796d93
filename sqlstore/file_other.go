//go:build !(linux || darwin || freebsd)

package sqlstore

import (
	"io/fs"
	"math"
	"os"
)

// inodeOf tells nothing: size and time must do.
func inodeOf(string, fs.FileInfo) (dev, ino uint64) { return 0, 0 }

// links is not known without opening the file.
func links(fs.FileInfo) uint64 { return 1 }

// own does nothing: a new file has the owner and the rights that its folder
// hands down.
func own(*os.File, fs.FileInfo) {}

// syncFolder does nothing: a folder cannot be synced here, and NTFS journals
// its names.
func syncFolder(string) error { return nil }

// mayWrite does not know; Commit will find out.
func mayWrite(string) error { return nil }

// free is not known.
func free(string) int64 { return math.MaxInt64 }

// heldFile cannot tell: there is no lock that can be asked for without taking it.
func heldFile(string) (bool, error) { return false, nil }

// held takes both side files for a sign that somebody has the database open:
// then its locks are used, which is right in either case.
func (sh shape) held(string) (bool, error) { return sh.shm && sh.log != stamp{}, nil }
