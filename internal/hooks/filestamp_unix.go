//go:build unix

package hooks

import (
	"time"

	"golang.org/x/sys/unix"
)

// stampFile returns the stamp of a regular file, or the zero value if there is none. It
// follows links, and never opens the file.
func stampFile(path string) fileStamp {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fileStamp{}
	}
	return fileStamp{
		exists: true, dev: uint64(st.Dev), ino: st.Ino, size: st.Size, //nolint:unconvert // signed on macOS
		changed: time.Unix(0, max(st.Mtim.Nano(), st.Ctim.Nano())).UnixMilli(), mtime: st.Mtim.Nano(),
	}
}
