package mend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/fail"
	"mend/journal"
)

// A laterChange is a change of the store that is in force and newer than an undone change.
type laterChange struct {
	id, session string
	records     map[change.Ref]bool // the records of the plan that it also changed
	removes     bool                // it removed the rows of a session of the undone change
	// whole means that it affects everything that the undone change changed: the database, or a session that the undone
	// change removed.
	whole bool
}

// noRows is the digest of an empty list of removed rows.
var noRows = change.DigestOf(&change.Image{Data: []byte{}, Mode: 0o600})

// later returns the changes in force that are newer than after, an entry that the plan undoes; newest first.
func (c *Store) later(
	ctx context.Context, j *journal.Journal, after change.Entry, p change.Plan,
) (all []laterChange, err error) {
	newer := journal.Query{Store: &after.Store, After: after.Seq}
	if isWithinSession(p) {
		newer.Sessions = map[string]bool{p.Session: true, change.NoSession: true, "": true} // "": changes of whole files
	}
	if some, err := j.List(journal.Query{Store: newer.Store, After: newer.After, Sessions: newer.Sessions, Limit: 1}); err != nil || len(some) == 0 {
		return nil, err
	}
	undone := change.Entry{Ops: []change.OpInfo{{Ref: p.Ops[0].Ref}}}
	about := map[string]bool{p.Session: true} // the sessions of the plan
	switch {
	case undone.Kind() == change.KindRows:
		about, _, err = c.archivedSessions(ctx, undone)
	case p.Session == change.NoSession: // a change made together with changes of sessions
		for e, errOne := range j.Each(journal.Query{Operation: after.Operation}) {
			about[e.Session], err = true, errOne
		}
	}
	own := map[change.Ref]bool{}
	for _, o := range p.Ops {
		own[o.Ref] = true
	}
	for e, errOne := range notUndone(j, newer) {
		if err = cmp.Or(err, errOne); err != nil {
			return all, err
		}
		if undone.Kind() == change.KindDatabase && e.IsUndo() { // undoing an undo changes the database once more
			continue
		}
		l := laterChange{
			id: e.ID, session: e.Session, records: map[change.Ref]bool{},
			whole: undone.Kind() == change.KindRows && about[e.Session],
		}
		if undone.Kind() == change.KindDatabase || e.Kind() == change.KindDatabase {
			l.whole = undone.Kind() != change.KindTree && e.Kind() != change.KindTree // except a folder beside the store
		}
		var removed map[string]bool
		// if the refs are equal, e is a redo of the same removal
		if e.Kind() == change.KindRows && e.Ops[0].Post.Equal(noRows) && e.Ops[0].Ref != p.Ops[0].Ref && err == nil {
			_, removed, err = c.archivedSessions(ctx, e)
		}
		for id := range removed {
			l.removes = l.removes || about[id]
		}
		file := p.Ops[0].Ref.Kind == change.KindSession || undone.Kind() == change.KindTranscript
		for _, o := range e.Ops {
			if own[o.Ref] {
				l.records[o.Ref] = true
			}
			file = file || o.Ref.Kind == change.KindSession
		}
		l.whole = l.whole || file && e.Store.Kind == "lines" && e.Session == p.Session // the file has the lines
		all = append(all, l)
	}
	return all, err
}

// isWithinSession reports whether a plan changes only its session: then changes of other sessions do not matter.
func isWithinSession(p change.Plan) bool {
	return p.Session != "" && p.Session != change.NoSession && !slices.ContainsFunc(p.Ops, func(o change.Op) bool {
		return o.Ref.Session != p.Session && o.Ref.Kind != change.KindFolder
	})
}

// archivedSessions returns the sessions with rows in an entry's archive, and those of them that were removed entirely;
// none if the archive no longer exists.
func (c *Store) archivedSessions(ctx context.Context, e change.Entry) (all, removed map[string]bool, err error) {
	if kept := c.store.KeptFiles(""); kept != nil && kept.Keeps(e.Ops[0]) {
		all, removed, err = kept.ArchivedSessions(ctx, e.Ops[0].Ref)
	}
	return all, removed, err
}

// CountUnrestorable returns how many rows an undo of cleaned rows did not restore because their session was
// deleted. They are still in the archive.
func (c *Store) CountUnrestorable(ctx context.Context, undo change.Entry) (int64, error) {
	if kept := c.store.KeptFiles(""); kept != nil && undo.Kind() == change.KindRows &&
		undo.Cause.Kind == change.CauseUndo {
		return kept.CountUnrestorable(ctx, undo.Ops[0].Ref)
	}
	return 0, nil
}

// checkOrder returns an error if an undo would silently lose data while a later change is in force: rows of sessions
// that the later change removed, or the project that they refer to.
func checkOrder(newest change.Entry, p change.Plan, later []laterChange) error {
	if p.Cause.Kind != change.CauseUndo || p.Ops[0].Ref.Kind != change.KindRows && p.Session != change.NoSession {
		return nil
	}
	for _, l := range later {
		if l.removes {
			return undoFirst(l.id,
				fmt.Errorf("undoing repair %s: its sessions were removed since, by repair %s", newest.ID, l.id))
		}
	}
	return nil
}

// checkAgain returns an error if a later change in force wrote one of the records again, because that change could not
// be undone after this undo. This also holds if the record is now as the undone change left it: for example, a session
// that was removed, restored and removed again.
func checkAgain(j *journal.Journal, newest change.Entry, p change.Plan) error {
	records := map[change.Ref]bool{}
	for _, o := range p.Ops {
		records[o.Ref] = true
	}
	for e, err := range notUndone(j, journal.Query{Store: &newest.Store, Session: p.Session, After: newest.Seq}) {
		if err != nil {
			return err
		}
		if e.IsUndo() || !slices.ContainsFunc(e.Ops, func(o change.OpInfo) bool { return records[o.Ref] }) {
			continue
		}
		switch same, err := isRedo(j, e, p.Cause.Entries); {
		case err != nil:
			return err
		case same:
			continue
		}
		return undoFirst(e.ID, fmt.Errorf("undoing repair %s: repair %s changed the same records again", newest.ID, e.ID))
	}
	return nil
}

// isRedo reports whether an entry is a redo of one of the entries with those numbers.
func isRedo(j *journal.Journal, e change.Entry, entries []uint64) (bool, error) {
	if e.Cause.Kind != change.CauseRedo && !e.IsUndo() {
		return false, nil
	}
	for _, seq := range e.Cause.Entries {
		if slices.Contains(entries, seq) {
			return true, nil
		}
		reverted, err := j.Get(journal.IDOf(seq))
		if err != nil {
			return false, err
		}
		if same, err := isRedo(j, reverted, entries); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func undoFirst(id string, err error) error {
	return &fail.Failure{
		Code: fail.Refused, Hint: fmt.Sprintf("nothing was changed. Undo the later change first: mend undo %s", id),
		Err: err,
	}
}

// nameLater adds the later changes that prevent a plan to its error.
func nameLater(err error, p change.Plan, later []laterChange) error {
	if conflict, ok := errors.AsType[*change.ConflictError](err); ok {
		for i, c := range conflict.Conflicts {
			for _, l := range later {
				if l.removes || l.whole || l.records[c.Ref] {
					conflict.Conflicts[i].Later = append(conflict.Conflicts[i].Later, l.id)
				}
			}
		}
		return err
	}
	for _, l := range later {
		if l.removes || l.whole || l.session == p.Session ||
			slices.ContainsFunc(p.Ops, func(o change.Op) bool { return l.records[o.Ref] }) {
			return undoFirst(l.id, err)
		}
	}
	return err
}

// checkProject returns an error if an undo removes a project that a session belongs to, or would belong to after the
// undo of a later change: the session would refer to nothing. With force only sessions that mend has changed since then
// count: for others the project may have been missing before the change, too.
func (c *Store) checkProject(ctx context.Context, j *journal.Journal, p change.Plan) error {
	removed, own := "", map[string]bool{} // sessions changed by the plan
	for _, o := range p.Ops {
		switch {
		case o.Ref.Kind == change.KindSession:
			own[o.Ref.Session] = true
		case o.Ref.Kind == change.KindProject && o.Post == nil:
			removed = o.Ref.Project
		}
	}
	if p.Cause.Kind != change.CauseUndo || removed == "" {
		return nil
	}
	heads, err := c.store.List(ctx)
	if err != nil {
		return err
	}
	belongs, first := map[string]bool{}, ""
	for _, h := range heads {
		if h.Project == removed && !own[h.ID] {
			belongs[h.ID] = true
			first = cmp.Or(first, h.ID)
		}
	}
	made, err := j.Get(journal.IDOf(p.Cause.Entries[0]))
	if err != nil {
		return err
	}
	for e, err := range notUndone(j, journal.Query{Store: &made.Store, After: made.Seq - 1}) {
		if err != nil {
			return err
		}
		moved := made.Session == change.NoSession && e.Session != change.NoSession && e.Operation == made.Operation &&
			!p.Force
		if moved || belongs[e.Session] && !e.IsUndo() {
			return undoFirst(e.ID,
				fmt.Errorf("undoing repair %s: session %s has belonged to the project since repair %s", made.ID, e.Session, e.ID))
		}
	}
	if first != "" && !p.Force {
		return &fail.Failure{
			Code: fail.Conflict, Hint: "nothing was changed. To remove the project anyway: --force",
			Err: fmt.Errorf("undoing repair %s: session %s belongs to the project", made.ID, first),
		}
	}
	return nil
}
