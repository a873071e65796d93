// Package boltfile reads and writes files of mend's own, without trusting their content and without losing data: the
// journal, and the kept copies of sessions. Both are bbolt files with a checksum in each value.
//
// It may import change and internal/ownfile. Read [New] and [Leftovers] first.
//
// bbolt writes a [File], in one process at a time. A transaction is either complete or absent, even after a crash or an
// error of the disk; see [File.Update]. A [Snapshot] reads the file without bbolt, with every bound checked. [WriteBlob]
// and [Snapshot.Blob] write and read blobs: compressed bytes under their hash.
//
// The owner of a file defines its buckets, keys and values, except for the marks in the bucket meta.
package boltfile
