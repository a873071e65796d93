package txn

import (
	"context"

	"mend/change"
)

// A Store is where the records are. It writes to them in Commit and Settle and
// nowhere else.
type Store interface {
	// Prepare checks that every record holds its op's Pre and makes every Post
	// durable in a private place. No record changes, and on an error nothing
	// stays. The error is a [*change.ConflictError] if a record holds something
	// else. The Staged that comes back may have more ops than were given: a
	// folder that a new file needs is one of its own.
	Prepare(ctx context.Context, ops []change.Op) (change.Staged, error)
	// Commit puts the Posts in place, durably. On a conflict, a cancelled
	// context or a full disk everything is put back, durably, and the Outcome is
	// Aborted. An error means undecided: leave the entry pending and call Settle.
	Commit(ctx context.Context, s change.Staged) (change.Outcome, error)
	// Settle decides by content alone what became of s, and finishes or reverts
	// it. It may be called at any time and any number of times, and may be cut
	// anywhere. An error means still undecided.
	Settle(ctx context.Context, s change.Staged) (change.Outcome, error)
	// Discard removes what Prepare left. It deletes only bytes that equal a Pre
	// or a Post of s. The zero Staged stands for every change that a crash cut
	// off; all of them must be decided.
	Discard(ctx context.Context, s change.Staged) error
}
