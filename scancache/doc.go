// Package scancache keeps what the last scan of a store found, so that the next scan
// reads only the sessions that have changed.
//
// A [Scan] is one pass over a store. It returns the result of an earlier scan for a
// session whose records still have the same stamp. If the stamp of the whole store
// is the same as after the last whole scan, the sessions and the orphans are not
// listed again either.
//
// A cache may be lost at any time, and no repair relies on it. A file that is damaged,
// too large or of another format counts as empty, and is replaced by the next scan.
//
// # File
//
// There is one file for each store. It begins with the line "mend scan" and the number of the
// format. Blocks follow, each with its length and its CRC-32 (IEEE), both 4 bytes, little-endian.
// The first block holds what the scan found, field after field as in [coder]. Each further one
// holds the id of a session that is forgotten: it is appended before the session is changed, and
// also ends the validity of the summary and of the stamp of the store.
//
// The modification time of the file is the time of the summary.
package scancache
