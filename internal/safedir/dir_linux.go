package safedir

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// open opens the folder at rel without following any link: with one call where the
// kernel allows it, else one name at a time. Some sandboxes refuse openat2.
func (d *Dir) open(rel string) (*Dir, error) {
	if !strings.Contains(rel, "/") {
		return d.walk(rel)
	}
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
	return d.newDir(fd, rel), nil
}

// attributes returns the letters of the attributes of a name that forbid changes, as chattr
// has them; "" for none, or if the file system has no such attributes.
func (d *Dir) attributes(name string) (letters string) {
	var st unix.Statx_t
	if unix.Statx(d.fd, name, unix.AT_SYMLINK_NOFOLLOW, 0, &st) != nil {
		return ""
	}
	if st.Attributes&unix.STATX_ATTR_APPEND != 0 {
		letters += "a"
	}
	if st.Attributes&unix.STATX_ATTR_IMMUTABLE != 0 {
		letters += "i"
	}
	return letters
}
