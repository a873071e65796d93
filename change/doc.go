// Package change holds the neutral values of stored conversations and of their changes: the Head that a store lists;
// the Record with the exact bytes that the store holds under a Ref; the Image of a record; the Op that replaces one
// image with another; the Plan of a whole change; and the Entry that records it in the journal. What a record means is
// up to its agent.
//
// It does no I/O. It imports nothing of mend. Read [Diff] and [ImageOf] first.
//
// An unusable record is a value, too: a truncated file, a field of the wrong type or a file
// without read permission is a record with a Defect, not an error that ends a scan.
package change
