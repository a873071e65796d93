// Package journal records every change of a store before it is made: the old and the new content of each record, the
// reason, and later the outcome. Recovery and undo read it.
//
// It may import change, internal/boltfile and internal/ownfile. Read [Journal.Begin] and [Open] first.
//
// An entry is durable before [Journal.Begin] returns, and durable data is never rewritten: later changes of an entry
// are new events in an append-only chain, and state and "undone by" are derived from the events. Only [Journal.GC] and
// [Journal.Forget] remove something: the bytes of images and texts. The chain holds their hashes and stays unchanged.
//
// Entries are ordered by number. No decision depends on a clock.
//
// # The frozen format, version 1
//
// The folder (0700) holds journal.db (0600), a bbolt file; during a creation or compaction, journal.db.new; and
// journal.lock (0600), which is never renamed or removed. The flock of journal.lock gives a writer exclusive access.
// From byte 1 on it holds the writer's process id and a line feed, or after a close a line feed and the stamp of the
// journal.
//
// Integers in keys and values are big endian. Every value ends in a CRC32C
// (Castagnoli) over bucket name, key and value, 4 bytes, left out below.
//
//	meta       "format"              u32, 1
//	           "id"                  16 letters and digits
//	           "created"             i64, seconds since 1970
//	           "new"                 a mark: the file's name may not be durable yet
//	           "staging"             a mark: u64, the entry whose blobs are being written
//	           "erasing"             a mark: u64, the event whose blobs are being removed
//	           "compact"             a mark: removed bytes are still in free pages
//	events     event u64             1 | event u64 | hash of the event before | JSON | SHA-256 of all that
//	images     hash                  1 | size u64 | last chunk      an image's bytes
//	           hash | number u32     chunk                          (the others, from 0)
//	ops        the same                                             a list of up to 1000 ops
//	texts      the same                                             free text
//	refs       kind | hash | entry   nothing: the entry needs the blob; kind is i, o or t
//	entries    entry u64 | event u64 nothing: the event is about the entry
//	bysession  session | ^entry u64  nothing; session is 16 bytes of its SHA-256
//	pending    entry u64             nothing
//
// Entries are numbered from 1 without a gap, and so are events. The event before
// the first is the SHA-256 of "mend journal 1", a zero byte, and the journal's id.
//
// A hash is the SHA-256 of the blob. A chunk is 0 | bytes, or 1 | bytes in zstd; each except the last has 4 MiB before
// compression. The key that consists of the hash alone is written last and makes the blob complete.
//
// A ref in a list of ops has a kind: 1 session, 2 message, 3 part, 4 folder, 5 a file beside the records (its name, any
// bytes, takes the place of the part), 6 project, 7 event counter, 9 the entry of a session in an index of the agent,
// 13 what the agent shows of a session.
// Whole files that are set aside stay in the store, and the image lists them: 8 a database, with its files, their sizes
// and hashes; 10 rows in an archive, with their tables; 11 a folder, with the number of its files; 12 the file of a
// session that was moved into place, listed as for 8. A version of mend that does not know a kind shows the entry, and
// refuses to undo it.
//
// Events are of the kinds begin, finish, resolve, gc and forget; [event] has their fields, [encodeOps] encodes a list
// of ops, [causeText] and [outcomeText] their texts. In JSON, bytes that need not be UTF-8 are base64. The member
// "append" of a begin event has size and time of a file to which the change only appends; earlier versions wrote them
// into "dir" as append-SIZE-MTIME.
//
// Later versions add members to that JSON. An older mend ignores members that it does not know, and the hash stays
// valid. Entries of earlier versions lack the actor of an event, the digest of a plan and the fields of an API error;
// these are then unknown. Each entry names its operation: the first entry of the same run of mend. An entry without
// that member is its own operation.
//
// The last four buckets follow from the rest, and [Journal.Verify] recomputes them. "entries" lists for each entry its
// own events, the gc and forget events that named it, and the begin and finish events of its undos and redos.
//
// # Crashes
//
// A journal is created and compacted under the temporary name, and renamed when it is complete and synced. Blobs are
// written in transactions of at most 1 MiB, all but the last under the mark "staging"; the last also writes the begin
// event. A gc or forget first writes its event and the mark "erasing"; from then on the images count as removed. The
// next open for writing removes everything left under a mark.
//
// # Damage
//
// The file is not trusted. mend reads it without bbolt and checks every bound (package boltfile explains why). bbolt
// only writes. It runs inside a recover that also catches faults of mapped memory, and it reaches only pages that were
// checked before. A damaged journal gives [ErrDamaged] and is never written to, replaced or removed: an open for
// writing verifies the whole file, unless inode, size, mtime and ctime are exactly as the last writer left them (on
// Windows it always verifies). So nothing is appended to a file that a program has damaged. If a disk changes bytes by
// itself, no time changes: the checksums reveal the damage when the bytes are read, in the next verification, or in
// Verify.
//
// An older copy of the whole journal counts as undamaged. Only a head that was kept elsewhere reveals it, see
// [Journal.Verify].
package journal
