// Package processes reads facts about other processes from the system, and changes none of them. Only Linux reports
// them. On macOS and Windows a process has the method Identity, which shows whether it has ended.
//
// It imports nothing of mend. Read [Others] first.
package processes

// A Process is a process that ran when it was listed. After it has ended, its methods return an error, which is
// [fs.ErrNotExist] on Linux.
type Process int
