package mend

import (
	"context"
	"errors"
	"slices"
	"time"

	"mend/change"
	"mend/journal"
	"mend/repair"
)

// Records reads the records of one session as they are stored: each message, followed by
// its parts. The error wraps [ErrNoSession] if the store has none of that id.
func (c *Store) Records(ctx context.Context, id string) ([]change.Record, error) {
	head, err := c.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.store.Records(ctx, head)
}

// LastChange returns the id of the newest journal entry that began at or after since and
// changed the session, "" for none. An undo counts, an aborted entry
// does not.
func (c *Store) LastChange(ctx context.Context, id string, since time.Time) (entry string, err error) {
	es, err := c.Log(ctx, journal.Query{Session: id})
	for _, e := range es { // the newest first
		if e.State != change.Aborted && !e.Time.Before(since) {
			return e.ID, err
		}
	}
	return "", err
}

// Trim plans to make the next request of a session smaller, and applies the plan. It
// returns the id of the journal entry, "" if nothing can be trimmed. Its errors are those
// of [Store.ProposeTrim] and [Store.Apply].
func (c *Store) Trim(ctx context.Context, id string, r repair.TrimRequest) (entry string, t repair.Trimmed, err error) {
	head, err := c.Session(ctx, id)
	if err != nil {
		return "", t, err
	}
	if t, err = c.ProposeTrim(ctx, head, r); err != nil || len(t.Plan.Ops) == 0 {
		return "", t, err
	}
	e, err := c.Apply(ctx, t.Plan)
	return e.ID, t, err
}

// LastUndone reports whether the newest change of the session is an undo. Aborted changes
// do not count. The error is that of the journal.
func (c *Store) LastUndone(ctx context.Context, id string) (bool, error) {
	es, err := c.Log(ctx, journal.Query{Session: id})
	for _, e := range es { // the newest first
		if e.State != change.Aborted {
			return e.Cause.Kind == change.CauseUndo, err
		}
	}
	return false, err
}

// repairRetries are the delays before a repair is planned again because another program
// wrote to the same records, or uses the journal or the store.
var repairRetries = [...]time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond}

// Repair plans the repair of one session for a running agent and applies it. It returns the id of the
// journal entry, "" if there was nothing to repair. Of r.Options it uses Version
// and Model alone. It sets r.All if the same error was repaired before, as
// [Store.ProposeRepair] does. If another program interferes, it retries, and
// returns the error of the last try. Its errors are those of
// [Store.ProposeRepair] and [Store.Apply].
func (c *Store) Repair(ctx context.Context, id string, r repair.Request) (entry string, result repair.Result, err error) {
	return c.RepairIf(ctx, change.Head{ID: id}, r, nil)
}

// RepairIf is [Store.Repair] of what is broken, with a condition: accept, if not nil, is called before a plan
// is applied. If it returns an error, nothing is changed, and RepairIf returns that error.
// After an interference accept is called again, with a new plan. head is one of
// [Store.Sessions], or has an ID alone and is looked up.
func (c *Store) RepairIf(ctx context.Context, head change.Head, r repair.Request, accept func(context.Context, repair.Result) error) (entry string, result repair.Result, err error) {
	for _, wait := range repairRetries {
		if entry, result, err = c.repair(ctx, head, r, accept); !isInterference(err) {
			return entry, result, err
		}
		head = change.Head{ID: head.ID} // the other program may have changed it
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return entry, result, err
		}
	}
	return c.repair(ctx, head, r, accept)
}

func (c *Store) repair(ctx context.Context, head change.Head, r repair.Request, accept func(context.Context, repair.Result) error) (string, repair.Result, error) {
	if accept != nil && r.Error == nil && !r.Latent { // mostly nothing is broken, which is found out quickly
		if found, ok := c.notBroken(ctx, head, r); ok {
			return "", repair.Result{Remaining: found}, nil
		}
	}
	head, err := c.known(ctx, head)
	if err != nil {
		return "", repair.Result{}, err
	}
	r = c.withOptions(r)
	r.Unattended = true
	result, err := c.plan(ctx, head, r)
	if err != nil || len(result.Plan.Ops) == 0 {
		return "", result, err
	}
	if accept != nil {
		if err := accept(ctx, result); err != nil {
			return "", result, err
		}
	}
	result.Plan.Cause.Live = true
	e, err := c.Apply(ctx, result.Plan)
	return e.ID, result, err
}

// notBroken diagnoses a session, and reports whether nothing is broken.
func (c *Store) notBroken(ctx context.Context, head change.Head, r repair.Request) (found []repair.Diagnosis, ok bool) {
	head, err := c.known(ctx, head)
	if err != nil {
		return nil, false
	}
	c.store.Refresh() // they may have changed since the last session
	e, err := c.diagnose(ctx, head, c.withOptions(r).Options)
	ok = err == nil && !e.Busy && !slices.ContainsFunc(e.Diagnoses, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken })
	return e.Diagnoses, ok
}

// known returns the head of a session that may have an ID alone.
func (c *Store) known(ctx context.Context, head change.Head) (change.Head, error) {
	if head.Ref != (change.Ref{}) {
		return head, nil
	}
	return c.Session(ctx, head.ID)
}

// isRepeated reports whether an error of this class was repaired in the session before,
// by a repair that is not undone. A provider names one place per error. If only the
// provider can know the other places, the second error is a reason to repair all of the
// kind at once. If the journal cannot be read, isRepeated returns false; then it cannot
// be written either.
func (c *Store) isRepeated(ctx context.Context, id string, e *repair.APIError) bool {
	if e == nil || !repair.OnlyProviderSees(e.Class) {
		return false
	}
	es, _ := c.Log(ctx, journal.Query{Session: id, State: change.Committed})
	return slices.ContainsFunc(es, func(b change.Entry) bool {
		return b.Cause.Kind == change.CauseError && b.UndoneBy == "" && c.ParseAPIError([]byte(b.Cause.Text)).Class == e.Class
	})
}

// isInterference reports whether another program caused the error, so that a retry may
// succeed.
func isInterference(err error) bool {
	var conflict *change.ConflictError
	var locked *journal.LockedError
	var stale *StaleError
	return errors.As(err, &conflict) || errors.As(err, &stale) || errors.As(err, &locked) || errors.Is(err, ErrLocked)
}
