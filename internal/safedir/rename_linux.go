package safedir

import "golang.org/x/sys/unix"

func exchange(from *Dir, name string, to *Dir, toName string) error {
	return unix.Renameat2(from.fd, name, to.fd, toName, unix.RENAME_EXCHANGE)
}

func renameNoReplace(from *Dir, name string, to *Dir, toName string) error {
	return unix.Renameat2(from.fd, name, to.fd, toName, unix.RENAME_NOREPLACE)
}
