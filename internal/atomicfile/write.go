package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"mend/internal/ownfile"
)

// WriteFile replaces a file by one with the given content and mode; the umask applies. Readers see the old or the new
// content. It is for small files that mend can make again, such as a cache or the plugin: the content is synced, the
// new name is not. The error is an [*ownfile.UnsafeError] if path names a link, or anything else but a regular file.
//
// On Windows the content is replaced in place, since renameio does not support it.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := ownfile.CheckPlain(path); err != nil {
		return err
	}
	return write(path, data, mode, false)
}

// errChanged means that another program has changed a file in the meantime.
var errChanged = errors.New("another program has changed it meanwhile")

// Replace durably replaces the content of a file that the user and other programs edit. before is the expected content,
// nil for a file that does not exist. The error wraps errChanged if the file has other content. Bytes that another
// program writes between this check and the rename are lost.
func Replace(path string, before, after []byte, mode fs.FileMode) error {
	f, err := ownfile.OpenPlain(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before == nil:
	case errors.Is(err, fs.ErrNotExist):
		return errChanged
	case err != nil:
		return err
	default:
		now, err := ownfile.ReadAtMost(f, len(before))
		if errors.Join(err, f.Close()) != nil || before == nil || !bytes.Equal(now, before) {
			return errChanged
		}
	}
	if err := write(path, after, mode, true); err != nil {
		return err
	}
	return ownfile.SyncDir(filepath.Dir(path))
}
