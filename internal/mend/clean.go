package mend

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
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
