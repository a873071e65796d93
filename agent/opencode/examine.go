package opencode

import (
	"context"
	"slices"
	"sync"

	"mend/agent"
	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/repair"
	"mend/session"
)

// Examine implements [agent.Store].
func (s *store) Examine(ctx context.Context, head session.Head, o repair.Options) (agent.Examination, error) {
	if e, ok := s.quickCheck(ctx, head, o); ok {
		return e, nil
	}
	return s.diagnose(ctx, head, o)
}

// Refresh implements [agent.Store].
func (s *store) Refresh() {
	s.projects.Clear()
	s.models.reset()
	s.holder.Store(nil)
}

// Busy implements [agent.Store].
func (s *store) Busy(ctx context.Context, _ session.Head, unfinished bool) bool {
	return unfinished && s.isHeld(ctx)
}

// isHeld reports whether a process has had the store open since the last Refresh, or whether that
// is not known. To find out is slow.
func (s *store) isHeld(ctx context.Context) bool {
	find := sync.OnceValue(func() bool {
		started, err := s.Held(ctx)
		return err != nil || !started.IsZero()
	})
	if !s.holder.CompareAndSwap(nil, &find) {
		find = *s.holder.Load()
	}
	return find()
}

// quickCheck is diagnose for a session in which nothing is wrong, without building
// the session. It returns false if the session must be diagnosed.
func (s *store) quickCheck(ctx context.Context, head session.Head, o repair.Options) (agent.Examination, bool) {
	now := o.Typed()
	q := diagnose.QuickCheck{Now: now, Target: s.models.at(head.Directory).targetAs(o.Provider, "")}
	if o.AllSettings {
		return agent.Examination{}, false
	}
	var m record.Memory
	earlier, again := s.checked.take(head.Ref)
	if again {
		m = q.Memory(earlier, o.Now)
	}
	bare, stamp := s.ScanRecords(ctx, head, m, q.Message)
	if bare == nil || !q.Healthy(bare) || !q.Decides(o.Model) || bare.CheckDepth() != nil {
		return agent.Examination{}, false
	}
	s.checked.put(head.Ref, q.Checked())
	found, ok := diagnose.FindFolder(bare, o, diagnose.Environment{Folder: s.folder})
	if !ok || bare.Workspace != "" || now.IsZero() {
		return agent.Examination{}, false
	}
	e := agent.Examination{Diagnoses: found, Provider: targetName(q.Asked()), Thinking: q.Thinks(), Stamp: stamp, Until: q.StableUntil()}
	if o.Thinking != nil {
		e.Thinking = *o.Thinking
	}
	return e, true
}

// diagnose reads a session and diagnoses it. The examination has no stamp if it depends on more
// than the records, such as on the time of day, on a file elsewhere or on the folder of a workspace.
func (s *store) diagnose(ctx context.Context, head session.Head, o repair.Options) (agent.Examination, error) {
	loaded, stamp, err := s.loadStamped(ctx, head)
	if err != nil {
		return agent.Examination{}, err
	}
	env, err := s.environment(ctx, loaded, o.Provider)
	if err != nil {
		return agent.Examination{}, err
	}
	asked := false // for a file elsewhere
	env.Missing = func(path string) bool {
		asked = true
		return missing(path)
	}
	d := diagnose.Diagnose(loaded, o, env)
	e := agent.Examination{
		Busy: diagnose.WhyBusy(loaded, o.Now, env.Held, env.Free) != "", Thinking: thinks(loaded, o), Provider: targetName(d.Model, d.Target), Diagnoses: d.Found,
		Unfinished: unfinished(loaded), Until: render.StableUntil(loaded, o.Now),
	}
	if !asked && !e.Busy && !o.WrongClock && loaded.Workspace == "" && loaded.IndexFault == "" && len(loaded.Stray) == 0 && !hasUnknownParent(loaded) {
		e.Stamp = stamp
	}
	return e, nil
}

// thinks reports whether the model is asked to think: as the options say, or else as
// the session shows.
func thinks(s *record.Session, o repair.Options) bool {
	if o.Thinking != nil {
		return *o.Thinking
	}
	return diagnose.Thinks(s)
}

// hasUnknownParent reports whether a message names a prompt that is not in the session:
// whether parts of that prompt are left is part of the diagnosis, but not of the stamp.
func hasUnknownParent(s *record.Session) bool {
	ids := make(map[string]bool, len(s.Messages))
	for i := range s.Messages {
		ids[s.Messages[i].ID] = true
	}
	return slices.ContainsFunc(s.Messages, func(m record.Message) bool { return m.Parent != "" && !ids[m.Parent] })
}

// checkedSessions are the messages that were found healthy in the last sessions examined:
// before each prompt the same session is examined, of which only the end has changed. A
// session is remembered when it is examined again.
type checkedSessions struct {
	mu   sync.Mutex
	last []checkedSession // the latest first
}

type checkedSession struct {
	ref      session.Ref
	messages diagnose.CheckedMessages
}

// mostChecked is how many sessions are remembered. One of 2,000 messages takes 1 MB.
const mostChecked = 4

// take returns the messages of a session, and whether it was examined before.
func (c *checkedSessions) take(ref session.Ref) (diagnose.CheckedMessages, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.last {
		if s.ref == ref {
			return s.messages, true
		}
	}
	return nil, false
}

// put makes a session the latest.
func (c *checkedSessions) put(ref session.Ref, messages diagnose.CheckedMessages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.DeleteFunc(c.last, func(s checkedSession) bool { return s.ref == ref })
	c.last = slices.Insert(c.last, 0, checkedSession{ref, messages})
	c.last = c.last[:min(len(c.last), mostChecked)]
}
