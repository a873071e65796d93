// Package layout has the tests of the tree as a whole: the allowed imports of each package, the API of the library
// without internal types, and the functions and files named in docs/architecture.md.
package layout
