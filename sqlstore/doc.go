// Package sqlstore changes rows of an SQLite database in WAL mode, one row per record,
// that another program, the agent, may have open. A [TableSpec] says what it must know of
// a table.
//
// Rows are read and restored whole: every column by name, storage class and bytes, also
// columns that are in no spec. Other tables are never written. A database without the
// tables and columns of the specs is refused, with what was found.
//
// # Reading
//
// Reading changes no byte, except for the marks of readers in a -shm that is in use.
// While another program has the database open, SQLite's locks give a consistent view
// ([Store.Held] finds out). Otherwise the files are read without locks and without a
// -shm, including the -wal, and read again if one of them changed meanwhile. That is
// the usual case, also with a -wal, which some agents leave when they exit. Both work in
// a read-only folder.
//
// Where that meets a damaged page, the file is read once more with indexes that are made
// again in memory: a damaged index loses no row. Nothing is written to a file that SQLite's
// check of all pages finds damaged ([Store.CheckFile]).
//
// # Writing
//
// SQLite's own transaction makes a change of rows atomic, so nothing is staged for it
// (what a change of a whole database, an archive or a folder has beside it: [Owned]): Prepare
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
// # Caveats
//
// A program that opens the database without waiting for locks can fail during the
// millisecond in which we are the first to open it or the last to close it.
//
// SQLite has no checksums: a flipped bit inside a value is not found, a flipped
// bit in the structure of the file is.
package sqlstore
