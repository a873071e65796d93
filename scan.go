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

	"mend/change"
	"mend/repair"
	"mend/session"
)

// ErrNoSession says that the store has no such session.
var ErrNoSession = errors.New("no such session")

// A Finding is a session and what is wrong with it.
type Finding struct {
	Session   session.Session // without its messages
	Busy      bool            // the agent is at work in it
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

// Scan examines one session after the other. It reads only. A session that
// cannot be examined is a finding with an Err; the sequence ends early only when
// the context does.
func (c *Client) Scan(ctx context.Context, heads []session.Session) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		for _, h := range heads {
			f := c.examine(ctx, h)
			if ctx.Err() != nil || !yield(f) {
				return
			}
		}
	}
}

func (c *Client) examine(ctx context.Context, head session.Session) Finding {
	s, o, err := c.load(ctx, head)
	if err != nil {
		return Finding{Session: head, Err: err}
	}
	return Finding{
		Session:   head,
		Busy:      repair.Busy(s, o.Now, o.Held),
		Diagnoses: repair.Diagnose(s, o),
	}
}

// load reads a session, and what the rules need to know besides it.
func (c *Client) load(ctx context.Context, head session.Session) (*session.Session, repair.Options, error) {
	s, err := c.store.Load(ctx, head)
	if err != nil {
		return nil, repair.Options{}, err
	}
	o := repair.Options{Now: c.opt.Now(), Version: c.opt.AgentVersion, Thinking: c.opt.Thinking, Missing: missing}
	if m := s.LatestAssistant(); m != nil && !m.Finished() { // else it does not matter, and it is dear to find out
		o.Held, err = c.store.Held(ctx)
	}
	return s, o, err
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
	Error   *repair.APIError // what the model API said; its class and message decide
	Force   bool             // although the agent is at work in the session

	Placeholder, Cancelled string // texts that a repair writes; see [repair.Request]
}

// ProposeRepair plans the cure of one session. It reads only: a dry run ends
// here, and [Client.Apply] carries the plan out. A healthy session has an empty
// plan. The error wraps [repair.ErrBusy] if the session is busy and Force is not set.
func (c *Client) ProposeRepair(ctx context.Context, head session.Session, r RepairRequest) (repair.Result, error) {
	s, o, err := c.load(ctx, head)
	if err != nil {
		return repair.Result{}, err
	}
	return repair.Plan(s, repair.Request{
		Options: o, Latent: r.Latent, Classes: r.Classes, Error: r.Error, Force: r.Force,
		Placeholder: r.Placeholder, Cancelled: r.Cancelled,
	})
}

// current is what the records of ops hold now, and the session as it is stored,
// nil if it is gone.
func (c *Client) current(ctx context.Context, id string, ops []change.Op) ([]*change.Image, *session.Session, error) {
	refs := make([]session.Ref, len(ops))
	for i, o := range ops {
		refs[i] = o.Ref
	}
	now, err := c.store.Read(ctx, refs)
	if err != nil {
		return nil, nil, err
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
