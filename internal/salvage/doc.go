// Package salvage reads an SQLite database that SQLite calls malformed, page by page, and writes the rows that it finds
// into a new one.
//
// It may import change, internal/fail and internal/sqlite. Read [Read] and [Create] first.
//
// The file is hostile input and is only read: every offset, size and page number is checked, no page is
// visited twice on one path, and the work is linear in the size of the file. A page with unreadable bytes, for
// example because the disk reports an error, counts as damaged. Frames of the -wal count as in SQLite, unless
// the file is sound without them and damaged with them: then they belong to another database.
//
// # Which rows are written
//
// A row is written if the tree of its table leads to its page and the page has only rowids that belong there.
// Any other row on a page that looks like a leaf (its tree is broken above it, two pages are swapped, a
// pointer within a page is wrong) is written if an index has its rowid with the same values and no such row
// was found before. If no index of its table is complete, it is written unless its page is free: free pages
// hold the rows that were deleted. So a damaged freelist brings no deleted row back.
//
// Index entries without a row are the lost rows.
package salvage
