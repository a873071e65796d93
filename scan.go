package mend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"mend/change"
	"mend/repair"
	"mend/session"
	"mend/undo"
	"mend/wire"
)

// ErrNoSession says that the store has no such session.
var ErrNoSession = errors.New("no such session")

// A Finding is a session and what is wrong with it.
type Finding struct {
	Session   session.Session // without its messages
	Busy      bool            // the agent is at work in it
	Thinking  bool            // it was diagnosed for a model that is asked to think
	Diagnoses []repair.Diagnosis
	Err       error // why the session could not be examined; the rest is then empty
}

// Severity is the worst severity of the diagnoses; 0 for a healthy session.
func (f *Finding) Severity() repair.Severity {
	var worst repair.Severity
	for _, d := range f.Diagnoses {
		if worst == 0 || d.Severity < worst {
			worst = d.Severity
		}
	}
	return worst
}

// Scan examines the sessions, several at a time, and tells of them in the order
// of heads. It reads only, and of a session that has not changed since an earlier
// scan only the stamps. A session that cannot be examined is a finding with an
// Err; the sequence ends early only when the context does.
func (c *Client) Scan(ctx context.Context, heads []session.Session) iter.Seq[Finding] {
	return c.scan(ctx, heads, nil)
}

// ScanAll is Scan for all sessions, after which [Client.Orphans] is asked: a client
// that remembers looks for orphans meanwhile.
func (c *Client) ScanAll(ctx context.Context, heads []session.Session) iter.Seq[Finding] {
	if r, ok := c.store.(*recall); ok {
		return c.scan(ctx, heads, r.lookForOrphans)
	}
	return c.scan(ctx, heads, nil)
}

func (c *Client) scan(ctx context.Context, heads []session.Session, besides func(context.Context)) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		x := c.openIndex()
		x.held = sync.OnceValue(func() bool {
			held, err := c.store.Held(ctx)
			return !held.IsZero() || err != nil
		})
		defer x.save()
		for a := range c.answers(ctx, x, heads, besides) {
			x.learn(a)
			if !yield(a.Finding) {
				return
			}
		}
		x.complete = len(heads) == c.listed
	}
}

// An answer is a finding, with the stamp of the records that it is about if it
// depends on nothing else.
type answer struct {
	Finding
	stamp session.Stamp
	idle  bool // it holds while nobody has the store open
	span
}

// A span is the time for which a finding holds: outside it the next prompt comes
// among other messages of the session.
type span struct{ from, until time.Time }

func (s span) holds(now time.Time) bool { return !now.Before(s.from) && now.Before(s.until) }

// ask looks a session up in the index, and examines it if it has changed.
func (c *Client) ask(ctx context.Context, x *index, head session.Session) answer {
	now := c.clock()
	if a, ok := c.lookUp(ctx, x, head); ok {
		return a
	}
	a, lasts := c.glance(ctx, head)
	if !lasts {
		a, lasts = c.examine(ctx, head)
	}
	if !lasts || !a.stamp.Newest.Before(now.Add(-tick)) {
		a.stamp = session.Stamp{}
	}
	return a
}

// glance is examine for a session in which nothing is wrong as far as its records
// show at a glance. It reports whether it is one.
func (c *Client) glance(ctx context.Context, head session.Session) (a answer, plain bool) {
	now := c.now()
	g := repair.Glance{Now: now}
	s, stamp := c.store.ScanRecords(ctx, head, g.Message)
	if s == nil || !g.Plain(s) || s.CheckDepth() != nil {
		return answer{}, false
	}
	a = answer{Finding: Finding{Session: head, Thinking: g.Thinks()}, stamp: stamp}
	a.from, a.until = g.Span()
	if c.opt.Thinking != nil {
		a.Thinking = *c.opt.Thinking
	}
	return a, !now.IsZero()
}

// examine reads a session and tells what is wrong, and whether that lasts as long
// as the stamp: it depends on nothing but the records, such as the time of day. Of
// a session in which the agent was at work long ago it does, until somebody opens
// the store.
func (c *Client) examine(ctx context.Context, head session.Session) (a answer, lasts bool) {
	s, stamp, o, err := c.loadStamped(ctx, head)
	if err != nil {
		return answer{Finding: Finding{Session: head, Err: err}}, false
	}
	busy := repair.Busy(s, o.Now, o.Held)
	lasts = len(s.Stray) == 0 && !busy && !namesOthers(s) && !o.WrongClock
	o.Missing = func(path string) bool {
		lasts = false
		return missing(path)
	}
	f := Finding{Session: head, Busy: busy, Thinking: c.thinks(s), Diagnoses: repair.Diagnose(s, o)}
	a = answer{Finding: f, stamp: stamp, idle: unfinished(s)}
	a.from, a.until = wire.Span(s, o.Now)
	return a, lasts
}

// namesOthers reports whether an answer names a prompt that is not in the
// session: parts that are left of it would be told of, too.
func namesOthers(s *session.Session) bool {
	ids := make(map[string]bool, len(s.Messages))
	for i := range s.Messages {
		ids[s.Messages[i].ID] = true
	}
	return slices.ContainsFunc(s.Messages, func(m session.Message) bool { return m.Parent != "" && !ids[m.Parent] })
}

// load reads a session, and what the rules need to know besides it.
func (c *Client) load(ctx context.Context, head session.Session) (*session.Session, repair.Options, error) {
	s, _, o, err := c.loadStamped(ctx, head)
	return s, o, err
}

// examinable reads a session whose records can all be looked into. The error is of
// the store, or a [*session.DepthError].
func (c *Client) examinable(ctx context.Context, head session.Session) (*session.Session, session.Stamp, error) {
	s, stamp, err := c.store.LoadStamped(ctx, head)
	if err == nil {
		err = s.CheckDepth()
	}
	if err != nil {
		return nil, stamp, err
	}
	return s, stamp, nil
}

// loadStamped is load, with the stamp of the records.
func (c *Client) loadStamped(ctx context.Context, head session.Session) (*session.Session, session.Stamp, repair.Options, error) {
	s, stamp, err := c.examinable(ctx, head)
	if err != nil {
		return nil, stamp, repair.Options{}, err
	}
	o := repair.Options{Now: c.opt.Now(), WrongClock: c.wrongClock, Foreign: c.foreign, Reads: c.models.reads, Version: c.opt.AgentVersion, Thinking: c.opt.Thinking, Missing: missing}
	if unfinished(s) { // else it does not matter, and it is dear to find out
		o.Held, err = c.store.Held(ctx)
	}
	return s, stamp, o, err
}

// unfinished reports whether the agent may be at work in the session.
func unfinished(s *session.Session) bool {
	m := s.LatestAssistant()
	return m != nil && !m.Finished()
}

// missing reports whether nothing is at the path, as far as can be told.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Session is the session of the store whose id is id, or starts with it if no
// other does. The error wraps [ErrNoSession], or names the sessions that fit.
func (c *Client) Session(ctx context.Context, id string) (session.Session, error) {
	heads, err := c.Sessions(ctx)
	if err != nil {
		return session.Session{}, err
	}
	var fit []session.Session
	for _, h := range heads {
		if h.ID == id {
			return h, nil
		}
		if strings.HasPrefix(h.ID, id) && id != "" {
			fit = append(fit, h)
		}
	}
	switch len(fit) {
	case 0:
		return session.Session{}, fmt.Errorf("%w: %q", ErrNoSession, id)
	case 1:
		return fit[0], nil
	}
	return session.Session{}, fmt.Errorf("%w: %q fits %s and %d more", ErrNoSession, id, fit[0].ID, len(fit)-1)
}

// A RepairRequest says what shall be cured. The zero value means all that is
// broken.
type RepairRequest struct {
	Latent  bool             // also what only another version or setting would refuse
	Classes []repair.Class   // only these; nil for all
	Error   *repair.APIError // what the model API said; its class and message decide what is first
	All     bool             // with Error: all of its kind, not only what it names
	Force   bool             // although the agent is at work in the session

	Placeholder, Cancelled string // texts that a repair writes; see [repair.Request]
}

// ProposeRepair plans the cure of one session. It reads only: a dry run ends
// here, and [Client.Apply] carries the plan out. A healthy session has an empty
// plan. An error that came before, and of which only the provider can tell the
// places, is repaired as with All. The error wraps [repair.ErrBusy] if the session is busy and Force is not set.
func (c *Client) ProposeRepair(ctx context.Context, head session.Session, r RepairRequest) (repair.Result, error) {
	s, o, err := c.load(ctx, head)
	if err != nil {
		return repair.Result{}, err
	}
	o.WrongClock = o.WrongClock && !r.Force
	return repair.Plan(s, repair.Request{
		Options: o, Latent: r.Latent, Classes: r.Classes, Error: r.Error, Force: r.Force,
		All:         r.All || c.cameAgain(head.ID, r.Error),
		Placeholder: r.Placeholder, Cancelled: r.Cancelled,
	})
}

// current is what the records of ops hold now, and the session as it is stored, nil
// if it is gone or does not count.
func (c *Client) current(ctx context.Context, id string, ops []change.Op) ([]*change.Image, *session.Session, error) {
	refs := make([]session.Ref, len(ops))
	for i, o := range ops {
		refs[i] = o.Ref
	}
	now, err := c.store.Read(ctx, refs)
	if err != nil || !undo.NeedsSession(ops) {
		return now, nil, err
	}
	heads, err := c.store.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(heads, func(h session.Session) bool { return h.ID == id })
	if i < 0 {
		return now, nil, nil
	}
	s, err := c.store.Load(ctx, heads[i])
	return now, s, err
}
