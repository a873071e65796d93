package bigstore

import (
	"fmt"
	"os"
	"path/filepath"
)

// Tree writes a tree of JSON files below dir, which becomes a data folder: dir/opencode/storage/….
func Tree(dir string, mix Mix) error {
	root := filepath.Join(dir, "opencode", "storage")
	var last string // the folder of the last record
	err := mix(func(r record) error {
		path := filepath.Join(root, r.path())
		if folder := filepath.Dir(path); folder != last {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			last = folder
		}
		data, err := r.text(true)
		if err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o644)
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "migration"), []byte("2"), 0o644) // it needs no conversion
	}
	if err != nil {
		return fmt.Errorf("writing a tree: %w", err)
	}
	return nil
}

// path returns the path of the record below the root.
func (r *record) path() string {
	switch r.kind {
	case sessionRecord:
		return filepath.Join("session", "global", r.id+".json")
	case messageRecord:
		return filepath.Join("message", r.session, r.id+".json")
	default:
		return filepath.Join("part", r.message, r.id+".json")
	}
}
