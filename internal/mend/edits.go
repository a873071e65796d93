package mend

import (
	"context"
	"errors"

	"mend/change"
	"mend/repair"
)

// ProposeEdits plans the repair of what is broken in a session, as [Store.RepairIf] does, and
// returns it as edits of the next request. It writes nothing. The error wraps [agent.ErrNoEdits] if
// the repair cannot be made in a request.
func (c *Store) ProposeEdits(ctx context.Context, id string, r repair.Request) (result repair.Result, edits []repair.RequestEdit, err error) {
	errPlanned := errors.New("planned")
	_, result, err = c.RepairIf(ctx, change.Head{ID: id}, r, func(context.Context, repair.Result) error { return errPlanned })
	if errors.Is(err, errPlanned) {
		edits, err = c.store.Edits(result.Plan.Ops)
	}
	return result, edits, err
}
