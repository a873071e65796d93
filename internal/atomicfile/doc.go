// Package atomicfile has the system calls that the crash protocol needs: renames that never lose a file, and a barrier
// that makes files durable.
//
// It may import internal/ownfile. Read [Exchange] and [Replace] first.
//
// Basics: [Exchange] swaps two names and [RenameNoReplace] moves a file to a free name. Both take
// effect completely or not at all, for every reader and across a crash, and neither removes nor overwrites a file. A
// [Barrier] collects files and waits until they are durable. [WriteFile] replaces a small file that mend can make
// again, [Replace] a file that the user edits.
//
// Caveats: only Linux and macOS have both renames, and not on every file system (FUSE and NFS lack them). Elsewhere the
// error wraps [errors.ErrUnsupported] and nothing has changed. The alternative is [Rename]: it is atomic, too, but
// overwrites a file that has the new name. A file is named by an open folder and a name in it, so that no link in its
// path is followed.
package atomicfile
