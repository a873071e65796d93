// Package processes reads what the system reports of other processes. Only Linux
// reports most of what is needed here; elsewhere the package has only [Process.Identity].
package processes

// A Process is one that ran when it was listed. Its methods return an error that
// is [fs.ErrNotExist] after it has ended.
type Process int
