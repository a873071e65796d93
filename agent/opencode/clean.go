package opencode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
)

func (s *store) Space(ctx context.Context, progress func(done, total int64)) (space agent.Space, err error) {
	root := s.ID().Root
	if db, ok := s.records.(*database.Store); ok {
		space, err = db.Space(ctx, progress)
	} else {
		space, err = agent.SpaceOf(ctx, s, [][2]string{
			{"session", agent.Conversations},
			{"message", agent.Conversations},
			{"part", agent.Conversations},
			{".mend", "kept by mend beside the sessions"},
			{"", "other records"},
		})
	}
	if data := filepath.Dir(root); err == nil && filepath.Base(data) == s.name {
		space.Add("snapshots", agent.FolderSize(filepath.Join(data, snapshots)), "snapshots")
		for _, folder := range []string{"tool-output", "log"} {
			space.Add("folder "+folder, agent.FolderSize(filepath.Join(data, folder)), "")
		}
	}
	return space, err
}

func (s *store) Clean(ctx context.Context, r agent.CleanRequest) (agent.Cleaned, error) {
	if db, ok := s.records.(*database.Store); ok && r.Snapshots {
		return s.cleanSnapshots(ctx, db)
	} else if ok {
		return db.Clean(ctx, r)
	}
	return r.RemoveFiles(ctx, func(h change.Head, c *agent.Cleaned) ([]change.Op, error) {
		return s.cleanSession(ctx, h, c)
	})
}

// snapshots is the folder with a repository for each project, beside the databases.
const snapshots = "snapshot"

// cleanSnapshots plans to remove the snapshots of projects that have no session in any store of the
// folder.
func (s *store) cleanSnapshots(ctx context.Context, db *database.Store) (c agent.Cleaned, err error) {
	dir := filepath.Dir(s.ID().Root)
	if filepath.Base(dir) != s.name {
		return c, nil // a copy of a database in another folder, which has no snapshots
	}
	projects, err := os.ReadDir(filepath.Join(dir, snapshots))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(projects) == 0 {
		return c, nil
	}
	var used map[string]bool
	if err == nil {
		used, err = s.projectsInUse(ctx)
	}
	if err != nil {
		return c, fmt.Errorf("finding the projects that have sessions: %w", err)
	}
	c.Rows = map[string]int64{}
	var p change.Plan
	for _, e := range projects {
		ref := change.Ref{Kind: change.KindTree, Project: snapshots, Part: e.Name()}
		if used[e.Name()] || !e.IsDir() || ref.Validate() != nil {
			continue
		}
		t, err := db.Tree(ctx, ref)
		if err != nil {
			return c, err
		}
		p.Ops = append(p.Ops, change.Op{Ref: ref, Pre: t.Image})
		c.Rows["file"], c.Content = c.Rows["file"]+t.Files, c.Content+t.Bytes
	}
	if len(p.Ops) > 0 {
		c.Plans = []change.Plan{p}
	}
	return c, nil
}

// projectsInUse returns the projects of the sessions of all stores that keep snapshots in the same folder.
func (s *store) projectsInUse(ctx context.Context) (map[string]bool, error) {
	dir, used := filepath.Dir(s.ID().Root), map[string]bool{}
	home, _ := os.UserHomeDir()
	paths := append(s.databases().Others(dir), filepath.Join(dir, s.name+".db"))
	if data, err := filepath.EvalSymlinks(s.databases().DataDir(os.Getenv, home)); err == nil && data == dir {
		paths = append(paths, s.databases().Find(os.Getenv, home)...)
	}
	for _, path := range paths {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		db, err := database.Open(path, database.Options{Program: s.databases()})
		var heads []change.Head
		if err == nil {
			heads, err = db.List(ctx)
		}
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			used[h.Project] = true
		}
	}
	projects, err := os.ReadDir(filepath.Join(dir, "storage", "session")) // a tree written by 1.1
	for _, p := range projects {
		used[p.Name()] = true
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return used, err
}

// cleanSession returns the ops that remove a session of a tree: its records, messages and parts, and their folders. It
// returns an error if some records cannot be read, because they would stay without their session.
func (s *store) cleanSession(ctx context.Context, h change.Head, c *agent.Cleaned) (ops []change.Op, err error) {
	if h.Ref.Kind == 0 {
		return nil, nil // only messages are left
	}
	copied, err := s.Copy(ctx, h)
	if err != nil {
		return nil, err
	}
	if len(copied.Unread) > 0 {
		return nil, fail.New(fail.Problems, "nothing of it was removed", "removing session %s: not all of it can be read: %s",
			h.ID, copied.UnreadText())
	}
	beside := map[change.Ref]bool{} // records in other projects, and folders
	for _, other := range h.Others {
		beside[other] = true
	}
	for _, r := range copied.Records {
		switch folder := (change.Ref{Kind: change.KindFolder, Session: h.ID}); r.Ref.Kind {
		case change.KindSession:
			if share, ok := jsonedit.Get(r.Data, "share"); ok && string(share) != "null" {
				c.Shared = append(c.Shared, h.ID)
			}
		case change.KindMessage:
			folder.Project = r.Ref.Project
			beside[folder] = true
		case change.KindPart:
			folder.Message = r.Ref.Message
			beside[folder] = true
		default:
			continue // the project and the file changes stay
		}
		ops = append(ops, change.Op{Ref: r.Ref, Pre: change.ImageOf(&r)})
	}
	refs := slices.Collect(maps.Keys(beside))
	images, err := s.Read(ctx, refs)
	for i, image := range images {
		if image != nil {
			ops = append(ops, change.Op{Ref: refs[i], Pre: image})
		}
	}
	return ops, err
}
