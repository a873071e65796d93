// Package layout has the tests of the tree as a whole: each package imports what its package doc names, the API of the
// library has no internal types, no function is named by a preposition, and the functions, files and tests that pages
// name exist. What tests import is not checked.
//
// It imports nothing of mend.
package layout
