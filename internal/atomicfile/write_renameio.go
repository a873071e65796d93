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

// write stages the content in the file's own folder. By itself renameio would choose another
// folder, after writing to it, and its WriteFile would keep the mode of the file before. The
// mode is exact if the umask does not apply.
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

// removeStaged removes what killed writers of the file at path have staged. A staged file that
// is older than a minute has no writer any more.
func removeStaged(path string) {
	dir := filepath.Dir(path)
	entries, _ := os.ReadDir(dir) // what cannot be listed is left
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
