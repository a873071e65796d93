// Package layout has the tests of the tree as a whole: the allowed imports of each package, and the functions
// named in docs/architecture.md.
package layout
