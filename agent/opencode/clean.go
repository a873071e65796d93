package opencode

import (
	"context"
	"errors"
	"path/filepath"

	"mend/agent"
	"mend/agent/opencode/database"
)

// Space implements [agent.Store].
func (s *store) Space(ctx context.Context, progress func(done, total int64)) (space agent.Space, err error) {
	root := s.ID().Root
	if db, ok := s.records.(*database.Store); ok {
		space, err = db.Space(ctx, progress)
	} else if heads, errList := s.List(ctx); errList != nil {
		err = errList
	} else {
		err = space.AddFiles(ctx, root, heads, [][2]string{
			{"session", agent.Conversations},
			{"message", agent.Conversations},
			{"part", agent.Conversations},
			{".mend", "kept by mend beside the sessions"},
			{"", "other records"},
		})
	}
	if data := filepath.Dir(root); err == nil && filepath.Base(data) == "opencode" {
		space.Add("snapshots", agent.FolderSize(filepath.Join(data, "snapshot")), "snapshots")
		for _, folder := range []string{"tool-output", "log"} {
			space.Add("folder "+folder, agent.FolderSize(filepath.Join(data, folder)), "")
		}
	}
	return space, err
}

// Clean implements [agent.Store].
func (s *store) Clean(ctx context.Context, r agent.CleanRequest) (agent.Cleaned, error) {
	if db, ok := s.records.(*database.Store); ok {
		return db.Clean(ctx, r)
	}
	return agent.Cleaned{}, errors.ErrUnsupported
}

// Reclaim implements [agent.Store].
func (s *store) Reclaim(ctx context.Context) (before, after int64, err error) {
	if db, ok := s.records.(*database.Store); ok {
		return db.Reclaim(ctx)
	}
	return 0, 0, nil
}
