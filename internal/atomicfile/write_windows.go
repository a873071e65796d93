package atomicfile

import (
	"io/fs"

	"github.com/google/renameio/v2/maybe"
)

// WriteFile replaces the content of the file at path, in place: Windows has no
// atomic way.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return maybe.WriteFile(path, data, mode)
}
