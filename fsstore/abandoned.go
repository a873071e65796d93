package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mend/internal/safedir"
)

// Abandoned lists, below the root, the staging folders of other journals than
// the one with the given id: each is of a change that another mend is making just
// now, or of one that was cut and whose journal is gone. Only that journal knows
// what it was.
func (s *Store) Abandoned(owner string) ([]string, error) {
	root, err := s.OpenRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	owners, err := listNames(root, mendDir)
	var found []string
	for _, name := range owners {
		at := mendDir + "/" + name
		if name == owner || at == keptDir {
			continue
		}
		staged, lerr := listNames(root, at)
		err = errors.Join(err, lerr)
		for _, n := range staged {
			found = append(found, at+"/"+n)
		}
	}
	if err != nil {
		return found, fmt.Errorf("looking for staged files: %w", err)
	}
	return found, nil
}

// listNames is what stands in the folder at p, nothing where that is no folder.
func listNames(root *safedir.Dir, p string) ([]string, error) {
	d, err := root.Sub(p)
	var strange *safedir.NotFolderError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &strange) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Names(nil)
	slices.Sort(names)
	return names, err
}
