package sqlstore

import (
	"context"
	"fmt"

	"mend/change"
	"mend/session"
)

// Read returns what the rows hold now, in the order of refs, nil for one that
// does not exist. A row is found by its id alone: one that has moved to another
// message is returned as it is there. The error wraps [change.ErrInvalid] for a
// ref that no row can have, [ErrUnusable] or [ErrBusy], or is the system's.
func (s *Store) Read(ctx context.Context, refs []session.Ref) ([]*change.Image, error) {
	var images []*change.Image
	err := s.read(ctx, func(c *conn) error {
		images = make([]*change.Image, len(refs))
		for i, ref := range refs {
			t, ok := c.schema.tables[ref.Kind]
			if !ok {
				return fmt.Errorf("%w: a database has no %v", change.ErrInvalid, ref.Kind)
			}
			r, err := c.row(t, ref.ID())
			if err != nil {
				return err
			}
			images[i] = imageOf(r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.id.Root, err)
	}
	return images, nil
}

// imageOf is the row as an image, nil if there is none.
func imageOf(r *session.Record) *change.Image {
	if r == nil {
		return nil
	}
	return change.ImageOf(r)
}
