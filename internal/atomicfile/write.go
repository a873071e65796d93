package atomicfile

import (
	"io/fs"

	"mend/internal/ownfile"
)

// WriteFile replaces a file by one with that content and mode; the umask applies. Its readers see the old or the new content. It is
// for small files that can be made again, such as a cache or the plugin: the content is
// synced, the new name is not. The error is an [*ownfile.UnsafeError] if path names a link, or
// anything else but a regular file.
//
// On Windows the content is replaced in place, since renameio does not support it.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := ownfile.CheckPlain(path); err != nil {
		return err
	}
	return write(path, data, mode)
}
