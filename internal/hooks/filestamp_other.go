//go:build !unix

package hooks

import "os"

// stampFile returns the stamp of a regular file, or the zero value if there is none. It
// follows links, and never opens the file.
func stampFile(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return fileStamp{}
	}
	return fileStamp{exists: true, size: info.Size(), changed: info.ModTime().UnixMilli(), mtime: info.ModTime().UnixNano()}
}
