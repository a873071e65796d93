// Package txn is the order of things: prepare, begin, commit, finish, discard.
// Repair, undo, redo and a user's decision on a conflict are one call, [Run],
// with other ops; what a crash left is finished by [Recover].
package txn
