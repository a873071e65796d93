package mend

import (
	"context"
	"slices"

	"mend/change"
	"mend/journal"
	"mend/repair"
)

// isRepeated reports whether an error of this class was repaired in the session before, by a repair that is in force.
// A provider names one block per error; a second error that only the provider can judge is a reason to repair all of
// its kind. isRepeated returns false for an unreadable journal, which cannot be written either.
func (c *Store) isRepeated(ctx context.Context, id string, e *repair.APIError) bool {
	if e == nil || !repair.OnlyProviderSees(e.Class) {
		return false
	}
	es, _ := c.Log(ctx, journal.Query{Session: id, State: change.Committed})
	return slices.ContainsFunc(es, func(b change.Entry) bool {
		return b.Cause.Kind == change.CauseError && b.UndoneBy == "" && c.ParseAPIError([]byte(b.Cause.Text)).Class == e.Class
	})
}
