package txn

import (
	"context"

	"mend/change"
)

// A Store holds the records. Only Commit and Settle change them.
type Store interface {
	// Prepare checks that every record holds its op's Pre, and durably stages the Posts that the store does not write in
	// one call. No record changes, and after an error nothing is staged. The error is a [*change.ConflictError] if a
	// record has other content. The returned Staged may have additional ops, for folders that new
	// files need.
	Prepare(ctx context.Context, p change.Plan) (change.Staged, error)
	// Commit durably writes the Posts. On a conflict, a cancelled context or a full disk it durably
	// restores every Pre, and the Outcome is Aborted. After an error the outcome is unknown: leave
	// the entry pending and call Settle.
	Commit(ctx context.Context, s change.Staged) (change.Outcome, error)
	// Settle determines from the contents alone how far s came, and finishes or reverts it. It may be called at any
	// time and any number of times, and may be interrupted anywhere. After an error the outcome is still unknown.
	Settle(ctx context.Context, s change.Staged) (change.Outcome, error)
	// Discard removes what Prepare staged. It deletes only bytes that equal a Pre or a Post of s.
	// With the zero Staged it removes everything staged for any change; all outcomes must be known.
	Discard(ctx context.Context, s change.Staged) error
}
