package codex

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/change"
	"mend/internal/fail"
	"mend/repair"
)

// Copy implements [agent.Store]: the rollout. Codex makes the rest again from it.
func (s *store) Copy(_ context.Context, head change.Head, _ []change.Mark) (c agent.Copy, err error) {
	of, e, err := s.read(head)
	if err != nil {
		return c, err
	}
	c.Records = []change.Record{of.Plain()}
	c.Messages, c.First = rollout.CountMessages(c.Records[0].Data)
	c.Stamp = s.stamp(head, e)
	return c, nil
}

// Restore implements [agent.Store]. Codex only appends to a rollout: one that begins with what was kept lacks nothing of it, and one with
// which that begins was cut.
func (s *store) Restore(ctx context.Context, head change.Head, kept []change.Op, r agent.RestoreRequest) (agent.Restoration, error) {
	is := agent.Restoration{Session: head.ID}
	i := slices.IndexFunc(kept, func(o change.Op) bool { return o.Ref.Kind == change.KindSession && o.Ref.Session == head.ID })
	if i < 0 {
		return is, fmt.Errorf("restoring session %s: the copy has no rollout", head.ID)
	}
	op := kept[i]
	op.Ref = head.Ref // it may have been archived since
	now, err := s.Read(ctx, []change.Ref{op.Ref})
	if err != nil {
		return is, err
	}
	op.Pre = now[0]
	if op.Pre != nil {
		of, _, err := s.read(head)
		if err != nil {
			return is, err
		}
		plain := of.Plain()
		has, post := plain.Data, op.Post.Data
		if plain.Ref != head.Ref { // it was compressed since
			is.Ops = []change.Op{{Ref: head.Ref, Pre: op.Pre}}
			op.Ref, op.Pre = plain.Ref, nil
		}
		is.Messages, _ = rollout.CountMessages(has)
		cut := len(has) < len(post) && (bytes.HasPrefix(post, has) || len(bytes.Trim(has, "\x00")) == 0)
		switch {
		case bytes.Equal(has, post), !r.Exact && !cut && rollout.Has(has, post):
			is.Ops = nil
			return is, nil
		case cut, r.Exact && (r.Force || rollout.Has(post, has)):
		default:
			return is, fail.New(fail.Refused, "use --at TIME --force to put the copy of that time in the place of what there is", "restoring session %s: it went on otherwise since the copy was made", head.ID)
		}
	}
	is.Messages, _ = rollout.CountMessages(op.Post.Data)
	is.Ops = append(is.Ops, op)
	change.Sort(is.Ops)
	return is, nil
}

// Move implements [agent.Store]: the record of the session, its newest turn and its row in the index name the folder.
func (s *store) Move(ctx context.Context, all []agent.Relocation) (plans []change.Plan, err error) {
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.Head.Directory == r.To {
			continue
		}
		c, _, err := s.newCase(r.Head, repair.Request{})
		var after *rollout.Case
		if err == nil {
			after, err = c.Moved(r.To)
		}
		if err != nil {
			return nil, fmt.Errorf("moving session %s: %w", r.Head.ID, err)
		}
		plans = append(plans, change.Plan{Session: r.Head.ID, Ops: change.Diff(c.Records, after.Records)})
	}
	return plans, nil
}
