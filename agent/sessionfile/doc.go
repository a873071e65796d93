// Package sessionfile reads and changes sessions that are each stored as a file of lines, with other files beside it
// and, for some agents, rows of an index. It has the code that all such agents share, and knows nothing about the
// content of lines.
//
// It may import agent, change, fsstore, internal/aside, internal/memory, internal/safedir, internal/userdir, linestore,
// sqlstore and txn. Read [Store.Load] and writer.Prepare first.
package sessionfile
