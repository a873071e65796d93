package safedir

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// OpenRoot opens the root of a store by its canonical path.
func OpenRoot(canonical string) (*Dir, error) {
	d, err := open(canonical)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	return d, nil
}

// Identify returns the canonical path of the root of a store, and its entry, with device and inode.
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

// Sub opens the folder at rel, one or more names below d. The error wraps [fs.ErrNotExist] if a name is missing, and is
// a [*NotFolderError] if a name is not a folder, for example a link.
func (d *Dir) Sub(rel string) (*Dir, error) {
	at := d
	for name := range strings.SplitSeq(rel, "/") {
		next, err := at.child(name)
		if at != d {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// NamesAt returns the sorted names in the folder at p below d. Its errors are those of [Dir.Sub] and [Dir.Names].
func (d *Dir) NamesAt(p string) ([]string, error) {
	at, err := d.Sub(p)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	names, err := at.Names()
	slices.Sort(names)
	return names, err
}
