package mend

import (
	"cmp"
	"slices"

	"mend/change"
	"mend/journal"
)

// Newest returns what "undo" reverts by default: the wanted entries of the newest operation that is in force
// and is not an undo, newest first. An entry is in force if it is committed and not
// undone. A redo is in force as long as everything that it applied again is; if a part of that was undone
// alone, undo reverts the rest. A pending entry counts, because its outcome must be known first. An entry
// without undo data is skipped.
func (l *Journal) Newest(wanted func(change.Entry) bool) ([]change.Entry, error) {
	return l.newest(wanted, inForce)
}

// NewestUndo returns the wanted entries of the newest operation in force that is an undo, newest first.
func (l *Journal) NewestUndo(wanted func(change.Entry) bool) ([]change.Entry, error) {
	return l.newest(wanted, func(_ *journal.Journal, e change.Entry) ([]change.Entry, error) {
		if e.State != change.Committed || !e.IsUndo() || e.Cause.Partial {
			return nil, nil
		}
		return []change.Entry{e}, nil
	})
}

// newest returns the entries of the newest operation for which find returns any, newest first. find is called
// for entries that are not undone.
func (l *Journal) newest(
	wanted func(change.Entry) bool, find func(*journal.Journal, change.Entry) ([]change.Entry, error),
) (found []change.Entry, err error) {
	err = l.read(func(j *journal.Journal) error {
		found = nil
		findAll := func(q journal.Query) (last change.Entry, err error) {
			q.Undone = new(false)
			es, err := j.List(q)
			for _, e := range es {
				last = e
				some, errOne := find(j, e)
				found, err = append(found, some...), cmp.Or(err, errOne)
			}
			found = slices.DeleteFunc(found, func(e change.Entry) bool { return e.Forgotten || !wanted(e) })
			return last, err
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
		slices.SortFunc(found, func(a, b change.Entry) int { return cmp.Compare(b.Seq, a.Seq) })
		return err
	})
	return found, err
}

// notUndone returns the committed entries of a query that are not undone, undos included. A redo counts as undone if everything that
// it applied again was undone by its own id since.
func notUndone(j *journal.Journal, q journal.Query) ([]change.Entry, error) {
	q.State, q.Undone = change.Committed, new(false)
	es, err := j.List(q)
	es = slices.DeleteFunc(es, func(e change.Entry) bool {
		if e.Cause.Kind != change.CauseRedo || err != nil {
			return false
		}
		var left []change.Entry
		left, err = inForce(j, e)
		return len(left) == 0
	})
	return es, err
}

// inForce returns the entry if it is in force and not an undo. For a redo that is partly in force it returns the
// entries that it applied again, and otherwise nothing.
func inForce(j *journal.Journal, e change.Entry) ([]change.Entry, error) {
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
				some, err = inForce(j, again)
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
