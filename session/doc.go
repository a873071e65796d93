// Package session holds the values of a stored conversation: a [Session] of
// [Message] values, each with its [Part] values, and under each of them the
// [Record] with the exact bytes that the store holds.
//
// The package does no I/O. A store reads sessions, a fix edits a [Session.Clone], and
// package change turns the diff into a plan.
//
// Unknown kinds of parts and unknown fields are kept byte for byte: an edit replaces one
// field of the stored text and copies the rest ([jsonedit.Set]). A record that cannot be
// used is a value, too: a truncated file, a field of the wrong type or a file without
// read permission is a record with a [Defect], not an error that ends a scan.
package session
