package fsstore

import (
	"errors"
	"fmt"
	"slices"

	"mend/internal/safedir"
	"mend/internal/stage"
)

// ListAbandoned returns the paths below the root of the staging folders of all journals except owner.
// Each belongs to a change that another process of mend is making, or to an interrupted change that
// only a lost journal records.
func (s *Store) ListAbandoned(owner string) ([]string, error) {
	root, err := s.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	owners, err := listNames(root, stage.Dir)
	var found []string
	for _, name := range owners {
		at := stage.Dir + "/" + name
		if name == owner || at == stage.Kept {
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

// listNames returns the sorted names in the folder at p; none if p is not a folder.
func listNames(root *safedir.Dir, p string) ([]string, error) {
	d, err := root.Sub(p)
	if safedir.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Names()
	slices.Sort(names)
	return names, err
}
