// Package session holds the values of a stored conversation: a [Session] of
// [Message] values, each with its [Part] values, and under each of them the
// [Record] with the exact bytes that the store holds.
//
// A value never touches a disk. A store fills it in, a strategy edits a
// [Session.Clone], and package change turns the difference into a plan.
//
// Two promises hold throughout. What is not understood is kept: unknown kinds
// of parts and unknown fields stay byte for byte, since an edit replaces one
// field of the stored text and copies the rest ([jsonedit.Set]). And what cannot
// be understood is a value too: a truncated file, a field of the wrong type or
// a file that may not be read gives a record with a [Defect], not an error that
// ends a scan.
package session
