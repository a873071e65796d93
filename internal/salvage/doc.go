// Package salvage reads an SQLite database that SQLite calls malformed, page by page, and writes the rows
// that it finds into a new one.
//
// The file is hostile input and is only read: every offset, size and page number is checked, no page is
// visited twice on one way, and the work is linear in the size of the file. What cannot be read, also because
// the disk reports an error, counts as a damaged page. Frames of the -wal count as SQLite counts them, except
// where the file is whole without them and damaged with them: then they belong to another database.
//
// # Which rows are there
//
// A row counts as there if the tree of its table leads to its page and the page holds only rowids that belong
// at that place. Any other row on a page that looks like a leaf (its tree is broken above it, two pages are
// swapped, a pointer within a page is wrong) counts if an index has its rowid with the same values and no such
// row was found before. If no index of its table is whole, it counts unless its page is free: free pages hold
// the rows that were deleted. So a damaged freelist brings no deleted row back.
//
// Entries of indexes without a row are the rows that are lost.
package salvage
