// Package linestore changes transcripts: files of lines to which an agent appends. A record is the last line with a
// given key, so most changes append a line and move no byte. A [Layout] maps records to files and keys.
//
// It may import change, internal/atomicfile, internal/safedir and internal/stage. Read [Store.Prepare] and
// [Store.Commit] first.
//
// # How a change is made
//
// Append writes all new lines with a single append call, after a newline if the last line has none. Replace
// exchanges the transcript with a staged copy, for changes that appending cannot make: a whole transcript
// with other bytes, and the undo of an append, which removes exactly the appended lines. The transcript is
// never truncated, because an agent may append at any time. No lock is needed; for an agent that takes one, its
// package holds it around these calls.
//
// Lines that other programs append while a copy is staged or exchanged are carried over to the new file. If
// they change anything else, the exchange is reverted. The mtime stays as before the change, unless the
// plan sets one, because agents order sessions by it.
//
// # Files of a change
//
//	.mend/{owner}/{n}/                      a staging folder of replace; {owner} is the id of a journal
//	.mend/{owner}/append-{size}-{mtime}/    the folder of an append, made only if its sync failed, or to remove what a
//	                                        crash left
//	    {size}-{hash}-{size}-{hash}         a staged file: size and SHA-256 of the old transcript, then of the new one
//	    ….new                               a staged file that is being written
//	.mend/kept/                             what other programs wrote, never deleted
//
// All ops of a change are in one transcript, so one call decides it. After a crash, content alone decides the outcome.
package linestore
