// Package storetest has the tests that every txn.Store must pass. A store runs them with
//
// It may import change and internal/jsonedit. Read [Run] and [Harness] first.
//
//	func TestContract(t *testing.T) { storetest.Run(t, open) }
//
// where open returns a [Harness] for a new store. It also has what these and other tests
// need: faults, folders in memory, and child processes with fewer rights.
package storetest
