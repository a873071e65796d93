// Package keep stores copies of sessions before anything happens to them: every record that makes a
// session whole, so that it can be restored after its agent has lost it.
//
// A [State] is a session as it was at one time. Its records are cut into chunks, each stored once under its
// hash, so a turn that is added to a long session costs about its own bytes. What no state needs any more
// [Keep.Thin] and [Keep.Forget] remove.
//
// # The file, format 1
//
// The copies are in the folder of the journal: keep.db, a [boltfile], its lock keep.lock, and for a moment
// keep.db.new. Integers in keys are big endian; every value ends in a checksum.
//
//	meta      "format"                 u32, 1
//	          "next"                   u64, the number of the next state
//	          "thinned"                i64, seconds since 1970
//	          "salvaged " | name       nothing; what is readable of the damaged file of that name was brought over
//	          "new"                    see boltfile
//	blobs     hash                     a chunk of records, or a node: a list of hashes; see [boltfile.Codec]
//	states    state u64                JSON, see [stored]
//	sessions  session | ^state u64     nothing; session is 16 bytes of the SHA-256 of its id
//	stores    store                    JSON, see [look]; store is 16 bytes of the SHA-256 of kind, 0, and root
//
// # Crashes and damage
//
// A state is written in one transaction with the blobs that it needs and that were not there, or after them. So
// what a crash leaves is at most a blob that no state needs, which the next [Keep.Thin] removes.
//
// The copies are a second place: the sessions themselves are in the stores. So a damaged keep.db does not stop
// mend. It is renamed to keep.db.damaged-DATE, which is never written, and a new one begins with each state of which all
// chunks have the bytes of their hashes: every page of the damaged file is read, without trust in the pointers between
// them. [Options].Notice says so. [RemoveDamaged] removes the damaged file.
package keep
