//go:build !windows

package atomicfile

import (
	"io/fs"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WriteFile replaces the file at path, which others may be reading, by one with
// that content. It is for what can be made again, such as the plugin: the rename is
// not flushed. It is staged beside the file: renameio by itself would look for
// another folder, and write into it.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return renameio.WriteFile(path, data, mode, renameio.WithTempDir(filepath.Dir(path)))
}
