// Renameio ends every call below a folder of JSON files that never ended, with one
// durable file after the other, and without their names.
//
//	renameio STORAGE
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

func main() {
	n := 0
	err := filepath.WalkDir(filepath.Join(os.Args[1], "part"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		ended := bytes.Replace(data, []byte(`"status": "running"`), []byte(`"status": "error", "error": "Tool execution was interrupted"`), 1)
		if err != nil || len(ended) == len(data) {
			return err
		}
		n++
		return renameio.WriteFile(path, ended, 0o644, renameio.WithTempDir(filepath.Dir(path)))
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "files")
}
