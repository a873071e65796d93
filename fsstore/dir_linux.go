//go:build !portable

package fsstore

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// open opens the folder at rel without following any link: with one call where
// the kernel allows it, else one name at a time. Some sandboxes refuse openat2.
func (d *dir) open(rel string) (*dir, error) {
	how := unix.OpenHow{
		Flags:   openFolder,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := retry(func() (int, error) { return unix.Openat2(d.fd, rel, &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return d.walk(rel)
	}
	if err != nil {
		return nil, err
	}
	return d.opened(fd, rel), nil
}

// names lists what stands in the folder. It is not for two goroutines at once.
func (d *dir) names() ([]string, error) {
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		return nil, d.wrap("seek", ".", err)
	}
	var names []string
	buf := make([]byte, 16<<10)
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(d.fd, buf) })
		if err != nil {
			return names, d.wrap("list", ".", err)
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
