// Package unattended repairs sessions without a user: for a running agent, a hook or "mend watch". It retries if
// another program interferes. Its caller passes the classes that may be repaired.
//
// It may import agent, change, internal/mend, journal and repair. Read [Repairer.Repair] first.
package unattended

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/mend"
	"mend/journal"
	"mend/repair"
)

// A Repairer repairs the sessions of a store without a question. It implements live.Repairer, which describes its
// methods.
type Repairer struct{ *mend.Store }

// New returns a Repairer for a store.
func New(c *mend.Store) Repairer { return Repairer{c} }

// LastChange returns the id of the session's newest journal entry that was not aborted, if the entry began at or after
// since; otherwise "". An undo counts, too.
func (c Repairer) LastChange(ctx context.Context, id string, since time.Time) (entry string, err error) {
	e, err := c.lastEntry(ctx, id)
	if e == nil || e.Time.Before(since) {
		return "", err
	}
	return e.ID, err
}

// lastEntry returns the session's newest entry that was not aborted, nil for none.
func (c Repairer) lastEntry(ctx context.Context, id string) (*change.Entry, error) {
	es, err := c.Log(ctx, journal.Query{Session: id})
	i := slices.IndexFunc(es, func(e change.Entry) bool { return e.State != change.Aborted })
	if i < 0 {
		return nil, err
	}
	return &es[i], err
}

// Examine implements live.Repairer.
func (c Repairer) Examine(ctx context.Context, head change.Head) (agent.Examination, error) {
	head, err := c.lookUp(ctx, head)
	if err != nil {
		return agent.Examination{}, err
	}
	return c.Store.Examine(ctx, head, repair.Request{})
}

// Trim implements live.Repairer. Its errors come from [mend.Store.ProposeTrim] and [mend.Store.Apply].
func (c Repairer) Trim(ctx context.Context, id string, r repair.TrimRequest) (
	entry string, t repair.Trimmed, err error,
) {
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

// Reasons why a session is not repaired.
var (
	errLossy    = errors.New("the repair would remove content that can be read")
	errStill    = errors.New("the session would still be broken")
	errUndone   = errors.New("the last repair of this session was undone")
	errProvider = errors.New("mend does not know the rules of this provider")
)

func isBroken(d repair.Diagnosis) bool { return d.Severity == repair.Broken }

// checkTier returns a [*repair.AskError] if a repair always needs the user's consent. There are three cases: the repair
// would send content that the agent now leaves out of the request, which the user may want; the fix of another finding
// also removes a finding with the tier [repair.Ask]; or only findings with that tier have a fix.
func checkTier(id string, req repair.Request, r repair.Result) error {
	mustAsk := func(d repair.Diagnosis) bool { return d.Severity == repair.Broken && d.Tier != repair.Auto }
	switch {
	case slices.ContainsFunc(r.Fixed, mustAsk):
		return errAsk(id)
	case r.Added > 0:
		why := fmt.Sprintf("the repair would send what the agent leaves out now (blocks: %d)", r.Added)
		return &repair.AskError{Session: id, Why: why}
	case len(r.Plan.Ops) == 0 && len(req.Classes) == 0:
		return checkAsk(id, r)
	}
	return nil
}

func errAsk(id string) error {
	return &repair.AskError{Session: id, Why: "mend does not repair this without asking"}
}

// checkAsk returns a [*repair.AskError] if a broken finding remains that has a repair with the tier [repair.Ask].
func checkAsk(id string, r repair.Result) error {
	for _, d := range r.Remaining {
		if d.Severity == repair.Broken && d.Tier == repair.Ask && d.Fix != "" {
			return errAsk(id)
		}
	}
	return nil
}

// checkWhole returns an error if a broken finding remains after a plan, or if it is unknown whether the provider
// accepts the result.
func checkWhole(id string, r repair.Result) error {
	if err := checkAsk(id, r); err != nil {
		return err
	}
	for _, d := range r.Remaining {
		if d.Severity == repair.Broken {
			return fmt.Errorf("%w: %s", errStill, d.Why)
		}
	}
	for _, d := range r.Fixed {
		if r.UnknownProvider != "" && d.Class != repair.UnreadableRecord && d.Class != repair.IncompleteRecord {
			return fmt.Errorf("%w: %s", errProvider, r.UnknownProvider)
		}
	}
	return nil
}

// CheckUnasked returns an error if a repair must wait until an error of the agent shows that it is needed: it leaves a
// broken finding, the provider's rules are unknown, it loses readable content, the user has undone the last repair of
// the session, or the same finding is back after that repair in a version of the agent that mend does not know.
func (c Repairer) CheckUnasked(ctx context.Context, id string, r repair.Result) error {
	if err := checkWhole(id, r); err != nil {
		return err
	}
	for _, d := range r.Fixed {
		if d.Loses != "" && !losesOnlyUnreadable(d.Class) {
			return fmt.Errorf("%w: %s", errLossy, d.Loses)
		}
	}
	last, err := c.lastEntry(ctx, id)
	switch {
	case err != nil || last == nil:
		return err
	case last.Cause.Kind == change.CauseUndo:
		return errUndone
	}
	return c.checkAgain(ctx, *last, r)
}

// losesOnlyUnreadable reports whether a fix of a finding of this class loses only content that neither the
// agent nor the provider can read.
func losesOnlyUnreadable(c repair.Class) bool {
	return slices.Contains([]repair.Class{
		repair.UnreadableRecord, repair.IncompleteRecord, repair.InvalidFile, repair.InvalidToolCall,
	}, c)
}

// checkAgain returns an error if mend has repaired the same finding in the session before and the agent's version is
// newer than the verified ones: the finding should not be back, so that version behaves differently.
func (c Repairer) checkAgain(ctx context.Context, last change.Entry, r repair.Result) error {
	if !last.Cause.Live || last.State != change.Committed {
		return nil
	}
	head, err := c.Session(ctx, last.Session)
	v := c.Version(head.Version)
	if err != nil || v.Verified || !v.Newer {
		return err
	}
	for _, f := range last.Cause.Findings {
		if slices.ContainsFunc(r.Fixed, func(d repair.Diagnosis) bool { return d.Rule == f.Rule && isBroken(d) }) {
			return fmt.Errorf("mend was not verified with version %s: rule %s is broken again after a repair", v.Name, f.Rule)
		}
	}
	return nil
}

// repairRetries are the delays before a repair is planned again because another program
// wrote to the same records, or uses the journal or the store.
var repairRetries = [...]time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond}

// An acceptFunc returns an error if a plan must not be applied.
type acceptFunc = func(context.Context, repair.Result) error

// Repair implements live.Repairer. It repairs only findings with the tier [repair.Auto]. If another program interferes,
// it plans again, and returns the error of the last try. The error is a [*repair.AskError], or comes from
// [mend.Store.ProposeRepair] or [mend.Store.Apply].
func (c Repairer) Repair(ctx context.Context, head change.Head, r repair.Request, accept acceptFunc) (
	entry string, result repair.Result, err error,
) {
	for _, wait := range repairRetries {
		if entry, result, err = c.repair(ctx, head, r, accept); !isInterference(err) {
			return entry, result, err
		}
		head = change.Head{ID: head.ID} // the other program may have changed the head
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return entry, result, err
		}
	}
	return c.repair(ctx, head, r, accept)
}

func (c Repairer) repair(ctx context.Context, head change.Head, r repair.Request, accept acceptFunc) (
	string, repair.Result, error,
) {
	head, err := c.lookUp(ctx, head)
	if err != nil {
		return "", repair.Result{}, err
	}
	r.Unattended = true
	result, err := c.ProposeRepair(ctx, head, r)
	if err == nil {
		err = checkTier(head.ID, r, result)
	}
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

// lookUp returns the head, or the listed head of the same session if the head has only an ID.
func (c Repairer) lookUp(ctx context.Context, head change.Head) (change.Head, error) {
	if head.Ref != (change.Ref{}) {
		return head, nil
	}
	return c.Session(ctx, head.ID)
}

// isInterference reports whether another program caused the error, so that a retry may
// succeed.
func isInterference(err error) bool {
	var conflict *change.ConflictError
	var locked *journal.LockedError
	var stale *mend.StaleError
	return errors.As(err, &conflict) || errors.As(err, &stale) || errors.As(err, &locked) ||
		errors.Is(err, change.ErrLocked)
}
