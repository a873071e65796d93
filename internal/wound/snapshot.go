package wound

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Snapshot is every name below dir, as a path from it, with its mode and, for a
// file, its bytes.
func Snapshot(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[rel] += " " + string(data)
			return err
		}
		return nil
	})
	return all, err
}
