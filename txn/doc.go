// Package txn applies a plan to a store and to the journal in an order that survives a crash at any point: prepare,
// begin, commit, finish, discard. [Run] does this for repairs, undos, redos and decisions on conflicts alike. [Recover]
// finishes what a crash interrupted.
//
// It may import change and journal. Read [Run] and [Recover] first.
//
// # The protocols
//
// Stores change bytes in six ways. Everything in a "before" row is durable before the journal begins the entry.
// "commit" has the calls that make the change. A crash before the first one reverts it, and a kill after the last one
// leaves it in place; in between, "settle" decides. A power cut may revert it until the last call has returned.
// "settle" names the contents that Settle compares; nothing records the progress. "remains" is what a crash can leave
// once the entry is decided; the next Prepare, or a Recover, of the same journal removes all of it except what is kept.
// "cut by" is the test that interrupts the change at each call. Quoted words are calls in the golden list of a whole
// run, which TestProtocols compares.
//
//	files: fsstore, one file per record
//	  before    every Post in .mend/OWNER/N: "stage", "barrier"; "finish" gives the folder its name
//	  commit    "exchange", "place", "take", one for each record, then "barrier" of all their folders
//	  settle    target and staged file of each record; all Posts in place: committed, else each Pre comes back
//	  remains   .mend/OWNER/N with Pres and Posts; .mend/kept with what another program wrote
//	  cut by    fsstore TestContract
//	  steps     txn/testdata/files.steps
//
//	append: linestore, new lines at the end of a file
//	  before    nothing; the entry has size and time of the file
//	  commit    "append", one write, then "barrier"
//	  settle    the lines after the old size; all present: committed, after a replace by the same content if their sync
//	            failed; else a replace removes those that are present
//	  remains   .mend/OWNER/append-SIZE-MTIME, after a failed sync or a replace by Settle
//	  cut by    linestore TestTornAppend
//	  steps     txn/testdata/append.steps
//
//	replace: linestore, a file with other lines
//	  before    the new file in .mend/OWNER/N: "write", "barrier", "name", "barrier"
//	  commit    "exchange", then "barrier"; what another program appended is carried over
//	  settle    the beginning of the file: the new content is committed, the old one is aborted
//	  remains   .mend/OWNER/N with the old or the new file; .mend/kept with what another program wrote
//	  cut by    linestore TestContract
//	  steps     txn/testdata/replace.steps
//
//	rows: sqlstore, rows of a database
//	  before    nothing
//	  commit    "commit" of one transaction with synchronous=FULL that has compared every row
//	  settle    the rows, after a sync of the -wal; if COMMIT failed, Commit has overwritten the transaction there
//	  remains   nothing
//	  cut by    sqlstore TestKillAtEveryStep
//	  steps     txn/testdata/rows.steps
//
//	whole files: internal/aside, files and folders beside a store
//	  before    what was built, in .mend/built, locked by its process
//	  commit    "exchange" of a database after the "move" of what was built to .mend/OWNER, one transaction for an archive
//	            of rows, the last "move" of folders, the "move" of a transcript; then "barrier"
//	  settle    which of the two files is in place; the rows; the places of the folders
//	  remains   the other file in .mend/OWNER, kept until the entry is forgotten
//	  cut by    sqlstore TestExchangeCutAtEveryStep
//	  steps     txn/testdata/whole.steps
//
//	file with row: agent/sessionfile, a file and its row in the agent's index
//	  before    as for files, append or replace; nothing for the row
//	  commit    the file's, then "commit" of the row, which follows the file; then the shown history, which an error leaves
//	  settle    the file first; if it is changed, the row is written; if it is not, the row is reverted
//	  remains   as for the file
//	  cut by    agent/codex TestCrash
//	  steps     txn/testdata/indexed.steps
package txn
