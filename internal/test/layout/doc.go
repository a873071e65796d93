// Package layout has the tests of the tree as a whole: which package may import which, and the
// names that docs/glossary.md replaced.
package layout
