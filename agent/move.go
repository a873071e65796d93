package agent

import (
	"context"
	"fmt"

	"mend/change"
)

// PlanMoves plans each relocation that changes something. moved returns what one changes: ops, or none.
func PlanMoves(ctx context.Context, all []Relocation, moved func(Relocation) ([]change.Op, error)) (plans []change.Plan, err error) {
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ops, err := moved(r)
		if err != nil {
			return nil, fmt.Errorf("moving session %s: %w", r.Head.ID, err)
		}
		if len(ops) > 0 {
			plans = append(plans, change.Plan{Session: r.Head.ID, Ops: ops})
		}
	}
	return plans, nil
}
