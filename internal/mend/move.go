package mend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/place"
	"mend/repair"
)

// A Move assigns the sessions of a folder in one store to another folder.
type Move struct {
	Sessions []agent.Relocation // the sessions to move, each with its new folder
	Stay     []change.Head      // the sessions of a new folder at the old path
	Unread   error              // sessions of the folder may be missing, see [Store.checkListed]
	Plans    int                // the number of plans; 0 if all sessions already belong to their new folder
	Going    int                // the number of plans that move a session

	// Each makes the plans one at a time and calls f with each, so that only one is in memory.
	Each func(ctx context.Context, f func(change.Plan) error) error
}

// ProposeMove plans to assign the sessions of a folder, and of its subfolders, to another one. It only reads:
// [Store.Apply] applies the plans of Each, after [Journal.Join]. A subfolder maps to the same path below the
// new folder, or to the nearest parent that exists. If the old folder was created again after some of the
// sessions began, the later ones stay. The error wraps [repair.ErrBusy] if an agent uses one of them and
// force is not set.
func (c *Store) ProposeMove(ctx context.Context, from, to string, force bool) (m Move, err error) {
	m.Each = func(context.Context, func(change.Plan) error) error { return nil }
	to = filepath.Clean(to)
	if !utf8.ValidString(to) { // the agents would read another name
		return m, fail.New(fail.Usage, "rename the folder", "the name of %q is not UTF-8, so no agent can store it", to)
	}
	seen := c.newestEvent()
	c.store.Refresh() // forget which processes ran earlier
	if err := c.Changeable(ctx); err != nil {
		return m, err
	}
	heads, err := c.Sessions(ctx)
	if err != nil {
		return m, err
	}
	m.Unread = c.checkListed(heads)
	olds := aliases(from)
	for _, h := range heads {
		for _, old := range olds {
			if rest, in := relativePath(old, h.Directory); in && !isBelow(old, to, h.Directory) {
				m.Sessions = append(m.Sessions, agent.Relocation{Head: h, To: nearest(to, rest)})
				break
			}
		}
	}
	m.leave(place.BirthTime(from))
	if len(m.Sessions) == 0 {
		return m, nil
	}
	for _, r := range m.Sessions {
		if why := c.whyBusy(ctx, r.Head); why != "" && !force {
			return m, fmt.Errorf("moving session %s: %w: %s", r.Head.ID, repair.ErrBusy, why)
		}
	}
	at := make(map[string]int, len(m.Sessions))
	for i, r := range m.Sessions {
		at[r.Head.ID] = i
	}
	sessions := m.Sessions
	m.Each = func(ctx context.Context, f func(change.Plan) error) error {
		return c.store.Move(ctx, sessions, func(p change.Plan) error {
			p.Cause = change.Cause{Kind: change.CauseMove, Text: to, Folder: from, Title: "the project of " + to}
			p.Seen, p.Force = seen, force
			if i, found := at[p.Session]; found {
				p.Cause.Title, p.Cause.Folder, p.Cause.Text = sessions[i].Head.Title, sessions[i].Head.Directory, sessions[i].To
			}
			return f(p)
		})
	}
	err = c.store.Move(ctx, sessions, func(p change.Plan) error {
		m.Plans++
		if p.Session != change.NoSession {
			m.Going++
		}
		return c.checkLinks(ctx, p)
	})
	if errors.Is(err, errors.ErrUnsupported) {
		err = fail.New(fail.Refused, "", "moving sessions of %s: %w", c.agent, err)
	}
	return m, err
}

// whyBusy returns the reason why a session counts as in use, "" if it does not. A session that cannot be read
// is not in use.
func (c *Store) whyBusy(ctx context.Context, head change.Head) string {
	if !c.store.Busy(ctx, head, true) { // no need to read it
		return ""
	}
	s, err := c.store.Case(ctx, head, repair.Request{Options: c.repairOptions()})
	if err != nil {
		return ""
	}
	return s.Busy
}

// leave excludes the sessions that began after the old folder was created again, if there are also older ones.
func (m *Move) leave(born time.Time) {
	later := func(r agent.Relocation) bool {
		return !born.IsZero() && time.UnixMilli(r.Head.Created).After(born)
	}
	if !slices.ContainsFunc(m.Sessions, func(r agent.Relocation) bool { return !later(r) }) {
		return
	}
	m.Sessions = slices.DeleteFunc(m.Sessions, func(r agent.Relocation) bool {
		if later(r) {
			m.Stay = append(m.Stay, r.Head)
		}
		return later(r)
	})
}

// relativePath returns the path relative to a folder, and whether it is the folder or below it.
func relativePath(folder, path string) (rest string, in bool) {
	if path == "" || !filepath.IsAbs(path) {
		return "", false
	}
	rest, err := filepath.Rel(folder, filepath.Clean(path))
	return rest, err == nil && filepath.IsLocal(rest)
}

// isBelow reports whether the new folder is below the old one, and the path is already in the new folder.
func isBelow(from, to, path string) bool {
	_, nested := relativePath(from, to)
	_, in := relativePath(to, path)
	return nested && in
}

// nearest returns the folder to/rest, or its nearest parent that exists.
func nearest(to, rest string) string {
	for at := filepath.Join(to, rest); ; at = filepath.Dir(at) {
		if at == to || !place.Gone(at) {
			return at
		}
	}
}

// A GoneFolder is a missing folder of sessions.
type GoneFolder struct {
	Folder    string
	Sessions  int // of the folder and its subfolders
	Newest    int64
	Proposals place.Candidates // possible new folders, best first
}

// aliases returns the paths under which agents may have stored a folder: as given, and with links resolved.
func aliases(folder string) []string {
	folder = filepath.Clean(folder)
	for above := filepath.Dir(folder); ; above = filepath.Dir(above) {
		real, err := filepath.EvalSymlinks(above)
		switch {
		case err == nil && real != above:
			return []string{folder, filepath.Join(real, strings.TrimPrefix(folder, above))}
		case err == nil || above == filepath.Dir(above):
			return []string{folder}
		}
	}
}

// A storeSession is a session with the index of its store.
type storeSession struct {
	change.Head
	store int
}

// homelessSessions returns the sessions of all stores without their folders, and for each folder of a session whether
// it is missing.
func homelessSessions(ctx context.Context, stores []*Store) (gone []storeSession, isGone map[string]bool, unread []error) {
	isGone = map[string]bool{}
	for i, c := range stores {
		heads, err := c.Sessions(ctx)
		if err = cmp.Or(err, c.checkListed(heads)); err != nil {
			unread = append(unread, err)
		}
		for _, h := range heads {
			if h.Directory = folderOf(h); !filepath.IsAbs(h.Directory) {
				continue
			}
			if _, known := isGone[h.Directory]; !known {
				isGone[h.Directory] = place.Gone(h.Directory)
			}
			if isGone[h.Directory] {
				gone = append(gone, storeSession{h, i})
			}
		}
	}
	return gone, isGone, unread
}

// GoneFolders lists the missing folders of the sessions of all stores, the last used first. A folder below
// another missing one is part of it. here is the user's current folder. unread has the errors of stores that
// cannot be read, and of sessions that may be missing.
func GoneFolders(ctx context.Context, stores []*Store, here string) (all []GoneFolder, unread []error) {
	type project struct {
		id    string
		store int
	}
	gone, isGone, unread := homelessSessions(ctx, stores)
	var known []string
	for folder, gone := range isGone {
		if !gone {
			known = append(known, folder)
		}
	}
	slices.Sort(known)
	// subfolders sort directly after their folder
	inOrder := func(folder string) string { return strings.ReplaceAll(folder, string(filepath.Separator), "\x00") }
	slices.SortStableFunc(gone, func(a, b storeSession) int {
		return strings.Compare(inOrder(a.Directory), inOrder(b.Directory))
	})
	var finder place.Finder
	for len(gone) > 0 && ctx.Err() == nil {
		f := GoneFolder{Folder: gone[0].Directory}
		var projects []storeSession // a session of each project, the newest of the topmost folder
		seen := map[project]bool{}
		for _, s := range gone {
			if _, in := relativePath(f.Folder, s.Directory); !in {
				break
			}
			f.Sessions++
			f.Newest = max(f.Newest, s.Updated, s.Created)
			if key := (project{s.Project, s.store}); !seen[key] {
				seen[key], projects = true, append(projects, s)
			}
		}
		gone = gone[f.Sessions:]
		isSame := func(ctx context.Context, worktree string) int {
			for _, s := range projects {
				if stores[s.store].store.SameRepository(ctx, s.Head, worktree) {
					return len(stores) - s.store // the first agent's sessions rank highest
				}
			}
			return 0
		}
		f.Proposals = finder.Find(ctx, f.Folder, place.Search{Here: here, Known: known, Same: isSame})
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b GoneFolder) int { return cmp.Compare(b.Newest, a.Newest) })
	return all, unread
}
