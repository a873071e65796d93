// Package rollout knows what Codex makes of a rollout, the file of lines in which it keeps a session, what is wrong
// with one, and how it is edited. It is for the agent codex.
//
// A [State] is one state of a session: the lines of its rollout, the path of that, and its row in the index. A
// message of it is a response of the model, with all its items, or another single item; it is named for the line
// with which it begins.
package rollout
