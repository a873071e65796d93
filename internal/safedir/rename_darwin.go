package safedir

import "golang.org/x/sys/unix"

func exchange(from *Dir, name string, to *Dir, toName string) error {
	return unix.RenameatxNp(from.fd, name, to.fd, toName, unix.RENAME_SWAP)
}

func renameNoReplace(from *Dir, name string, to *Dir, toName string) error {
	return unix.RenameatxNp(from.fd, name, to.fd, toName, unix.RENAME_EXCL)
}
