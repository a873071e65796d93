// Package database reads the sessions that OpenCode 1.2 and later stores in its SQLite database, opencode.db. It finds
// databases, knows their tables, and lists and loads sessions. Package sqlstore makes the changes. The tables with
// sessions are:
//
//	session(id primary key, project_id, directory, title, version, time_created, time_updated, …)
//	message(id primary key, session_id → session, time_created, time_updated, data, …)
//	part   (id primary key, message_id → message, session_id, time_created, time_updated, data, …)
//
// It may import agent, agent/opencode/record, change, internal/fail, internal/jsonedit, internal/memory,
// internal/salvage, internal/sqlite and sqlstore. Read [Open] and [Store.Load] first.
//
// # Events
//
// OpenCode 1.18 also has tables of events. A repair neither reads nor writes their contents, because 1.18.33 builds a
// prompt from message and part only, and replays no event when it starts (observed: a change by mend is in the next
// request, before and after a restart). A session that is moved to another workspace through its events gets its
// content from before the repair. A load checks the numbers of events, a salvage rebuilds lost rows and the counters
// from events, and "mend clean" can archive them.
//
// # Locks
//
// When OpenCode starts, it opens the database before it sets its busy_timeout. It fails if mend, or another OpenCode,
// opens or closes the database in that millisecond. Later it waits for locks.
package database
