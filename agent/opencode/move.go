package opencode

import (
	"context"
	"crypto/sha1" //nolint:gosec // the agent derives ids with it
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/git"
	"mend/internal/jsonedit"
	"mend/internal/place"
	"mend/repair"
)

// A project is the agent's project for a folder that it is started in.
type project struct {
	id       string
	worktree string // its top folder; "/" outside of a repository
	inGit    bool
}

// remoteVersion is the last observed version that identifies a repository only by its root commit. 1.15.13 prefers the
// address of the remote origin.
const remoteVersion = "v1.15.4"

// projectAt returns the agent's project for a folder. Like the agent, it prefers the id that is stored in the
// repository; a newer version takes over the sessions from there.
func projectAt(ctx context.Context, folder, version string) (project, error) {
	repo, found, err := git.Find(folder)
	if err != nil || !found {
		return project{id: record.GlobalProject, worktree: filepath.VolumeName(folder) + string(filepath.Separator)}, err
	}
	p := project{worktree: repo.Worktree, inGit: true}
	if p.id = readID(filepath.Join(repo.Common, "opencode")); p.id != "" {
		return p, nil
	}
	if semver.Compare("v"+version, remoteVersion) > 0 {
		origin, err := repo.Origin(ctx)
		if p.id = remoteID(origin); err != nil || p.id != "" {
			return p, err
		}
	}
	roots, err := repo.Roots(ctx)
	if p.id = record.GlobalProject; len(roots) > 0 {
		p.id = roots[0]
	}
	return p, err
}

var scpForm = regexp.MustCompile(`^(?:[^@/:]+@)?([^/:]+):(.+)$`)

// remoteID returns the id that the agent derives from a remote's address, "" if it uses none.
func remoteID(address string) string {
	host, path := "", ""
	if u, err := url.Parse(address); err == nil && u.Scheme == "file" {
		return ""
	} else if err == nil && u.Scheme != "" {
		host, path = u.Hostname(), u.EscapedPath()
	} else if m := scpForm.FindStringSubmatch(address); m != nil {
		host, path = m[1], m[2]
	}
	path = strings.TrimLeft(path, "/")
	path = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git"), "/")
	if host == "" || path == "" {
		return ""
	}
	sum := sha1.Sum([]byte("git-remote:" + strings.ToLower(host) + "/" + path)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// SameRepository implements [agent.Store]: the id of a project is derived from a commit or a remote.
func (s *store) SameRepository(ctx context.Context, head change.Head, folder string) bool {
	repo, found, err := git.Find(folder)
	if err != nil || !found || head.Project == "" || head.Project == record.GlobalProject {
		return false
	}
	return slices.Contains(s.idsOf(ctx, repo), head.Project)
}

// idsOf returns the possible project ids of a repository. git is called once for each repository until the next
// Refresh.
func (s *store) idsOf(ctx context.Context, repo git.Repository) []string {
	cached := &s.cache.Load().ids
	if ids, ok := cached.Load(repo); ok {
		return ids.([]string)
	}
	ids := []string{readID(filepath.Join(repo.Common, s.name))}
	if origin, err := repo.Origin(ctx); err == nil {
		ids = append(ids, remoteID(origin))
	}
	if roots, err := repo.Roots(ctx); err == nil {
		ids = append(ids, roots...)
	}
	if ctx.Err() == nil {
		cached.Store(repo, ids)
	}
	return ids
}

// places has the possible new locations of a missing folder.
type places struct {
	all     []string // where it may be now, best first
	certain bool     // only the first has the same repository, and it is the same project
}

// placesOf returns where the missing folder of a session may be now.
func (s *store) placesOf(ctx context.Context, head change.Head) ([]string, bool) {
	key, c := [2]string{head.Directory, head.Project}, s.cache.Load()
	if p, ok := c.places.Load(key); ok {
		return p.(places).all, p.(places).certain
	}
	var known []string
	heads, err := s.List(ctx)
	if err != nil {
		return nil, false
	}
	for _, h := range heads {
		if h.Directory != "" {
			known = append(known, h.Directory)
		}
	}
	found := c.finder.Find(ctx, head.Directory,
		place.Search{Known: known, Same: func(ctx context.Context, worktree string) int {
			if s.SameRepository(ctx, head, worktree) {
				return 1
			}
			return 0
		}})
	var p places
	for _, folder := range found.All {
		p.all = append(p.all, folder.Path)
	}
	if found.Certain() {
		now, err := projectAt(ctx, p.all[0], repair.NewestVersion(heads))
		p.certain = err == nil && now.id == head.Project
	}
	c.places.Store(key, p)
	return p.all, p.certain
}

func (s *store) Move(ctx context.Context, all []agent.Relocation, each func(change.Plan) error) error {
	db, isDatabase := s.records.(*database.Store)
	heads, err := s.List(ctx)
	if err != nil {
		return err
	}
	version := repair.NewestVersion(heads)
	projects, known := map[string]project{}, map[string]bool{}
	return agent.PlanMoves(ctx, all, each, func(r agent.Relocation) ([]change.Op, error) {
		p, ok := projects[r.To]
		if !ok {
			if p, err = projectAt(ctx, r.To, version); err != nil {
				return nil, fail.WithHint(fmt.Errorf("finding the project of %s: %w", r.To, err),
					"start OpenCode once in that folder, then try again")
			}
			projects[r.To] = p
		}
		now, err := s.Read(ctx, []change.Ref{r.Head.Ref})
		if err != nil {
			return nil, err
		}
		ops, err := movedRecord(r.Head.Ref, now[0], r.To, p, isDatabase)
		if err != nil || len(ops) == 0 || !isDatabase || known[p.id] {
			return ops, err
		}
		known[p.id] = true
		row, err := newProject(ctx, db, p, r.Head)
		if err == nil && row.Post != nil {
			err = each(change.Plan{Session: change.NoSession, Ops: []change.Op{row}})
		}
		return ops, err
	})
}

// movedRecord returns the ops that move a session's own record to another folder; none if the session is already there.
func movedRecord(ref change.Ref, now *change.Image, folder string, p project, isRow bool) ([]change.Op, error) {
	if now == nil {
		return nil, errors.New("it has no data of its own")
	}
	move := movedFile
	if isRow {
		move = movedRow
	}
	to, post, err := move(ref, now, folder, p)
	switch {
	case err != nil || to == ref && now.Equal(post):
		return nil, err
	case to == ref:
		return []change.Op{{Ref: ref, Pre: now, Post: post}}, nil
	}
	return []change.Op{{Ref: to, Post: post}, {Ref: ref, Pre: now}}, nil
}

// movedRow returns the ref and the image of a session's row in another folder.
func movedRow(ref change.Ref, now *change.Image, folder string, p project) (change.Ref, *change.Image, error) {
	row, err := change.RowOf(ref, now)
	if err != nil {
		return ref, nil, err
	}
	row = row.WithCol(change.TextCol("directory", folder)).WithCol(change.TextCol("project_id", p.id))
	if c, ok := row.Col("path"); ok && c.Class != change.ClassNull {
		below, err := filepath.Rel(p.worktree, folder)
		if err != nil {
			return ref, nil, err
		}
		if below == "." {
			below = ""
		}
		row = row.WithCol(change.TextCol("path", filepath.ToSlash(below)))
	}
	return ref, change.ImageOf(&row), nil
}

// movedFile is movedRow for a session's file. It also changes the path, because the file is in the folder of its
// project.
func movedFile(ref change.Ref, now *change.Image, folder string, p project) (change.Ref, *change.Image, error) {
	data, err := jsonedit.Set(now.Data, jsonedit.Quote(folder), "directory")
	if err == nil && ref.Project != p.id {
		data, err = jsonedit.Set(data, jsonedit.Quote(p.id), "projectID")
	}
	ref.Project = p.id
	return ref, &change.Image{Data: data, Mode: now.Mode}, err
}

// newProject returns the op that creates a project's row as the agent would, with the times of the session. If the row
// exists, the op has no Post.
func newProject(ctx context.Context, db *database.Store, p project, head change.Head) (change.Op, error) {
	ref := change.Ref{Kind: change.KindProject, Project: p.id}
	now, err := db.Read(ctx, []change.Ref{ref})
	if err != nil || now[0] != nil {
		return change.Op{Ref: ref}, err
	}
	row, err := db.NewProject(ctx, p.id, p.worktree, p.inGit, head)
	return change.Op{Ref: ref, Post: change.ImageOf(&row)}, err
}
