package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
)

// OpenRoot opens the root of a store by its canonical path.
func OpenRoot(canonical string) (*Dir, error) {
	d, err := Open(canonical)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	return d, nil
}

// Identify returns the canonical path of the root of a store, and its entry, which has device and
// inode.
func Identify(root string) (canonical string, e Entry, err error) {
	if canonical, err = filepath.EvalSymlinks(root); err != nil {
		return "", Entry{}, fmt.Errorf("opening store: %w", err)
	}
	d, err := OpenRoot(canonical)
	if err != nil {
		return "", Entry{}, err
	}
	defer d.Close()
	if e, err = d.Stat("."); err != nil {
		return "", Entry{}, fmt.Errorf("opening store: %w", err)
	}
	return canonical, e, nil
}

// RemoveEmpty removes the folder at p below root, and then each folder above it except root. It
// stops at the first one that remove does not remove, such as one that is not empty. remove
// reports whether the folder no longer exists.
func RemoveEmpty(root *Dir, p string, remove func(parent *Dir, name string) (gone bool, err error)) error {
	for ; p != "."; p = path.Dir(p) {
		parent, err := root.Sub(path.Dir(p))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		gone, err := remove(parent, path.Base(p))
		parent.Close()
		if err != nil || !gone {
			return err
		}
	}
	return nil
}
