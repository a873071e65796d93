package tree

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"mend/agent/opencode/record"
	"mend/change"
)

// LoadRaw reads the records of a session in the order of their names: all, or those behind the last of marks that the session has. Of
// the messages before that mark it looks at names, sizes, times and inodes. Errors as of [Store.Load].
func (s *Store) LoadRaw(ctx context.Context, head change.Head, marks []change.Mark) (is record.Copied, err error) {
	if len(marks) > 0 {
		if is, err = s.look(ctx, head); err != nil {
			return is, err
		}
		is.Skipped = record.CommonMark(is.Marks, marks)
	}
	tr, err := s.newReader(ctx)
	if err != nil {
		return is, err
	}
	defer tr.close()
	tr.stamp, tr.budget, tr.raw, tr.skip = &stampHasher{}, new(atomic.Int64), true, is.Skipped
	tr.budget.Store(s.opt.MaxSession)
	loaded, err := tr.readSession(head, func(s *record.Session, f *openFolder) { tr.readMessages(s, f) })
	if err != nil {
		return is, err
	}
	loaded.Stray, is.Session = tr.stray, &loaded
	if is.Skipped == 0 {
		is.Stamp = tr.sum()
		is.Marks = tr.marks(len(loaded.Messages))
	}
	return is, nil
}

// look looks at all records of a session, and returns what a copy of it has to know of those that it skips.
func (s *Store) look(ctx context.Context, head change.Head) (is record.Copied, err error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return is, err
	}
	defer tr.close()
	tr.stamp, tr.statOnly = &stampHasher{}, true
	var messages atomic.Int64
	_, err = tr.readSession(head, func(_ *record.Session, f *openFolder) {
		names := tr.messageNames(f)
		if len(names) > 0 {
			is.First = strings.TrimSuffix(names[0], suffix)
		}
		tr.eachMessage(f.ref, names, func(w *treeReader, ref change.Ref, name string, _ int) {
			if w.statRecord(f.dir, ref, name) {
				messages.Add(1)
				w.statParts(ref)
			}
		})
	})
	if err != nil {
		return is, fmt.Errorf("looking at session %s: %w", head.ID, err)
	}
	is.Stamp, is.Marks = tr.sum(), tr.marks(int(messages.Load()))
	return is, nil
}

// marks returns one mark behind each of so many messages; none if not all that was looked at is one, or a change could leave them as
// they are.
func (tr *treeReader) marks(messages int) []change.Mark {
	if tr.stamp.unknown || len(tr.each) != messages {
		return nil
	}
	return record.Marks([16]byte{}, tr.each)
}
