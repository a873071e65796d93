package codex

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

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
	if of.Torn {
		c.Unread = "the end of the compressed rollout"
	}
	c.Stamp = s.stamp(head, e)
	return c, nil
}

// Lacks implements [agent.Reader]. Codex only appends to a rollout: to take a turn back it writes a line more.
func (*store) Lacks(now, then []change.Record, edited map[change.Ref]bool) (lack agent.Lack) {
	var data []byte
	for _, r := range now {
		data = append(data, r.Data...)
	}
	for _, r := range then {
		records, messages := rollout.Lacks(data, r.Data, edited[r.Ref.WithoutProject()])
		lack.Records, lack.Messages = lack.Records+records, lack.Messages+messages
		if rollout.HasLostID(data, r.Data) {
			lack.Records++
		}
	}
	return lack
}

// Restore implements [agent.Store]. What the session has gained since stays behind what was kept, unless an exact state is wanted.
func (s *store) Restore(ctx context.Context, head change.Head, kept []change.Op, r agent.RestoreRequest) (agent.Restoration, error) {
	is := agent.Restoration{Session: head.ID}
	i := slices.IndexFunc(kept, func(o change.Op) bool { return o.Ref.Kind == change.KindSession && o.Ref.Session == head.ID })
	if i < 0 {
		return is, fmt.Errorf("restoring session %s: the copy has no rollout", head.ID)
	}
	now, err := s.Read(ctx, []change.Ref{head.Ref})
	if err != nil {
		return is, err
	}
	p, _ := pathOf(head.Ref.Project) // it may have been archived, or compressed, since
	op := change.Op{Ref: refOf(strings.TrimSuffix(p, rollout.Compressed), head.ID), Post: kept[i].Post}
	if now[0] != nil {
		of, _, err := s.read(head)
		if err != nil {
			return is, err
		}
		has, post := of.Plain().Data, op.Post.Data
		is.Messages, _ = rollout.CountMessages(has)
		lost, _ := rollout.Lacks(has, post, r.Edited[head.Ref.WithoutProject()])
		gained, _ := rollout.Lacks(post, has, false)
		cut := len(has) < len(post) && bytes.HasPrefix(post, has)
		switch {
		case bytes.Equal(has, post), !r.Exact && lost == 0 && !cut && !rollout.HasLostID(has, post):
			return is, nil
		case r.Exact && gained > 0 && !r.Force:
			return is, fail.New(fail.Refused, "use --at TIME --force to put the copy of that time in the place of what there is", "restoring session %s: it went on otherwise since the copy was made", head.ID)
		case !r.Exact:
			joined, err := rollout.Joined(post, has, head.ID)
			if err != nil {
				return is, err
			}
			is.Joined = len(joined) > len(post)
			op.Post = &change.Image{Data: joined, Mode: op.Post.Mode}
		}
		if op.Ref == head.Ref {
			op.Pre = now[0]
		} else {
			is.Ops = []change.Op{{Ref: head.Ref, Pre: now[0]}}
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
