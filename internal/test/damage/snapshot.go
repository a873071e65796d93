package damage

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Snapshot returns everything in a store: every name below a folder with its mode
// and, for a file, its bytes; or every row of a database with the storage classes
// and bytes of its columns, by table and primary key.
func Snapshot(dir string) (map[string]string, error) {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return rows(dir)
	}
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
