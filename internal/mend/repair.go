package mend

import (
	"context"
	"slices"

	"mend/change"
	"mend/journal"
	"mend/repair"
)

// isRepeated reports whether an error of this class was repaired in the session before, by a repair that is
// in force. A provider names one block per error. If only the provider knows the other blocks, the second
// error is a reason to repair all of the kind at once. If the journal cannot be read, isRepeated returns
// false; then it cannot be written either.
func (c *Store) isRepeated(ctx context.Context, id string, e *repair.APIError) bool {
	if e == nil || !repair.OnlyProviderSees(e.Class) {
		return false
	}
	es, _ := c.Log(ctx, journal.Query{Session: id, State: change.Committed})
	return slices.ContainsFunc(es, func(b change.Entry) bool {
		return b.Cause.Kind == change.CauseError && b.UndoneBy == "" && c.ParseAPIError([]byte(b.Cause.Text)).Class == e.Class
	})
}
