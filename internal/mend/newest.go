package mend

import (
	"iter"
	"slices"

	"mend/change"
	"mend/journal"
)

// Newest returns the ids of what "undo" reverts by default: the wanted entries of the newest operation that is in force
// and is not an undo, newest first. An entry is in force if it is committed and not undone. A redo is in force while
// all changes that it applied again are; if only some of them are, undo reverts those. Pending entries count, because
// their outcome must be known first. Entries without undo data do not.
func (l *Journal) Newest(wanted func(change.Entry) bool) ([]string, error) {
	return l.newest(wanted, entriesInForce)
}

// NewestUndo returns the ids of the wanted entries of the newest operation in force that is an undo, newest first.
func (l *Journal) NewestUndo(wanted func(change.Entry) bool) ([]string, error) {
	return l.newest(wanted, func(_ *journal.Journal, e change.Entry) ([]change.Entry, error) {
		if e.State != change.Committed || !e.IsUndo() || e.Cause.Partial {
			return nil, nil
		}
		return []change.Entry{e}, nil
	})
}

// newest returns the ids of the entries of the newest operation for which find returns any, newest first. find is
// called for entries that are not undone.
func (l *Journal) newest(
	wanted func(change.Entry) bool, find func(*journal.Journal, change.Entry) ([]change.Entry, error),
) (ids []string, err error) {
	err = l.read(func(j *journal.Journal) error {
		var found []uint64
		findAll := func(q journal.Query) (last change.Entry, err error) {
			q.Undone = new(false)
			for e, err := range j.Each(q) {
				var some []change.Entry
				if err == nil {
					some, err = find(j, e)
				}
				if err != nil {
					return last, err
				}
				last = e
				for _, e := range some {
					if !e.Forgotten && wanted(e) {
						found = append(found, e.Seq)
					}
				}
			}
			return last, nil
		}
		last, err := findAll(journal.Query{Limit: 1})
		for err == nil && len(found) == 0 && last.Seq > 1 {
			last, err = findAll(journal.Query{Limit: 1, Before: last.Seq})
		}
		if err != nil || len(found) == 0 {
			return err
		}
		found = nil
		_, err = findAll(journal.Query{Operation: last.Operation})
		slices.Sort(found)
		ids = nil
		for _, seq := range slices.Backward(found) {
			ids = append(ids, journal.IDOf(seq))
		}
		return err
	})
	return ids, err
}

// notUndone yields the committed entries of a query that are not undone, undos included, and then the error if there is
// one. A redo counts as undone if each change that it applied again was undone later under the change's own id.
func notUndone(j *journal.Journal, q journal.Query) iter.Seq2[change.Entry, error] {
	q.State, q.Undone = change.Committed, new(false)
	return func(yield func(change.Entry, error) bool) {
		for e, err := range j.Each(q) {
			if err == nil && e.Cause.Kind == change.CauseRedo {
				var left []change.Entry
				if left, err = entriesInForce(j, e); err == nil && len(left) == 0 {
					continue
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// entriesInForce returns the entry if it is in force and not an undo. For a redo that is partly in force it returns the
// entries that it applied again, and otherwise nothing.
func entriesInForce(j *journal.Journal, e change.Entry) ([]change.Entry, error) {
	switch {
	case e.State == change.Pending:
		return []change.Entry{e}, nil
	case e.State != change.Committed || e.UndoneBy != "" || e.IsUndo():
		return nil, nil
	case e.Cause.Kind != change.CauseRedo:
		return []change.Entry{e}, nil
	}
	var left []change.Entry
	whole := true
	for _, seq := range e.Cause.Entries {
		undo, err := j.Get(journal.IDOf(seq))
		if err != nil {
			return nil, err
		}
		for _, seq := range undo.Cause.Entries {
			again, err := j.Get(journal.IDOf(seq))
			var some []change.Entry
			if err == nil {
				some, err = entriesInForce(j, again)
			}
			if err != nil {
				return nil, err
			}
			whole = whole && len(some) > 0
			left = append(left, some...)
		}
	}
	if whole {
		left = []change.Entry{e}
	}
	return left, nil
}
