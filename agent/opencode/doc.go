// Package opencode implements the agent OpenCode: it finds and opens its stores, and implements [agent.Store]. It does
// not judge sessions; the packages below this one do:
//
//	tree      the tree of JSON files of OpenCode 1.0 and 1.1
//	database  tables of the SQLite database of OpenCode 1.2 and later
//	record    sessions with their messages and parts, over the bytes of the records
//	schema    the table of the fields of records
//	js        the semantics of JavaScript values
//	render    the request that each version makes of a session
//	diagnose  findings and fixes
//
// It may import agent, agent/opencode/database, agent/opencode/diagnose, agent/opencode/record, agent/opencode/render,
// agent/opencode/tree, change, internal/fail, internal/git, internal/jsonedit, internal/ownfile, internal/place,
// internal/provider/chat, internal/request, internal/userdir, repair and txn. Read store.Examine and store.Writer
// first.
package opencode
