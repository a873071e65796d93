package opencode

import (
	"context"
	"errors"
	"path/filepath"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/change"
	"mend/internal/jsonedit"
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
	if r.Events {
		return agent.Cleaned{}, errors.ErrUnsupported
	}
	refs, err := s.tree.SessionRefs(ctx, r.Sessions)
	c := agent.Cleaned{Rows: map[string]int64{}}
	for _, h := range r.Sessions {
		if err == nil {
			err = s.cleanSession(ctx, h, refs[h.ID], &c, r)
		}
	}
	return c, err
}

// cleanSession adds the removal of a session of a tree.
func (s *store) cleanSession(ctx context.Context, h change.Head, refs []change.Ref, c *agent.Cleaned, r agent.CleanRequest) error {
	images, err := s.Read(ctx, refs)
	if err != nil {
		return err
	}
	p := change.Plan{Session: h.ID, Cause: change.Cause{Title: h.Title, Folder: h.Directory}}
	for i, image := range images {
		if image != nil {
			p.Ops = append(p.Ops, change.Op{Ref: refs[i], Pre: image})
		}
	}
	if len(images) == 0 || images[0] == nil {
		return nil // it was removed since
	}
	if share, ok := jsonedit.Get(images[0].Data, "share"); ok && string(share) != "null" {
		c.Shared = append(c.Shared, h.ID)
	}
	return c.AddPlan(p, r)
}

// Reclaim implements [agent.Store].
func (s *store) Reclaim(ctx context.Context) (before, after int64, err error) {
	if db, ok := s.records.(*database.Store); ok {
		return db.Reclaim(ctx)
	}
	return 0, 0, nil
}
