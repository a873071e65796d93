package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/claude/transcript"
	"mend/change"
	"mend/jsonedit"
	"mend/repair"
	"mend/request"
)

// Uncompact plans to take back the newest compaction of a transcript: its boundary becomes a
// note whose parent is the record before it, so the program sends the whole history again. What
// is broken in that is fixed in the same plan.
//
// The error wraps [repair.ErrBusy] if a process uses the session and Force is not set,
// [repair.ErrNotCompacted], [repair.ErrHarmful], or is a [*repair.TooLargeError].
func Uncompact(s Source, r repair.UncompactRequest) (repair.Uncompacted, error) {
	u, err := uncompact(New(s), r)
	if err != nil {
		return repair.Uncompacted{}, fmt.Errorf("uncompacting %s: %w", s.Ref.Session, err)
	}
	return u, nil
}

func uncompact(c *Case, r repair.UncompactRequest) (u repair.Uncompacted, err error) {
	if why := c.Busy(); why != "" && !r.Force {
		return u, fmt.Errorf("%w: %s", repair.ErrBusy, why)
	}
	b := c.conv.Boundary
	if b == nil {
		return u, repair.ErrNotCompacted
	}
	d := c.Draft().(*draft)
	if _, err := d.Apply(repair.Finding{}, repair.Fix{Edit: func(repair.Draft) error { return d.removeBoundary(b) }}); err != nil {
		return u, fmt.Errorf("%w: %w", repair.ErrHarmful, err)
	}
	before := c.Request()
	fixed, err := repair.Plan(c.base.Ref.Session, d.Case(), repair.Request{Options: r.Options, Force: true})
	if err != nil {
		return u, err
	}
	after := fixed.After.(*Case)
	if slices.ContainsFunc(fixed.Remaining, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken }) || len(after.conv.Chain) <= len(c.conv.Chain) {
		return u, repair.ErrHarmful
	}
	u.Fixed, u.Before, u.After = fixed.Fixed, before.Tokens(), after.Request().Tokens()
	u.Messages = messagesIn(after.Request()) - messagesIn(before)
	if limit := repair.DefaultWindow * repair.MaxPercent / 100; u.After > limit {
		if after, err = after.trimTo(limit, r, &u); err != nil {
			return u, err
		}
	}
	for _, o := range c.conv.Records() {
		if o.IsBoundary() && c.conv.Owns(o) && o != b {
			u.Earlier++
		}
	}
	u.Plan = change.Plan{Session: c.base.Ref.Session, Cause: change.Cause{Kind: change.CauseUncompact}, Ops: change.Diff(c.Records, after.Records), Force: r.Force}
	return u, nil
}

// trimTo trims results until the request has at most limit tokens, if the request allows that.
func (c *Case) trimTo(limit int, r repair.UncompactRequest, u *repair.Uncompacted) (*Case, error) {
	tooLarge := &repair.TooLargeError{Tokens: u.After, Limit: limit}
	if !r.Trim {
		return nil, tooLarge
	}
	after, t, err := c.trim(repair.TrimRequest{Goal: limit, KeepTurns: repair.DefaultKeepTurns, Protected: r.Protected})
	if err == nil {
		err = repair.CheckHarm(c, after)
	}
	if err != nil {
		return nil, err
	}
	if u.Outputs, u.After = t.Outputs, t.After; u.After > limit {
		tooLarge.Tokens = u.After
		return nil, tooLarge
	}
	return after, nil
}

// removeBoundary makes the boundary of a compaction a note behind the record before it.
func (d *draft) removeBoundary(b *transcript.Record) error {
	up := b.LogicalParent()
	if d.c.conv.Record(up) == nil {
		before := d.c.conv.LastBefore(b)
		if before == nil {
			return errNoBlock
		}
		up = before.UUID
	}
	raw, err := jsonedit.Set(d.raw(b.UUID), []byte(`"informational"`), "subtype")
	if err == nil {
		raw, err = jsonedit.Set(raw, jsonedit.Quote(up), "parentUuid")
	}
	if err == nil {
		d.set(b.UUID, raw)
	}
	return err
}

// messagesIn returns how many stored records the request is made of.
func messagesIn(q request.Request) (n int) {
	for _, t := range q.Turns {
		n += len(t.Messages)
	}
	return n
}
