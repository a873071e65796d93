package claude

import (
	"context"
	"slices"

	"mend/agent"
	"mend/change"
)

func (s *store) Space(ctx context.Context, _ func(done, total int64)) (agent.Space, error) {
	return agent.SpaceOf(ctx, s, [][2]string{
		{projects, agent.Conversations},
		{"file-history", "copies of edited files, for rewind"},
		{".mend", "kept by mend beside the sessions"},
		{"", "other files of Claude Code"},
	})
}

// Clean implements [agent.Store]. It removes a session's transcript, and the folder beside it, which has the
// transcripts of the session's subagents.
func (s *store) Clean(ctx context.Context, r agent.CleanRequest) (agent.Cleaned, error) {
	return r.RemoveFiles(ctx, func(h change.Head, _ *agent.Cleaned) ([]change.Op, error) {
		if h.Parent != "" {
			return nil, nil // it is removed together with its session
		}
		e, err := s.Load(h.Ref)
		if err != nil {
			return nil, err
		}
		files, err := s.moveFolder(h.Project, h.Project, h.ID)
		files = slices.DeleteFunc(files, func(o change.Op) bool { return o.Pre == nil }) // the ops that create them elsewhere
		return append(files, change.Op{Ref: h.Ref, Pre: &change.Image{Data: e.Data, Mode: e.Mode.Perm()}}), err
	})
}
