package claude

import (
	"context"
	"errors"

	"mend/agent"
	"mend/change"
)

// Space implements [agent.Store].
func (s *store) Space(ctx context.Context, _ func(done, total int64)) (space agent.Space, err error) {
	heads, err := s.List(ctx)
	if err == nil {
		err = space.AddFiles(ctx, s.ID().Root, heads, [][2]string{
			{projects, agent.Conversations},
			{"file-history", "copies of edited files, for rewind"},
			{".mend", "kept by mend beside the sessions"},
			{"", "other files of Claude Code"},
		})
	}
	return space, err
}

// Clean implements [agent.Store]: of a session go the transcript, and the folder beside it with those of its subagents.
func (s *store) Clean(ctx context.Context, r agent.CleanRequest) (agent.Cleaned, error) {
	c := agent.Cleaned{Rows: map[string]int64{}}
	if r.Events || r.Snapshots {
		return c, errors.ErrUnsupported
	}
	for _, h := range r.Sessions {
		if h.Parent != "" {
			continue // it goes with that
		}
		if err := ctx.Err(); err != nil {
			return c, err
		}
		e, err := s.Load(h.Ref, nil)
		if err != nil {
			return c, err
		}
		beside, err := s.moveFolder(h.Project, h.Project, h.ID)
		if err != nil {
			return c, err
		}
		p := change.Plan{Session: h.ID, Cause: change.Cause{Title: h.Title, Folder: h.Directory}, Ops: []change.Op{{Ref: h.Ref, Pre: &change.Image{Data: e.Data, Mode: e.Mode.Perm()}}}}
		for _, o := range beside {
			if o.Pre != nil { // the others create them elsewhere
				p.Ops = append(p.Ops, o)
			}
		}
		if err := c.AddPlan(p, r); err != nil {
			return c, err
		}
	}
	return c, nil
}
