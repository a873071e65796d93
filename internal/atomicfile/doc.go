// Package atomicfile replaces whole files, and makes files and folders durable.
//
// It may import internal/ownfile. Read [Barrier] and [Replace] first.
//
// A [Barrier] collects files and waits until they are durable. [WriteFile] replaces a small file that mend can make
// again, [Replace] a file that the user edits.
package atomicfile
