// Package boltfile keeps a file of mend's own that is read without trust and written without loss: the journal,
// and the kept copies of sessions. Both are files of bbolt whose values have checksums.
//
// A [File] is written by bbolt, and by one process at a time, in transactions that are in the file whole or not
// at all, also after a crash or an error of the disk; see [File.Update]. A [Snapshot] reads its state without
// bbolt, with every bound checked. A [Codec] writes and reads blobs: bytes under their hash, compressed.
//
// Names of buckets, keys and values are their owner's, but for the marks in the bucket meta.
package boltfile
