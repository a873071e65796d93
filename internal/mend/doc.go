// Package mend repairs the stored sessions of coding agents, and can undo every change.
//
// A session is a conversation that an agent has stored: messages with their parts. mend
// reads it, finds what makes it unusable, plans the smallest change that fixes it, writes
// that plan to a journal, applies it atomically, and keeps what undo needs.
//
//	store ──▶ session ──render──▶ request ──check──▶ findings ──search──▶ change.Plan
//	txn.Run: store.Prepare → journal.Begin → store.Commit → journal.Finish → store.Discard
//
// This package is the facade: a [Store] is one store of an agent, a [Journal] the record of all changes.
// docs/architecture.md has the packages, and where a line of code belongs.
package mend
