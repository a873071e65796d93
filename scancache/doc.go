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
// There is one file for each store. Every line is the CRC-32 (IEEE) of a JSON object
// in eight hexadecimal digits, a space, and that object, which has one member:
//
//	{"header": …}   first: format, build, settings, stamp of the store, number of lines, summary
//	{"session": …}  one session: what a list has of it, and its result
//	{"orphan": …}   the reference of one orphaned record
//	{"forget": ID}  appended before the session is changed; it also ends the validity
//	                of the summary and of the stamp of the store
//
// The modification time of the file is the time of the summary.
package scancache
