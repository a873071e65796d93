// Package mend brings broken agent sessions back to life, and can take every
// change back.
//
// A session is a conversation that a coding agent has stored: messages with
// their parts. mend reads it, tells what is wrong and why, plans the smallest
// change that cures it, writes that plan into a journal, applies it atomically,
// and keeps everything that is needed to undo it.
//
//	store ──Load──▶ session.Session ──Diagnose──▶ []Diagnosis ──Plan──▶ change.Plan
//	txn.Run: store.Prepare → journal.Begin → store.Commit → journal.Finish → store.Discard
//
// The folders:
//
//	jsonedit   JSON texts: reading fields, and edits that leave every other byte
//	session    the values: Session, Message, Part, Record
//	change     what is done to a store, as values: Op, Plan, Outcome, Entry
//	repair     what is wrong and what cures it: error classes, diagnoses, strategies
//	request    what goes to a provider, as values: Request, Turn, Block, Violation
//	provider   the rules of a provider on a request; provider/anthropic
//	agent      what belongs to one agent; agent/opencode has render (session → request) and schema
//	undo       entries of the journal → the plan that reverts them
//	fsstore    sessions in a tree of JSON files
//	sqlstore   sessions in OpenCode's SQLite database
//	journal    the write-ahead journal
//	txn        the order of things: Run and Recover
//	scancache  results of the last scan, for the next one
//	cmd/mend   the command line, one file a verb
//
// This package ties them together: a [Client] is one store with one journal.
package mend
