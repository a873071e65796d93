package sqlstore

import (
	"context"
	"fmt"

	"mend/change"
)

// Settle determines from the rows alone whether st was made. SQLite has made all of the change or nothing, so no row is
// ever written:
//
//	rows hold Post, none Pre      Committed
//	rows hold Pre, none Post      Aborted
//	both, or neither              Conflicted: no crash leaves this
//
// A missing row may have been deleted by another program. So missing rows count only if every row is missing, as its
// Pre or its Post expects. The Conflicts are the rows that differ from the outcome because another program wrote them.
//
// Settle waits for a transaction of another process. It may be called any number of times. The
// error wraps [change.ErrLocked], [ErrUnusable] or [change.ErrInvalid], or is an error of the
// context or the system; the outcome is then still unknown.
func (s *Store) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	var out change.Outcome
	changes, err := s.changesOf(st)
	if err == nil {
		err = s.syncFiles()
	}
	if err == nil {
		err = s.write(ctx, func(c *Conn) (err error) {
			if out, err = c.decide(changes); err == nil && out.State == change.Aborted && c.shared {
				err = s.overwrite(c)
			}
			return err
		})
	}
	if err != nil {
		return change.Outcome{}, fmt.Errorf("settling a change of %s: %w", s.id.Root, err)
	}
	return out, nil
}

// decide compares every row with its Pre and Post.
func (c *Conn) decide(changes *rowChanges) (change.Outcome, error) {
	var counts rowCounts
	found := make([]*change.Image, len(changes.rows))
	for i, r := range changes.rows {
		t := c.Table(r.kind)
		if t == nil {
			return change.Outcome{}, Unusable("it has no table of %vs", r.kind)
		}
		var err error
		if found[i], err = c.image(t, r.id); err != nil {
			return change.Outcome{}, err
		}
		counts.add(r, found[i])
		for _, image := range [...]*change.Image{r.preImage, r.postImage} {
			if found[i].Equal(image) {
				found[i] = image // so that equal bytes are in memory once
			}
		}
	}
	out := change.Outcome{State: counts.state()}
	for i, r := range changes.rows {
		want := r.postImage
		if out.State == change.Aborted {
			want = r.preImage
		}
		if !found[i].Equal(want) {
			out.Conflicts = append(out.Conflicts, r.conflict(found[i], describeDiff(want, found[i])))
		}
	}
	return out, nil
}

// rowCounts counts the rows that hold Pre, Post or neither. Missing rows that Pre or Post expects are counted
// separately.
type rowCounts struct {
	pre, post     int
	noPre, noPost int
	other         bool // a row holds neither
}

func (e *rowCounts) add(r rowChange, now *change.Image) {
	switch {
	case now == nil && r.postImage == nil:
		e.noPost++
	case now == nil && r.preImage == nil:
		e.noPre++
	case now.Equal(r.postImage):
		e.post++
	case now.Equal(r.preImage):
		e.pre++
	default:
		e.other = true
	}
}

func (e *rowCounts) state() change.State {
	if e.pre == 0 && e.post == 0 && !e.other {
		e.pre, e.post = e.noPre, e.noPost
	}
	switch {
	case e.post > 0 && e.pre == 0:
		return change.Committed
	case e.pre > 0 && e.post == 0:
		return change.Aborted
	}
	return change.Conflicted
}
