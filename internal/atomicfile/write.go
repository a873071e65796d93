package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mend/internal/ownfile"
)

// WriteFile replaces a file by one with the given content and mode; the umask applies. Readers see the old or the new
// content. It is for small files that mend can make again, such as a cache or the plugin: the content is synced, the
// new name is not. The error is an [*ownfile.UnsafeError] if path names a link, or anything else but a regular file.
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

// write stages the content in a file beside path, syncs it, and renames it. If exact is set, the umask does not apply to
// mode.
func write(path string, data []byte, mode fs.FileMode, exact bool) error {
	removeStaged(path)
	staged := filepath.Join(filepath.Dir(path), stagedPrefix(path)+strconv.FormatUint(rand.Uint64(), 10))
	f, err := os.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && exact {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = ownfile.GiveToOwner(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(staged, path)
	}
	if err != nil {
		_ = os.Remove(staged) // if it stays, a later write removes it
	}
	return err
}

// stagedPrefix begins the names of the staged files of path. A number follows.
func stagedPrefix(path string) string { return "." + filepath.Base(path) }

// removeStaged removes files that killed writers of path have staged. A staged file older than a minute has no
// writer.
func removeStaged(path string) {
	dir := filepath.Dir(path)
	entries, _ := os.ReadDir(dir) // if the folder cannot be listed, the files stay
	for _, e := range entries {
		number, staged := strings.CutPrefix(e.Name(), stagedPrefix(path))
		if !staged || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
