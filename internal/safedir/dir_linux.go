package safedir

import "golang.org/x/sys/unix"

// attributes returns the attributes of a name that forbid changes, as chattr letters; "" for none,
// or if the file system has no such attributes.
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
