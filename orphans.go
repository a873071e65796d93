package mend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/journal"
	"mend/session"
)

// ErrHidden says that it cannot be told which records are orphans.
var ErrHidden = session.ErrHidden

// An Orphaned is what a store holds of one session and no session leads to:
// messages of a session that is gone, and parts of messages that are gone. The
// agent never reads them.
type Orphaned struct {
	Session string        // that they say they are of; [session.Unknown] where they do not
	Refs    []session.Ref // of the records, and of the folders they are in
}

// Records are the orphans without their folders.
func (o *Orphaned) Records() []session.Ref {
	return slices.DeleteFunc(slices.Clone(o.Refs), func(r session.Ref) bool { return r.Kind == session.KindFolder })
}

// Orphans lists what belongs to nothing, by session. It reads only. The error
// wraps [ErrHidden] where something cannot be looked at that they may belong to.
func (c *Client) Orphans(ctx context.Context) ([]Orphaned, error) {
	list := scanStore{c.store}.Orphans
	if c.lists != nil {
		list = c.lists.Orphans
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

// ProposeOrphans plans what puts orphans away, into the journal. It reads only;
// [Client.Apply] carries the plan out, and [Client.ProposeUndo] takes it back.
// The error names a record that cannot be read.
func (c *Client) ProposeOrphans(ctx context.Context, o Orphaned) (change.Plan, error) {
	images, err := c.store.Read(ctx, o.Refs)
	if err != nil {
		return change.Plan{}, err
	}
	why := fmt.Sprintf("%d records of session %s belong to nothing that is there.", len(o.Records()), o.Session)
	p := change.Plan{Session: o.Session, AllowMissingParent: true, Cause: change.Cause{Kind: change.CauseOrphans, Diagnoses: []string{why}}}
	for i, image := range images {
		if image != nil { // else it is gone by now
			p.Ops = append(p.Ops, change.Op{Ref: o.Refs[i], Pre: image})
		}
	}
	change.Sort(p.Ops)
	return p, nil
}

// aboutOrphans reports whether a plan puts orphans away, or takes that back, or
// takes back that it was taken back.
func aboutOrphans(j *journal.Journal, cause change.Cause) (bool, error) {
	if cause.Kind == change.CauseOrphans {
		return true, nil
	}
	for _, seq := range cause.Entries {
		e, err := j.Get(journal.IDOf(seq))
		if err != nil {
			return false, err
		}
		if about, err := aboutOrphans(j, e.Cause); about || err != nil {
			return about, err
		}
	}
	return false, nil
}

// withParents returns the refs, those of a session that is there, with the messages
// that orphans do without.
func withParents(current []session.Ref, ops []change.Op) []session.Ref {
	with := append([]session.Ref{}, current...)
	seen := map[string]bool{}
	for _, r := range with {
		seen[r.Message] = seen[r.Message] || r.Kind == session.KindMessage
	}
	for _, o := range ops {
		if m := o.Ref.Message; m != "" && !seen[m] {
			seen[m] = true
			with = append(with, session.Ref{Kind: session.KindMessage, Session: o.Ref.Session, Message: m})
		}
	}
	return with
}
