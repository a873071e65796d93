package codex

import (
	"context"
	"errors"

	"mend/agent"
	"mend/change"
	"mend/repair"
)

// Space implements [agent.Store].
func (s *store) Space(ctx context.Context, _ func(done, total int64)) (space agent.Space, err error) {
	heads, err := s.List(ctx)
	if err == nil {
		err = space.AddFiles(ctx, s.ID().Root, heads, [][2]string{
			{sessions, agent.Conversations},
			{archived, agent.Conversations},
			{".mend", "kept by mend beside the sessions"},
			{"", "other files of Codex"},
		})
	}
	return space, err
}

// Clean implements [agent.Store]: of a session go the rollout and its row.
func (s *store) Clean(ctx context.Context, r agent.CleanRequest) (agent.Cleaned, error) {
	c := agent.Cleaned{Rows: map[string]int64{}}
	if r.Events {
		return c, errors.ErrUnsupported
	}
	for _, h := range r.Sessions {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		of, _, err := s.newCase(h, repair.Request{})
		if err != nil {
			return c, err
		}
		none := func(func(*change.Record) bool) {}
		p := change.Plan{Session: h.ID, Cause: change.Cause{Title: h.Title, Folder: h.Directory}, Ops: change.Diff(of.Records, none)}
		if err := c.AddPlan(p, r); err != nil {
			return c, err
		}
	}
	return c, nil
}
