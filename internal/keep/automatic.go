package keep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mend/internal/ownfile"
)

// automaticName is the name of an empty file beside the copies. While it is there, copies are made without being
// asked for: the user has agreed. It is a file of its own, so that a damaged keep.db does not lose that.
const automaticName = "keep.on"

// Automatic reports whether the user has agreed that copies are made without being asked for.
func Automatic(dir string) bool {
	f, err := ownfile.Open(filepath.Join(dir, automaticName), os.O_RDONLY)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// SetAutomatic turns that on or off.
func SetAutomatic(dir string, on bool) error {
	path := filepath.Join(dir, automaticName)
	if !on {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := ownfile.MakeDir(dir); err != nil {
		return err
	}
	f, err := ownfile.Open(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), ownfile.SyncDir(dir))
}
