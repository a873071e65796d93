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
	"time"

	"mend/agent/opencode/render"
	"mend/change"
	"mend/repair"
	"mend/scancache"
	"mend/session"
	"mend/undo"
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

// Scan examines the sessions, several at a time, and yields a finding for each in the
// order of heads. It reads only. Of a session that has not changed since an earlier
// scan it reads only the stamp. If a session cannot be examined, its finding has an
// Err; the sequence ends early only when ctx does.
func (c *Client) Scan(ctx context.Context, heads []session.Session) iter.Seq[Finding] {
	return c.scan(ctx, heads, false)
}

// ScanAll is Scan for heads that are all sessions of the store. It also keeps the
// summary for [Client.LastScan], and a client made by [Client.Cached] lists the
// orphans meanwhile for the next [Client.Orphans].
func (c *Client) ScanAll(ctx context.Context, heads []session.Session) iter.Seq[Finding] {
	return c.scan(ctx, heads, true)
}

func (c *Client) scan(ctx context.Context, heads []session.Session, whole bool) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		s, meanwhile := c.lists, func(context.Context) {}
		switch {
		case s == nil:
			s = c.newScan()
		case whole:
			meanwhile = s.FindOrphans
		}
		s.Start(ctx, c.scanSettings())
		var summary Summary
		stopped := false
		all := mapOrdered(ctx, heads, func(ctx context.Context, h session.Session) examined { return c.examine(ctx, s, h) }, meanwhile)
		for e := range all {
			s.Add(e.Session, e.result)
			summary.Add(e.Session, e.Severity(), e.Busy, e.Err)
			if stopped = !yield(e.Finding); stopped {
				break
			}
		}
		switch finished := !stopped && ctx.Err() == nil; {
		case finished && whole:
			summary.Time = c.opt.Now()
			s.Save(ctx, true, &summary)
		default:
			s.Save(ctx, finished && len(heads) == c.listed, nil)
		}
	}
}

// An examined session is a finding, with the result to be kept for later scans.
type examined struct {
	Finding
	result scancache.Result
}

// examine returns what an earlier scan found in a session that has not changed since,
// and else reads the session.
func (c *Client) examine(ctx context.Context, s *scancache.Scan, head session.Session) examined {
	began := c.clock()
	if r, ok := s.Lookup(ctx, head, c.opt.Now()); ok {
		return examined{Finding{Session: head, Thinking: r.Thinking, Diagnoses: r.Diagnoses}, r}
	}
	f, v := c.quickCheck(ctx, head)
	if !v.lasts {
		f, v = c.diagnose(ctx, head)
	}
	r := scancache.Result{From: v.from.UnixMilli(), Until: v.until.UnixMilli(), Idle: v.idle, Thinking: f.Thinking, Diagnoses: f.Diagnoses}
	if v.lasts && scancache.Distinct(v.stamp, began) {
		r.Stamp = v.stamp.Sum
	}
	return examined{f, r}
}

// A validity says how long a finding is valid.
type validity struct {
	lasts       bool          // as long as the stamp and the rest of this say; false: no longer than this scan
	stamp       session.Stamp // of the records
	from, until time.Time     // the next prompt has the same place among the messages
	idle        bool          // only while no process has the store open
}

// quickCheck is diagnose for a session in which nothing is wrong, without building
// the session. If the validity does not last, the session must be diagnosed.
func (c *Client) quickCheck(ctx context.Context, head session.Session) (Finding, validity) {
	now := c.now()
	g := repair.Glance{Now: now}
	s, stamp := c.store.ScanRecords(ctx, head, g.Message)
	if s == nil || !g.Plain(s) || s.CheckDepth() != nil {
		return Finding{}, validity{}
	}
	f := Finding{Session: head, Thinking: g.Thinks()}
	if c.opt.Thinking != nil {
		f.Thinking = *c.opt.Thinking
	}
	v := validity{lasts: !now.IsZero(), stamp: stamp}
	v.from, v.until = g.Span()
	return f, v
}

// diagnose reads a session and diagnoses it. The finding does not last if it depends
// on more than the records, such as on the time of day or on a file elsewhere. If the
// newest answer was not finished long ago, it lasts until a process opens the store.
func (c *Client) diagnose(ctx context.Context, head session.Session) (Finding, validity) {
	s, stamp, o, err := c.loadStamped(ctx, head)
	if err != nil {
		return Finding{Session: head, Err: err}, validity{}
	}
	busy := repair.Busy(s, o.Now, o.Held)
	v := validity{lasts: len(s.Stray) == 0 && !busy && !hasUnknownParent(s) && !o.WrongClock, stamp: stamp, idle: unfinished(s)}
	v.from, v.until = render.Span(s, o.Now)
	o.Missing = func(path string) bool {
		v.lasts = false
		return missing(path)
	}
	f := Finding{Session: head, Busy: busy, Thinking: c.thinks(s), Diagnoses: repair.Diagnose(s, o)}
	return f, v
}

// hasUnknownParent reports whether a message names a prompt that is not in the session:
// whether parts of that prompt are left is part of the diagnosis, but not of the stamp.
func hasUnknownParent(s *session.Session) bool {
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
