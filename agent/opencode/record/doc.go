// Package record holds OpenCode's stored data: a [Session] of [Message] values, each with its [Part] values. Each of
// them embeds the [change.Record] with the exact bytes. Packages schema and render interpret records as each version
// of the program does.
//
// It does no I/O. It may import agent/opencode/js, change and internal/jsonedit. Read [Session] and [Part.Set] first.
//
// A store reads sessions, a fix edits a copy, and [change.Diff] returns the ops between the two.
//
// Unknown kinds of parts and unknown fields are kept byte for byte: an edit replaces one
// field of the stored text and copies the rest ([jsonedit.Set]).
package record
