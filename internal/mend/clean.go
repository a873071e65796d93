package mend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/journal"
	"mend/repair"
)

// A SessionSize is a session, and what it takes.
type SessionSize struct {
	change.Head
	agent.SessionSpace
}

// Space returns what takes the space of the store, and of each session, the largest first. A session that has no record of its
// own has only its id.
func (c *Store) Space(ctx context.Context, progress func(done, total int64)) (parts []agent.SpacePart, sessions []SessionSize, err error) {
	space, err := c.store.Space(ctx, progress)
	if errors.Is(err, errors.ErrUnsupported) {
		err = fail.New(fail.Refused, "", "measuring the store of %s: %w", c.agent, err)
	}
	if err != nil {
		return nil, nil, err
	}
	heads, err := c.Sessions(ctx)
	for _, h := range heads {
		if one := space.Sessions[h.ID]; one != nil {
			sessions = append(sessions, SessionSize{h, *one})
			delete(space.Sessions, h.ID)
		}
	}
	for id, one := range space.Sessions {
		sessions = append(sessions, SessionSize{change.Head{ID: id}, *one})
	}
	slices.SortFunc(sessions, func(a, b SessionSize) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), strings.Compare(a.ID, b.ID))
	})
	return space.Parts, sessions, err
}

// ProposeClean plans to remove something from the store to make room. what says it in one word. If the plans are not carried
// out, call Discard. The error names the processes that have the store's database open, wraps [repair.ErrBusy] if an agent uses
// one of the sessions, and [errors.ErrUnsupported] if the store has no such thing.
func (c *Store) ProposeClean(ctx context.Context, what string, r agent.CleanRequest) (agent.Cleaned, error) {
	seen := c.seen()
	who, err := c.store.Holders(ctx)
	if err == nil && len(who) > 0 && !r.DryRun {
		err = fail.New(fail.Refused, "nothing was changed. End that program, then run the command again", "%s: %s has the database open", c.ID().Root, strings.Join(who, " and "))
	}
	if err != nil {
		return agent.Cleaned{}, err
	}
	for _, h := range r.Sessions {
		if why := c.whyBusy(ctx, h); why != "" {
			return agent.Cleaned{}, fmt.Errorf("removing session %s: %w: %s", h.ID, repair.ErrBusy, why)
		}
	}
	found, err := c.store.Clean(ctx, r)
	for i := range found.Plans {
		p := &found.Plans[i]
		p.Cause.Kind, p.Cause.Text = change.CauseClean, what
		p.Seen, p.AgentVersion = seen, c.agentVersion()
		if p.Session == "" {
			p.Cause.Title, p.Cause.Folder = filepath.Base(c.ID().Root), filepath.Dir(c.ID().Root)
		}
		err = cmp.Or(err, c.checkLinks(ctx, *p))
	}
	return found, err
}

// Reclaim gives free pages of the store's database back to the file system.
func (c *Store) Reclaim(ctx context.Context) (before, after int64, err error) {
	return c.store.Reclaim(ctx)
}

// ForgetArchives removes the archives of entries that are forgotten, and returns how many bytes these had. An archive that
// another entry needs stays.
func (c *Store) ForgetArchives(ctx context.Context) (freed int64, err error) {
	es, err := c.Log(ctx, journal.Query{})
	if err != nil {
		return 0, err
	}
	needed, gone := map[change.Ref]bool{}, map[change.Ref]bool{}
	for _, e := range es {
		if e.HasRows() {
			needed[e.Ops[0].Ref] = needed[e.Ops[0].Ref] || !e.Forgotten
			gone[e.Ops[0].Ref] = true
		}
	}
	id, err := c.journal.ID()
	for ref := range gone {
		if err == nil && !needed[ref] {
			var n int64
			n, err = c.store.Forget(id, []change.Op{{Ref: ref}})
			freed += n
		}
	}
	return freed, err
}
