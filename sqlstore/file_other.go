//go:build !(linux || darwin || freebsd)

package sqlstore

import (
	"io/fs"
	"math"
	"os"
)

// inodeOf tells nothing: size and time must do.
func inodeOf(string, fs.FileInfo) (dev, ino uint64) { return 0, 0 }

// hardLinks is not known without opening the file.
func hardLinks(fs.FileInfo) uint64 { return 1 }

// setOwner does nothing: a new file has the owner and the rights that its folder
// hands down.
func setOwner(*os.File, fs.FileInfo) {}

// syncFolder does nothing: a folder cannot be synced here, and NTFS journals
// its names.
func syncFolder(string) error { return nil }

// checkFolderWritable does not know; Commit will find out.
func checkFolderWritable(string) error { return nil }

// freeBytes is not known.
func freeBytes(string) int64 { return math.MaxInt64 }

// isLocked cannot tell: there is no lock that can be asked for without taking it.
func isLocked(string) (bool, error) { return false, nil }

// inUse takes both side files for a sign that somebody has the database open:
// then its locks are used, which is right in either case.
func (files fileState) inUse(string) (bool, error) { return files.shm && files.wal != fileStamp{}, nil }
