// Package storetest is the promises of txn.Store as tests: one suite for both
// stores. A store passes it with
//
//	func TestContract(t *testing.T) { storetest.Run(t, open) }
//
// where open makes a [Harness] around a fresh store.
package storetest

import (
	"context"
	"errors"
	"testing"

	"mend/change"
	"mend/session"
)

// A Store is txn.Store: said once more, so that no store has to import txn.
type Store interface {
	Prepare(ctx context.Context, ops []change.Op) (change.Staged, error)
	Commit(ctx context.Context, s change.Staged) (change.Outcome, error)
	Settle(ctx context.Context, s change.Staged) (change.Outcome, error)
	Discard(ctx context.Context, s change.Staged) error
}

// A Harness is a fresh store that holds one session, the same each time: a
// message with three or more parts, one of them a text part that is not the last,
// and a message without parts. Its functions end the test themselves if they fail.
type Harness struct {
	// Open opens the store as a new process would, with nothing in memory of
	// what was done before. The store tells step of every call that changes
	// the disk, just before it makes it, and does not make it if step returns an
	// error. The number of calls may be as small as one for each method.
	Open func(step func(call string) error) Store
	// Load reads the session.
	Load func() *session.Session
	// Read is what a record holds now, nil if it does not exist.
	Read func(ref session.Ref) *change.Image
	// Snapshot is everything that is stored, by name: the bytes and modes of
	// files and folders, or the columns of rows with their storage classes. It
	// has nothing of what Prepare makes in its private place.
	Snapshot func() map[string]string
	// Leftovers lists what is in that private place.
	Leftovers func() []string
	// Write makes a record hold the image, or removes it for nil, as another
	// program would: without asking anybody. It makes the folder it needs.
	Write func(ref session.Ref, image *change.Image)
}

// A Fault is a step that fails: once, or from then on as if the program had been
// killed there.
type Fault struct {
	At    int  // the call that fails, the first one is 0
	Once  bool // the calls after it are made
	Calls []string
}

// ErrFault is what a call fails with.
var ErrFault = errors.New("a fault of the test")

// Step is the hook for a store.
func (f *Fault) Step(call string) error {
	n := len(f.Calls)
	f.Calls = append(f.Calls, call)
	if n == f.At || n > f.At && !f.Once {
		return ErrFault
	}
	return nil
}

// Hit reports whether the fault has come.
func (f *Fault) Hit() bool { return len(f.Calls) > f.At }

// Run tests one store. open is called often; a store on a disk in memory makes
// the suite fast.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, c *contract)
	}{
		{"Commit", testCommit},
		{"Inverse", testInverse},
		{"PrepareInvalid", testPrepareInvalid},
		{"PrepareConflict", testPrepareConflict},
		{"CommitConflict", testCommitConflict},
		{"Cancel", testCancel},
		{"CrashAtEveryStep", testCrash},
		{"FailAtEveryStep", testFail},
		{"CrashInSettle", testCrashInSettle},
		{"CrashInInverse", testCrashInInverse},
		{"ForeignAfterCrash", testForeignAfterCrash},
		{"SettleAfterDiscard", testSettleAfterDiscard},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, newContract(t, open)) })
	}
}
