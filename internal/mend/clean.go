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

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/repair"
)

// A SessionSize is a session with its size.
type SessionSize struct {
	*change.Head
	agent.SessionSpace
}

// Space returns the parts of the store by size and the sessions by size, the largest first. A session without
// a record of its own has only its id.
func (c *Store) Space(
	ctx context.Context, progress func(done, total int64),
) (parts []agent.SpacePart, sessions []SessionSize, err error) {
	space, err := c.store.Space(ctx, progress)
	if errors.Is(err, errors.ErrUnsupported) {
		err = fail.New(fail.Refused, "", "measuring the store of %s: %w", c.agent, err)
	}
	if err != nil {
		return nil, nil, err
	}
	heads, err := c.Sessions(ctx)
	for i := range heads {
		h := &heads[i]
		if one := space.Sessions[h.ID]; one != nil {
			sessions = append(sessions, SessionSize{h, *one})
			delete(space.Sessions, h.ID)
		}
	}
	for id, one := range space.Sessions {
		sessions = append(sessions, SessionSize{&change.Head{ID: id}, *one})
	}
	slices.SortFunc(sessions, func(a, b SessionSize) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), strings.Compare(a.ID, b.ID))
	})
	return space.Parts, sessions, err
}

// ProposeClean plans to remove data from the store to make room. what names the data in one word. The caller must
// always call Discard. The error names the processes that have the store's database open. It wraps [repair.ErrBusy] if
// an agent uses one of the sessions, and [errors.ErrUnsupported] if the store has no such data.
func (c *Store) ProposeClean(ctx context.Context, what string, r agent.CleanRequest) (agent.Cleaned, error) {
	if err := c.Changeable(ctx); err != nil {
		return agent.Cleaned{}, err
	}
	seen := c.newestEvent()
	if !r.DryRun {
		if err := c.store.CheckFree(ctx); err != nil {
			return agent.Cleaned{}, err
		}
	}
	var err error
	for _, h := range r.Sessions {
		if h.Ref.Kind != change.KindSession {
			err = fail.New(fail.Refused, `"mend restore" brings it back if it was kept`, "session %s has no data of its own",
				h.ID)
		} else if c.ID().Kind != "sqlite" { // no process has the database open, so no session is in use
			if why := c.whyBusy(ctx, h); why != "" {
				err = fmt.Errorf("removing session %s: %w: %s", h.ID, repair.ErrBusy, why)
			}
		}
		if err != nil {
			return agent.Cleaned{}, err
		}
	}
	if err := c.checkForks(ctx, r.Sessions); err != nil {
		return agent.Cleaned{}, err
	}
	complete := func(p *change.Plan) error {
		p.Cause.Kind, p.Cause.Text = change.CauseClean, what
		p.Seen, p.AgentVersion = seen, c.agentVersion()
		if p.Session == "" {
			p.Cause.Title, p.Cause.Folder = filepath.Base(c.ID().Root), filepath.Dir(c.ID().Root)
		}
		return c.checkLinks(ctx, *p)
	}
	if each := r.Each; each != nil {
		r.Each = func(p change.Plan) error {
			if err := complete(&p); err != nil {
				return err
			}
			return each(p)
		}
	}
	found, err := c.store.Clean(ctx, r)
	for i := range found.Plans {
		err = errors.Join(err, complete(&found.Plans[i]))
	}
	return found, err
}

// checkForks returns an error if a session that stays was forked from one of the sessions to remove.
func (c *Store) checkForks(ctx context.Context, removed []change.Head) error {
	if len(removed) == 0 {
		return nil
	}
	heads, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	for base, fork := range openForks(removed, heads) {
		err = errors.Join(err, fail.New(fail.Refused,
			fmt.Sprintf("nothing was changed. Remove both, or neither: mend clean sessions %s %s", base, fork),
			"removing session %s: the session %s was forked from it, and needs it", base, fork))
	}
	return err
}

// openForks returns the removed sessions that a session which stays was forked from, each with one such fork.
func openForks(removed, heads []change.Head) map[string]string {
	gone, open := map[string]bool{}, map[string]string{}
	for _, h := range removed {
		gone[h.ID] = true
	}
	for _, h := range heads {
		if gone[h.Base] && !gone[h.ID] {
			open[h.Base] = h.ID
		}
	}
	return open
}

// Reclaim gives free pages of the store's database back to the file system.
func (c *Store) Reclaim(ctx context.Context) (before, after int64, err error) {
	if err := c.Changeable(ctx); err != nil {
		return 0, 0, err
	}
	return c.store.Reclaim(ctx)
}

// A Selection selects sessions to remove: the named ones, or those that match both other fields.
type Selection struct {
	Named  []change.Head
	Before time.Time // sessions not used since then; the zero time: all
	Folder string    // sessions of this folder or below it; "" for all
}

// Select returns the selected sessions of the store, each followed by its subagents. A use of a subagent is a use of
// its session. A subagent's session is only selected with its parent, unless it is named. A session that another one
// was forked from is only selected with that fork, unless it is named. stay is the number of sessions that are not
// selected only because of a later use of a subagent or such a fork.
func (c *Store) Select(ctx context.Context, s Selection) (selected []change.Head, stay int, err error) {
	heads, err := c.Sessions(ctx)
	if err != nil {
		return nil, 0, err
	}
	children, known := map[string][]change.Head{}, map[string]bool{}
	for _, h := range heads {
		known[h.ID] = true
	}
	for _, h := range heads {
		if h.Parent != "" && h.Parent != h.ID && known[h.Parent] {
			children[h.Parent] = append(children[h.Parent], h)
		}
	}
	seen := map[string]bool{}
	var family func(h change.Head) []change.Head
	family = func(h change.Head) []change.Head {
		if seen[h.ID] {
			return nil
		}
		seen[h.ID] = true
		all := []change.Head{h}
		for _, child := range children[h.ID] {
			all = append(all, family(child)...)
		}
		return all
	}
	named := map[string]bool{}
	for _, h := range s.Named {
		named[h.ID] = true
	}
	matches := func(h change.Head) bool {
		if len(named) > 0 {
			return named[h.ID]
		}
		in := s.Folder == ""
		for _, folder := range aliases(s.Folder) {
			if _, below := relativePath(folder, h.Directory); below {
				in = true
			}
		}
		return in && h.ID != "" && h.Ref.Kind == change.KindSession && (h.Parent == "" || !known[h.Parent])
	}
	for _, h := range heads {
		if !matches(h) {
			continue
		}
		all := family(h)
		used := int64(0)
		for _, one := range all {
			used = max(used, one.Updated, one.Created)
		}
		isOld := func(used int64) bool { return used > 0 && time.UnixMilli(used).Before(s.Before) }
		if s.Before.IsZero() || isOld(used) {
			selected = append(selected, all...)
		} else if isOld(max(h.Updated, h.Created)) {
			stay++
		}
	}
	for open := openForks(selected, heads); len(open) > 0 && len(named) == 0; open = openForks(selected, heads) {
		stay += len(open)
		selected = slices.DeleteFunc(selected, func(h change.Head) bool { return open[h.ID] != "" })
	}
	return selected, stay, nil
}
