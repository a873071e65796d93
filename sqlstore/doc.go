// Package sqlstore changes rows of an SQLite database in WAL mode, one row per record,
// that another program may have open. A [TableSpec] says what it must know of a table.
// These are the tables of OpenCode 1.2 and later:
//
//	session(id primary key, project_id, directory, title, version, time_created, time_updated, …)
//	message(id primary key, session_id → session, time_created, time_updated, data, …)
//	part   (id primary key, message_id → message, session_id, time_created, time_updated, data, …)
//
// Rows are read and put back whole: every column by name, storage class and
// bytes, also columns that a later version adds. Other tables are never written.
// A database without these tables and columns is refused with what was found.
//
// # Reading
//
// Reading changes no byte, except for the marks of readers in a -shm that is in use.
// While another program has the database open, SQLite's locks give a consistent view
// ([Store.Held] finds out). Otherwise the files are read without locks and without a
// -shm, including the -wal, and read again if one of them changed meanwhile. That is
// the usual case, also with a -wal: OpenCode leaves it when it exits. Both work in a
// read-only folder.
//
// # Writing
//
// SQLite's own transaction makes a change atomic, so nothing is staged: Prepare
// compares, Commit compares again and writes in one BEGIN IMMEDIATE, Settle compares
// the rows and never writes one. Foreign keys are off on our connection, so that no
// statement touches a row outside the plan; they are checked before COMMIT, row by row.
//
// If Settle returns Aborted beside a running agent, it does write one page, unchanged: a
// writer that was killed in its COMMIT may have left the whole transaction in the -wal,
// invisible, and the next recovery would bring it back.
//
// Existing -wal and -shm files stay, and nothing is checkpointed; if there were none,
// SQLite removes ours with the last connection. One exception: a -shm that we had to
// make for a -wal without one stays.
//
// # Events
//
// OpenCode 1.18 also keeps tables of events. They are not written: 1.18.33 builds
// a prompt from message and part alone and replays no event when it starts (seen:
// what was changed here is in the next request, before and after a restart). A
// session that is moved to another workspace by its events takes along what was
// there before the repair.
//
// # Caveats
//
// A program that opens the database without waiting for locks can fail during the
// millisecond in which we are the first to open it or the last to close it.
// OpenCode does so when it starts (it sets its busy_timeout too late), and can so
// fail beside another OpenCode; once it runs it waits.
//
// SQLite has no checksums: a flipped bit inside a value is not found, a flipped
// bit in the structure of the file is.
package sqlstore
