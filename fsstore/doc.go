// Package fsstore changes the files of a tree, one file per record, so that a change is all or nothing even after a
// crash or a concurrent write. A [Layout] maps records to paths.
//
// It may import change, internal/atomicfile, internal/safedir and internal/stage. Read [Store.Prepare] and
// [Store.Commit] first.
//
// # Files of a change
//
// During a change, the root of the tree has a folder of mend's own:
//
//	.mend/
//	  {owner}/                                the id of a journal
//	    {n}.new/                              a staging folder that is not complete: nothing in it was ever exchanged
//	    {n}/                                  a staging folder
//	      {i}-{post}-{pre}                    a staged file: number of the op, SHA-256 of its Post and Pre, or "none"
//	      {i}-folder                          a folder that the change makes
//	      {staged}.new                        a staged file that is being written again
//	    {n}.again/                            a second staging folder, made if {n} was lost
//	  kept/                                   content that other programs wrote, never deleted
//	    {id}.{staged hash}.{k}.json           or late.…, found after the change was decided
//
// # How a change is made
//
// Prepare writes every new content into a staged file and waits for the disk. Commit exchanges staged files and
// targets one by one, with a rename that neither unlinks nor overwrites anything, and compares the content that
// came out of the target. So a reader always finds every file complete, and content that another program wrote is
// in the target, in the staged file, or below kept. Another program may still write into a replaced file through a
// descriptor that it had opened earlier: Commit checks all of them again when the change is durable, and Discard,
// after the outcome is in the journal, checks each one just before it removes it. After a crash, content alone
// decides: see the table at readState.
//
// # Caveats
//
// Readers see the exchanges of one change one after another. A replaced file keeps its mode and, if mend runs as
// root, its owner; not its time stamps, extended attributes or hard links (a file with several is refused). A file
// that a change moves to another folder keeps its time, too.
//
// If the system or the file system has no exchange, as on Windows, FUSE and NFS, three calls replace it (see
// stage.Area.Exchange). The outcome after a crash is decided in the same way, and readers find every file complete. A
// file is lost only if, between two of these calls, another program replaces a record with it, or creates it under the
// name of a new record.
package fsstore
