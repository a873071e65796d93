// Package txn applies a plan to a store and to the journal in the order that survives a
// crash at any point: prepare, begin, commit, finish, discard. [Run] does this for a
// repair, an undo, a redo and a decision on a conflict alike. [Recover] finishes what a
// crash interrupted.
package txn
