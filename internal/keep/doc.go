// Package keep stores copies of sessions, with every record, so that a session can be restored after its agent has
// lost it.
//
// It may import change, internal/boltfile, internal/fail, internal/memory and internal/ownfile. Read [Open] and
// [Keep.Load] first.
//
// A [State] is a session at one time. Its records are cut into chunks, and each chunk is stored once under its hash, so
// a turn that is added to a long session costs about as much space as its own bytes. [Keep.Thin] and [Keep.Forget]
// remove states, and the blobs that no other state needs.
//
// # The file, format 1
//
// The copies are in the folder of the journal: keep.db, a [boltfile]; its lock keep.lock; and, while a file is being
// made, keep.db.new. Integers in keys are big endian; every value ends in a checksum.
//
//	meta      "format"                 u32, 1
//	          "next"                   u64, the number of the next state
//	          "thinned"                i64, seconds since 1970
//	          "salvaged " | name       nothing; the readable states of the damaged file of that name were copied
//	          "erasing"                a mark: the bytes of forgotten states may still be in the file
//	          "new"                    see boltfile
//	blobs     hash                     a chunk of records, or a node: a list of hashes; see [boltfile.WriteBlob]
//	states    state u64                JSON, see [storedState]
//	sessions  session | ^state u64     nothing; session is 16 bytes of the SHA-256 of its id
//	stores                             no longer used
//
// # Crashes and damage
//
// A state is written in one transaction with the missing blobs that it needs, or after them. So a crash leaves at most
// blobs that no state needs, which the next [Keep.Thin] removes.
//
// The copies are only duplicates: the sessions themselves are in the stores. So a damaged keep.db does not stop mend.
// It is renamed to keep.db.damaged-DATE, which is never written. The new file starts with all states whose chunks match
// their hashes: mend reads every page of the damaged file, without trusting the pointers between pages.
// [Options].Notice reports this. [RemoveDamaged] removes the damaged file.
package keep
