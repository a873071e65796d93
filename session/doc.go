// Package session holds the neutral values of stored conversations: the [Head] that a
// store lists, and the [Record] with the exact bytes that the store holds under a [Ref].
// What a record means is up to its agent.
//
// The package does no I/O. A record that cannot be used is a value, too: a truncated
// file, a field of the wrong type or a file without read permission is a record with a
// [Defect], not an error that ends a scan.
package session
