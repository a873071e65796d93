// Package layout has the tests of the source tree as a whole: each package imports the packages that its package doc names,
// the API of the library has no internal types, no function is named by a preposition, and the functions, files and tests
// that pages name exist. Imports of tests are not checked.
//
// It imports nothing of mend.
package layout
