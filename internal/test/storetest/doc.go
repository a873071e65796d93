// Package storetest has the tests that every txn.Store must pass, and helpers for these and other tests: faults, folders in
// memory, and child processes with fewer privileges. A store runs the tests with
//
//	func TestContract(t *testing.T) { storetest.Run(t, open) }
//
// where open returns a [Harness] for a new store.
//
// It may import change and internal/jsonedit. Read [Run] and [Harness] first.
package storetest
