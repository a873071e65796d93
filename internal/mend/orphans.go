package mend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/journal"
)

// An Orphaned lists the orphans that name one session: messages whose session does not
// exist, and parts whose message does not exist. The agent never reads them.
type Orphaned struct {
	Session string       // the session that they name; [change.NoSession] if they name none
	Refs    []change.Ref // the records and their folders
}

// Records returns the refs of the records, without the folders.
func (o *Orphaned) Records() []change.Ref {
	return slices.DeleteFunc(slices.Clone(o.Refs), func(r change.Ref) bool { return r.Kind == change.KindFolder })
}

// Orphans lists the orphans by session. It reads only. The error wraps [change.ErrHidden] if
// something that they may belong to cannot be read.
func (c *Store) Orphans(ctx context.Context) ([]Orphaned, error) {
	list := c.store.Orphans
	if c.pass != nil {
		list = c.pass.listOrphans
	}
	refs, err := list(ctx)
	if err != nil {
		return nil, err
	}
	var all []Orphaned
	at := map[string]int{}
	for _, r := range refs {
		i, ok := at[r.Session]
		if !ok {
			i = len(all)
			at[r.Session] = i
			all = append(all, Orphaned{Session: r.Session})
		}
		all[i].Refs = append(all[i].Refs, r)
	}
	slices.SortFunc(all, func(a, b Orphaned) int { return strings.Compare(a.Session, b.Session) })
	return all, nil
}

// ProposeOrphans plans to delete orphans; the journal keeps their bytes. It reads only:
// [Store.Apply] carries the plan out, and [Store.ProposeUndo] reverts it. The error
// names a record that cannot be read.
func (c *Store) ProposeOrphans(ctx context.Context, o Orphaned) (change.Plan, error) {
	seen := c.seen()
	images, err := c.store.Read(ctx, o.Refs)
	if err != nil {
		return change.Plan{}, err
	}
	why := fmt.Sprintf("Of session %[2]s only %[1]d messages or contents of messages are left.", len(o.Records()), o.Session)
	p := change.Plan{Session: o.Session, AllowMissingParent: true, Seen: seen, Cause: change.Cause{Kind: change.CauseOrphans, Diagnoses: []string{why}}}
	for i, image := range images {
		if image != nil { // else it was deleted meanwhile
			p.Ops = append(p.Ops, change.Op{Ref: o.Refs[i], Pre: image})
		}
	}
	change.Sort(p.Ops)
	return p, c.checkLinks(ctx, p)
}

// changesOrphans reports whether a plan with that cause deletes orphans, or is an undo or
// redo of such a plan.
func changesOrphans(j *journal.Journal, cause change.Cause) (bool, error) {
	if cause.Kind == change.CauseOrphans {
		return true, nil
	}
	for _, seq := range cause.Entries {
		earlier, err := j.CauseOf(seq)
		if err != nil {
			return false, err
		}
		if orphans, err := changesOrphans(j, earlier); orphans || err != nil {
			return orphans, err
		}
	}
	return false, nil
}

// withParents returns current and the refs of the messages that the ops' records belong
// to. current is not nil then, as for a session that exists.
func withParents(current []change.Ref, ops []change.Op) []change.Ref {
	with := append([]change.Ref{}, current...)
	seen := map[string]bool{}
	for _, r := range with {
		seen[r.Message] = seen[r.Message] || r.Kind == change.KindMessage
	}
	for _, o := range ops {
		if m := o.Ref.Message; m != "" && !seen[m] {
			seen[m] = true
			with = append(with, change.Ref{Kind: change.KindMessage, Session: o.Ref.Session, Message: m})
		}
	}
	return with
}
