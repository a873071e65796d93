package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mend/internal/ownfile"
)

// ErrChanged says that another program has changed a file meanwhile.
var ErrChanged = errors.New("another program has changed it meanwhile")

// Replace replaces the content before of a file that the user and other programs edit; nil is
// a file that does not exist. The error wraps [ErrChanged] if the file has another content;
// it then has that again. Readers see the old or the new content. A crash leaves one of them,
// and perhaps a staged file beside it.
//
// Where files cannot be exchanged, what another program writes in the last instant is lost.
func Replace(path string, before, after []byte, mode fs.FileMode) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	staged, err := stage(path, mode, func(w io.Writer) error { _, err := w.Write(after); return err })
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(staged) }() // the old content, or nothing
	name, base := filepath.Base(staged), filepath.Base(path)
	if before == nil {
		err = RenameNoReplace(dir, name, dir, base)
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w: %w", ErrChanged, err)
		}
	} else {
		err = exchangeIf(dir, path, staged, before)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		if err = holds(path, before); err == nil {
			err = os.Rename(staged, path)
		}
	}
	if err != nil {
		return err
	}
	return ownfile.SyncDir(filepath.Dir(path))
}

// Create makes a file with what write writes, all of it or nothing. The error wraps [fs.ErrExist] if there
// is one, unless replace is set.
func Create(path string, replace bool, mode fs.FileMode, write func(io.Writer) error) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	staged, err := stage(path, mode, write)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(staged) }() // if it still has that name
	if replace {
		err = os.Rename(staged, path)
	} else if err = RenameNoReplace(dir, filepath.Base(staged), dir, filepath.Base(path)); errors.Is(err, errors.ErrUnsupported) {
		err = os.Link(staged, path)
	}
	return errors.Join(err, ownfile.SyncDir(filepath.Dir(path)))
}

// stage writes a file beside the one at path.
func stage(path string, mode fs.FileMode, write func(io.Writer) error) (staged string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".mend-*")
	if err != nil {
		return "", err
	}
	if err = write(f); err == nil {
		err = errors.Join(f.Chmod(mode), ownfile.GiveToOwner(f), f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}

// exchangeIf exchanges the files, and back if what comes out is not before.
func exchangeIf(dir *os.File, path, staged string, before []byte) error {
	if err := holds(path, before); err != nil {
		return err
	}
	name, base := filepath.Base(staged), filepath.Base(path)
	if err := Exchange(dir, name, dir, base); err != nil {
		return err
	}
	if err := holds(staged, before); err != nil {
		return errors.Join(err, Exchange(dir, name, dir, base))
	}
	return nil
}

// holds returns an error if the file at path has another content.
func holds(path string, content []byte) error {
	f, err := ownfile.OpenPlain(path)
	if errors.Is(err, fs.ErrNotExist) && content == nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := ownfile.ReadAtMost(f, len(content))
	if err != nil || content == nil || !bytes.Equal(now, content) {
		return ErrChanged
	}
	return nil
}
