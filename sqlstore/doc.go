// Package sqlstore changes rows of an SQLite database, one row per record, while another program, the agent, may have
// it open. A [TableSpec] describes the tables and columns that the package needs.
//
// It may import change, internal/aside, internal/fail, internal/ownfile, internal/processes, internal/salvage,
// internal/sqlite and internal/stage. Read [Store.Commit] and [Store.Settle] first.
//
// Rows are read and restored whole: every column by name, storage class and bytes, including
// columns that are in no spec. Other tables are never written. A database without the tables and
// columns of the specs is refused, and the error lists its tables and columns.
//
// # Reading
//
// Reading changes no byte, except for the marks of readers in a -shm that is in use. While another program has the
// database open ([Store.Held] reports this), SQLite's locks give a consistent view. Otherwise the files, including the
// -wal, are read without locks and without a -shm, and read again if one of them changed meanwhile. This is the usual
// case; some agents leave a -wal when they exit. Both work in a read-only folder.
//
// A damaged file is read as the agent reads it: a read that needs a damaged page fails. A file that SQLite's check of
// all pages finds damaged ([Store.CheckFile]) is never written to.
//
// # Writing
//
// SQLite's own transaction makes a change of rows atomic, so nothing is staged (except for a change
// of a whole database, an archive or a folder, see [Owned]): Prepare compares, Commit compares
// again and writes in one BEGIN IMMEDIATE, Settle compares the rows and never writes one. Foreign
// keys are off on mend's connection, so that no statement touches a row outside the plan; they are
// checked before COMMIT, row by row.
//
// If Settle returns Aborted while an agent is running, it writes one page, unchanged: a writer that
// was killed during its COMMIT may have left the whole transaction in the -wal, invisible, and the
// next recovery would make it visible.
//
// Existing -wal and -shm files stay, and nothing is checkpointed; if there were none, SQLite removes the files that
// mend made when the last connection closes. But if there was a -wal without a -shm, the -shm that mend makes stays.
//
// # Caveats
//
// A program that opens the database without waiting for locks can fail during the millisecond when
// mend is the first to open it or the last to close it.
//
// SQLite has no checksums: a flipped bit inside a value goes unnoticed, a flipped bit in the
// structure of the file does not.
package sqlstore
