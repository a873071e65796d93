//go:build !windows

package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"mend/internal/ownfile"
)

// write stages the content in the file's own folder. By default renameio chooses another folder,
// after a test write to it, and its WriteFile keeps the old file's mode. If exact is set, the umask
// does not apply to mode.
func write(path string, data []byte, mode fs.FileMode, exact bool) error {
	removeStaged(path)
	perm := renameio.WithPermissions(mode)
	if exact {
		perm = renameio.WithStaticPermissions(mode)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), perm)
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := ownfile.GiveToOwner(f.File); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// removeStaged removes files that killed writers of path have staged. A staged file older than a minute has no
// writer.
func removeStaged(path string) {
	dir := filepath.Dir(path)
	entries, _ := os.ReadDir(dir) // if the folder cannot be listed, the files stay
	for _, e := range entries {
		number, staged := strings.CutPrefix(e.Name(), "."+filepath.Base(path))
		if !staged || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
