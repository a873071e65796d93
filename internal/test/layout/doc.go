// Package layout has the tests of the tree as a whole: which package may import which, and the
// functions that docs/architecture.md names.
package layout
