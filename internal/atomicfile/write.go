package atomicfile

import (
	"io/fs"

	"mend/internal/ownfile"
)

// WriteFile replaces the file at path, which others may be reading, by one with
// that content: its readers see the old one or the new one. It is for small whole
// files that can be made again, such as a cache or the plugin: the content is
// synced, the new name is not. The error is an [*ownfile.UnsafeError] where a link,
// or anything else but a regular file, has the name.
//
// On Windows, for which renameio has no way, the content is replaced in place.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := ownfile.CheckPlain(path); err != nil {
		return err
	}
	return write(path, data, mode)
}
