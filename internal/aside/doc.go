// Package aside changes whole files and folders beside a store: a database and its replacement, an archive of rows,
// folders of snapshots. They are renamed and never copied, so a file that is too large to be copied can be changed.
//
// It may import change, internal/atomicfile, internal/fail, internal/ownfile, internal/safedir and internal/stage. Read
// [Area.Run] and [Area.Settle] first.
//
// A change is a list of moves between two places below the store's folder, with a commit point between them (see
// [Change]). Removed content is kept in .mend/OWNER, where the owner is the id of a journal; it stays until
// [Area.Sweep].
//
// New content for a change is built in .mend/built, in a folder that the process has locked ([Area.Build]). Nothing
// there belongs to a journal: the first move of a change, after the begin of its entry, gives it to the owner. So the
// build of a killed process is in no entry, and the next writer removes it ([Area.SweepBuilt]), but not the build of
// a running process.
//
// After a crash the content and the places alone decide ([Area.Settle]). A move whose source and target both exist is
// not made: another program has created the target, and the change reports a conflict.
package aside
