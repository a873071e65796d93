package codex

import (
	"context"

	"mend/agent"
	"mend/change"
	"mend/repair"
)

// Space implements [agent.Store].
func (s *store) Space(ctx context.Context, _ func(done, total int64)) (agent.Space, error) {
	return agent.SpaceOf(ctx, s, [][2]string{
		{sessions, agent.Conversations},
		{archived, agent.Conversations},
		{".mend", "kept by mend beside the sessions"},
		{"", "other files of Codex"},
	})
}

// Clean implements [agent.Store]: of a session go the rollout and its row.
func (s *store) Clean(ctx context.Context, r agent.CleanRequest) (agent.Cleaned, error) {
	return r.RemoveFiles(ctx, func(h change.Head, _ *agent.Cleaned) ([]change.Op, error) {
		c, _, err := s.newCase(h, repair.Request{})
		if err != nil {
			return nil, err
		}
		return change.Diff(c.Records, func(func(*change.Record) bool) {}), nil
	})
}
