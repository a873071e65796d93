package safedir

import (
	"fmt"
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
