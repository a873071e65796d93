package mend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/scancache"
	"mend/repair"
	"mend/undo"
)

// ErrNoSession means that the store has no such session.
var ErrNoSession error = fail.New(fail.Usage, `"mend scan --all" lists the sessions`, "no such session")

// A Finding is a session with its diagnoses.
type Finding struct {
	Session   change.Head // without its messages
	Busy      bool        // the agent is working in it
	Provider  string      // the API that it was diagnosed for, as its agent names it
	Thinking  bool        // it was diagnosed for a model that is asked to think
	Diagnoses []repair.Diagnosis
	Err       error // why the session could not be examined; the rest is then empty
}

// Severity returns the worst severity of the diagnoses, 0 for a healthy session. A session that
// could not be examined is broken.
func (f *Finding) Severity() repair.Severity {
	if f.Err != nil {
		return repair.Broken
	}
	var worst repair.Severity
	for _, d := range f.Diagnoses {
		if worst == 0 || d.Severity < worst {
			worst = d.Severity
		}
	}
	return worst
}

// Shown returns how the agent shows the session.
func (f *Finding) Shown() repair.Shown { return repair.ShownAs(f.Diagnoses) }

// Fixable reports whether a broken diagnosis has a fix.
func (f *Finding) Fixable() bool {
	return slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool {
		return d.Severity == repair.Broken && d.Fix != ""
	})
}

// Scan examines the sessions, several at a time, and yields a finding for each in the order of heads. It
// only reads. For a session that has not changed since an earlier scan it reads only the stamp. If a session
// cannot be examined, its finding has an Err; the sequence ends early only when ctx does. If heads are all
// sessions of the store, Scan keeps the results for later scans.
func (c *Store) Scan(ctx context.Context, heads []change.Head) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		p, whole := cmp.Or(c.pass, c.newPass()), len(heads) == c.last.Load().count
		p.start(heads)
		lost := c.salvageLosses()
		examine := func(ctx context.Context, h change.Head) examined { return c.examine(ctx, p, h) }
		for e := range mapOrdered(ctx, heads, examine) {
			p.add(e.result)
			e.Diagnoses = append(slices.Clip(e.Diagnoses), lost[e.Session.ID]...)
			if !yield(e.Finding) {
				return
			}
		}
		if whole && ctx.Err() == nil {
			p.save(ctx)
		}
	}
}

// CheckFile checks the file of the store, if all sessions are in one file: whether its -wal belongs to it, its schema,
// its free list, and the whole file if it has at most `most` bytes, or if most is 0. The error is a
// [*change.DamagedError] if it is damaged; content that can be read is still correct. A store made by [Store.WithCache]
// checks each state of a file once; its next scan of all sessions records the damage.
func (c *Store) CheckFile(ctx context.Context, most int64) error {
	info, err := os.Stat(c.store.ID().Root)
	if err != nil || c.pass != nil && c.pass.knownSound() {
		return nil
	}
	what := change.CheckAll
	if most > 0 && info.Size() > most {
		what = change.CheckFree
	}
	err = c.store.CheckFile(ctx, what)
	if c.pass != nil {
		c.pass.noteCheck(what, err)
	}
	return err
}

// CheckAccess returns an error if some sessions cannot be listed, or if the store is in use by the agent, but the agent
// cannot write to it, and so cannot answer a prompt. A store that is not in use may be a read-only copy.
func (c *Store) CheckAccess() error {
	return c.store.CheckAccess(slices.ContainsFunc(c.opt.Agents.Stores(), func(l Located) bool {
		path, err := filepath.EvalSymlinks(l.Path)
		return err == nil && path == c.store.ID().Root
	}))
}

// checkListed returns an error if sessions, or their folders, may be missing in a list of the store: a folder
// or a row cannot be read, or is a link.
func (c *Store) checkListed(heads []change.Head) error {
	for _, h := range heads {
		for _, s := range h.Stray {
			if h.ID == "" && s.Kind != change.StrayOther && s.Kind != change.StrayIgnored && s.Kind != change.StrayFile ||
				h.Directory == "" && s.Kind == change.StrayHidden {
				return fail.New(fail.Problems, "", "listing the sessions of %s: not all can be read: %s: %s", c.ID().Root, s.Path,
					s.Why)
			}
		}
	}
	return c.store.CheckAccess(false)
}

// ScanOne scans one session. The error is the finding's error or the context's.
func (c *Store) ScanOne(ctx context.Context, head change.Head) (found Finding, err error) {
	for found = range c.Scan(ctx, []change.Head{head}) {
	}
	return found, cmp.Or(ctx.Err(), found.Err)
}

// Examine examines one session of [Store.Sessions] for a request. It reads the session and uses no cache.
func (c *Store) Examine(ctx context.Context, head change.Head, r repair.Request) (agent.Examination, error) {
	c.store.Refresh() // the settings may have changed
	return c.diagnose(ctx, head, c.withOptions(r).Options)
}

// Case reads one session of [Store.Sessions] for the engine, even a busy one.
func (c *Store) Case(ctx context.Context, head change.Head) (*repair.Case, error) {
	return c.CaseFor(ctx, head, nil)
}

// CaseFor is Case for an error that only the provider can judge: the content that it may be about is part of the case.
func (c *Store) CaseFor(ctx context.Context, head change.Head, e *repair.APIError) (*repair.Case, error) {
	return c.store.Case(ctx, head, repair.Request{Options: c.repairOptions(), Force: true, Error: e})
}

// An examined is a finding with the result for later scans.
type examined struct {
	Finding
	result *scancache.Result // nil if it is not kept
}

// examine returns the result of an earlier scan of an unchanged session, and otherwise reads the session.
func (c *Store) examine(ctx context.Context, p *pass, head change.Head) examined {
	began, settings := c.clock(), p.settingsOf(head)
	if r := p.lookup(ctx, head, settings); r != nil {
		return examined{Finding{Session: head, Provider: r.Provider, Thinking: r.Thinking, Diagnoses: r.Diagnoses}, r}
	}
	e, err := c.diagnose(ctx, head, c.repairOptions())
	if err != nil {
		return examined{Finding: Finding{Session: head, Err: err}}
	}
	f := Finding{Session: head, Busy: e.Busy, Provider: e.Provider, Thinking: e.Thinking, Diagnoses: e.Diagnoses}
	if !e.Stamp.Distinct(began) {
		return examined{Finding: f}
	}
	r := &scancache.Result{
		Stamp: string(e.Stamp.Sum[:]), Settings: settings, Unfinished: e.Unfinished, Thinking: e.Thinking,
		Provider: e.Provider, Diagnoses: e.Diagnoses,
	}
	return examined{f, r}
}

// diagnose reads a session and diagnoses it.
func (c *Store) diagnose(ctx context.Context, head change.Head, o repair.Options) (agent.Examination, error) {
	e, err := c.store.Examine(ctx, head, o)
	if !errors.Is(err, errors.ErrUnsupported) {
		return e, err
	}
	s, err := c.store.Case(ctx, head, repair.Request{Options: o})
	if err != nil {
		return agent.Examination{}, err
	}
	return agent.Examination{Busy: s.Busy != "", Diagnoses: repair.Diagnose(s)}, nil
}

// MainSession returns the session that a user continues: for a subagent's session its main session if that exists, for
// any other the session itself.
func (c *Store) MainSession(ctx context.Context, h change.Head) change.Head {
	for n := 100; h.Parent != "" && n > 0; n-- { // a damaged store can have a cycle
		parent, err := c.Session(ctx, h.Parent)
		if err != nil {
			break
		}
		h = parent
	}
	return h
}

// Session returns the session with exactly that id. It lists all sessions only if none were listed yet, or if
// the store cannot find one. The error wraps [ErrNoSession] if none exists.
func (c *Store) Session(ctx context.Context, id string) (change.Head, error) {
	if c.last.Load().count > 0 { // repairOptions needs one list
		if head, err := c.store.SessionByID(ctx, id); err == nil {
			return head, nil
		}
	}
	heads, err := c.Sessions(ctx)
	i := slices.IndexFunc(heads, func(h change.Head) bool { return h.ID == id })
	if err == nil && i < 0 {
		err = fmt.Errorf("%w: %q", ErrNoSession, id)
	}
	if err != nil {
		return change.Head{}, err
	}
	return heads[i], nil
}

// ListOnce returns a copy of the store that lists its sessions only once, for the plans of several undos.
func (c *Store) ListOnce(ctx context.Context) (*Store, error) {
	if c.byID != nil {
		return c, nil
	}
	heads, err := c.store.List(ctx)
	copied := *c
	copied.byID = make(map[string]change.Head, len(heads))
	for _, h := range slices.Backward(heads) { // of several the first counts
		copied.byID[h.ID] = h
	}
	return &copied, err
}

// find returns the session with an id, and whether it exists. It lists all sessions only if the store cannot find one
// by id, and for a store of [Store.ListOnce] only once.
func (c *Store) find(ctx context.Context, id string) (head change.Head, found bool, err error) {
	if c.byID == nil {
		if head, err = c.store.SessionByID(ctx, id); err == nil {
			return head, true, nil
		}
	}
	if c, err = c.ListOnce(ctx); err != nil {
		return head, false, err
	}
	head, found = c.byID[id]
	return head, found, nil
}

// ProposeRepair plans the repair of one session. It only reads; [Store.Apply] applies the plan. A healthy session has an
// empty plan. If only the provider knows the blocks of an error, and the same error was repaired before, all blocks of
// its kind are repaired. The result has no After, which would take several times the memory of the session while the
// plan is applied. The error wraps [repair.ErrBusy] if the session is busy and Force is not set.
func (c *Store) ProposeRepair(ctx context.Context, head change.Head, r repair.Request) (repair.Result, error) {
	if err := c.Changeable(ctx); err != nil {
		return repair.Result{}, err
	}
	r = c.withOptions(r)
	r.All = r.All || c.isRepeated(ctx, head.ID, r.Error)
	seen := c.newestEvent()
	s, err := c.store.Case(ctx, head, r)
	if err != nil {
		return repair.Result{}, err
	}
	result, err := repair.Plan(head.ID, s, r)
	result.After = nil
	result.Plan.Seen, result.Plan.Cause.Title, result.Plan.Cause.Folder = seen, head.Title, head.Directory
	result.Plan.AgentVersion = cmp.Or(r.Version, head.Version)
	if e := result.Plan.Cause.Error; e != nil && len(result.Plan.Ops) > 0 {
		if f, err := c.store.Forecast(ctx, head, r.Options); err == nil { // otherwise the model is unknown
			e.Provider, e.Model = f.Request.Model.ProviderID, f.Request.Model.ModelID
		}
	}
	if err == nil {
		err = c.checkLinks(ctx, result.Plan)
	}
	return result, err
}

// ProposeTrim plans to make the next request of a session smaller. It only reads; [Store.Apply] applies the
// plan. The error is from the store or from [repair.Trim].
func (c *Store) ProposeTrim(ctx context.Context, head change.Head, r repair.TrimRequest) (t repair.Trimmed, err error) {
	r.Options = c.repairOptions()
	err = c.propose(ctx, head, r.Force, &t.Plan, func(s *repair.Case) error {
		t, err = repair.Trim(head.ID, s, r)
		return err
	})
	return t, err
}

// ProposeUncompact plans to remove the newest compaction of a session. It only reads; [Store.Apply] applies
// the plan. The error is from the store or from [repair.Uncompact].
func (c *Store) ProposeUncompact(
	ctx context.Context, head change.Head, r repair.UncompactRequest,
) (u repair.Uncompacted, err error) {
	r.Options = c.repairOptions()
	err = c.propose(ctx, head, r.Force, &u.Plan, func(s *repair.Case) error {
		u, err = repair.Uncompact(head.ID, s, r)
		return err
	})
	return u, err
}

// propose reads a session and plans a change of it with f.
func (c *Store) propose(
	ctx context.Context, head change.Head, force bool, p *change.Plan, f func(*repair.Case) error,
) error {
	if err := c.Changeable(ctx); err != nil {
		return err
	}
	seen := c.newestEvent()
	s, err := c.store.Case(ctx, head, repair.Request{Options: c.repairOptions(), Force: force})
	if err == nil {
		err = f(s)
	}
	if err != nil {
		return err
	}
	p.Seen = seen
	return c.checkLinks(ctx, *p)
}

// checkLinks returns a [*change.LinkedError] if a file that the plan changes has several hard links. Otherwise the
// store would refuse the plan after the user has agreed to it.
func (c *Store) checkLinks(ctx context.Context, p change.Plan) error {
	if len(p.Ops) == 0 {
		return nil
	}
	refs := make([]change.Ref, 0, len(p.Ops))
	for _, o := range p.Ops {
		if o.Ref.Kind != change.KindFolder {
			refs = append(refs, o.Ref)
		}
	}
	return c.store.CheckLinks(ctx, refs)
}

// current returns the present content of the records of ops, and the refs of all records of the session, nil
// if the session does not exist or [undo.NeedsSession] is false.
func (c *Store) current(ctx context.Context, id string, ops []change.Op) ([]*change.Image, []change.Ref, error) {
	now, err := c.read(ctx, ops)
	if err != nil || !undo.NeedsSession(ops) {
		return now, nil, err
	}
	head, found, err := c.find(ctx, id)
	if err != nil || !found {
		return now, nil, err
	}
	records, err := c.store.Records(ctx, head)
	all := make([]change.Ref, len(records)) // not nil: the session exists
	for i := range records {
		all[i] = records[i].Ref
	}
	return now, all, err
}

// readTogether is how many records are read at once.
const readTogether = 256

// read returns the present content of the records of ops: the image of the op itself if it is equal, to save memory.
func (c *Store) read(ctx context.Context, ops []change.Op) ([]*change.Image, error) {
	now := make([]*change.Image, 0, len(ops))
	for some := range slices.Chunk(ops, readTogether) {
		refs := make([]change.Ref, len(some))
		for i, o := range some {
			refs[i] = o.Ref
		}
		images, err := c.store.Read(ctx, refs)
		if err != nil {
			return nil, err
		}
		for i, image := range images {
			switch o := some[i]; {
			case image.Equal(o.Pre):
				image = o.Pre
			case image.Equal(o.Post):
				image = o.Post
			}
			now = append(now, image)
		}
	}
	return now, nil
}
