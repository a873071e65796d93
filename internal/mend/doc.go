// Package mend repairs the stored sessions of coding agents, and can undo every change.
//
// It may import agent, change, internal/fail, internal/keep, internal/place, internal/provider, internal/request,
// internal/scancache, internal/userdir, journal, repair, txn and undo. Read [Store.ProposeRepair] and [Store.Apply]
// first.
//
// A session is a conversation that an agent has stored: messages with their parts. mend reads it, finds the
// damage that makes it unusable, plans the smallest change that fixes it, writes the plan to a journal, with the
// bytes before and after, and applies it atomically.
//
//	store ──▶ session ──render──▶ request ──check──▶ findings ──search──▶ change.Plan
//	txn.Run: store.Prepare → journal.Begin → store.Commit → journal.Finish → store.Discard
//
// This package is the facade: a [Store] is one store of an agent, and a [Journal] lists all changes. It also scans,
// restores, copies, moves and cleans. It prints nothing and asks no question. docs/architecture.md lists the packages,
// and where a line of code belongs.
package mend
