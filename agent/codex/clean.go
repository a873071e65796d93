package codex

import (
	"context"

	"mend/agent"
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
