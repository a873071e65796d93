package agent

import (
	"context"
	"fmt"

	"mend/change"
)

// PlanMoves plans each relocation that changes something, and calls each with the plan. moved returns the ops
// of one relocation.
func PlanMoves(ctx context.Context, all []Relocation, each func(change.Plan) error,
	moved func(Relocation) ([]change.Op, error),
) error {
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		ops, err := moved(r)
		if err != nil {
			return fmt.Errorf("moving session %s: %w", r.Head.ID, err)
		}
		if len(ops) == 0 {
			continue
		}
		if err := each(change.Plan{Session: r.Head.ID, Ops: ops}); err != nil {
			return err
		}
	}
	return nil
}
