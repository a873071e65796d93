//go:build !portable

package safedir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
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

// List passes the names in the folder to yield, some at a time; a slice is valid only
// during the call. If yield is nil, all names are kept in the buffer.
func (d *Dir) List(b *Buffer, yield func(names []string)) error {
	b.names = b.names[:0]
	if d.listed {
		if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
			return d.wrap("seek", ".", err)
		}
	}
	d.listed = true
	if b.entries == nil {
		b.entries = make([]byte, 32<<10)
	}
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(d.fd, b.entries) })
		if err != nil {
			return d.wrap("list", ".", err)
		}
		if n <= 0 {
			return nil
		}
		if b.names = appendNames(b.names, b.entries[:n]); yield != nil {
			yield(b.names)
			b.names = b.names[:0]
		}
	}
}

// appendNames appends the names of the entries, each a struct linux_dirent64. Unlike
// [unix.ParseDirent] it allocates one string for all of them. It overwrites entries.
func appendNames(names []string, entries []byte) []string {
	const length, name = 16, 19 // offsets in an entry
	kept := entries[:0]
	for len(entries) > name {
		n := int(binary.NativeEndian.Uint16(entries[length:]))
		found, _, _ := bytes.Cut(entries[name:n], []byte{0})
		if binary.NativeEndian.Uint64(entries) != 0 && string(found) != "." && string(found) != ".." {
			kept = append(append(kept, found...), 0)
		}
		entries = entries[n:]
	}
	for all := string(kept); all != ""; {
		var found string
		found, all, _ = strings.Cut(all, "\x00")
		names = append(names, found)
	}
	return names
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
