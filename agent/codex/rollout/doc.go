// Package rollout loads a rollout, the file of lines that stores a session of Codex, as Codex does. It finds the
// problems of a rollout and edits a copy of its lines; package codex reads and writes the files.
//
// It does no I/O. It may import change, internal/jsonedit, internal/provider, internal/provider/openai,
// internal/request and repair. Read [New] and [State.Faults] first.
//
// A [State] is one state of a session: the lines of its rollout, the rollout's path, and its row in the index. A
// message is a response of the model with all its items, or another single item; it is named after its first line.
package rollout
