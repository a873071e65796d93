// Package fsstore keeps sessions in a tree of JSON files, one file a record: it
// lists and loads them, and changes them so that every change is wholly done or
// wholly not, whatever happens meanwhile.
//
// # Where records are
//
// Each program has its own tree. The table in layout.go says where the records of
// each one are; this is the tree of OpenCode 1.0 and 1.1:
//
//	storage/                                    the root
//	  session/{project}/{session}.json
//	  message/{session}/{message}.json          or message/{any}/{session}/{message}.json
//	  part/{message}/{part}.json
//	  project/{project}.json
//	  .mend/                                    ours, while a change is made
//	    {owner}/                                the id of a journal
//	      {n}.new/                              being staged: nothing in it was ever exchanged
//	      {n}/                                  a staging folder
//	        {i}-{post}-{pre}                    a slot: op number, SHA-256 of what it may hold, or "none"
//	        {i}-folder                          a slot that is a folder to be made
//	        {slot}.new                          a slot being written anew
//	      {n}.again/                            the same, where {n} was lost
//	    kept/                                   bytes of other programs, never deleted
//	      {id}.{slot hash}.{k}.json               or late.…, found after the change was decided
//
// Ids are data. A name that is none never becomes part of a path, and no link is
// followed below the root. What stands where a record should be and cannot be
// one is told as a [session.Stray], or as a record with the defect Unreadable; what
// OpenCode takes for one more record, or stands in place of a folder of them, as a
// [session.File].
//
// # How a change is made
//
// Prepare writes every new content into a slot and waits for the disk. Commit
// exchanges slots and targets one by one, with a rename that neither unlinks nor
// overwrites anything, and compares what came out. So a reader finds every file
// whole at any time, and bytes that another program wrote are in the target, in
// the slot, or under kept. Into a file that was replaced another program may still
// write through a descriptor that it had: Commit looks at all of them once more when
// the change is on the disk, and Discard, after the outcome is in the journal, at
// each just before it is removed. What a crash leaves is decided by content alone: the
// table is at state in state.go.
//
// # Caveats
//
// Readers see the exchanges of one change one after the other. A replaced file
// keeps its mode and, for root, its owner; not its time stamps, extended
// attributes or hard links (a file with several is refused).
//
// Where the file system has no exchange, as FUSE and NFS, the target is compared
// and then overwritten by a rename of the slot. Crashes are decided as everywhere,
// and readers find every file whole. But what another program writes between the
// look and the rename, or into a file that it opened before, is lost; and a file
// that it makes between the two under the name of a new record, too. Where the
// system has no such calls at all, a tree can only be read.
package fsstore
