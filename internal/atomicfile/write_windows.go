package atomicfile

import (
	"io/fs"

	"github.com/google/renameio/v2/maybe"
)

func write(path string, data []byte, mode fs.FileMode, _ bool) error {
	return maybe.WriteFile(path, data, mode)
}
