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
	if e := s.quickCheck(ctx, head, o); e.Lasts {
		return e, nil
	}
	return s.diagnose(ctx, head, o)
}

// Settings implements [agent.Store].
func (s *store) Settings() string {
	s.projects.Clear()
	return "models " + s.models.reset()
}

// quickCheck is diagnose for a session in which nothing is wrong, without building
// the session. If the examination does not last, the session must be diagnosed.
func (s *store) quickCheck(ctx context.Context, head session.Head, o repair.Options) agent.Examination {
	now := o.Typed()
	q := diagnose.QuickCheck{Now: now, Target: s.models.at(head.Directory).targetAs(o.Provider, "")}
	if o.AllSettings {
		return agent.Examination{}
	}
	var m record.Memory
	earlier, again := s.checked.take(head.Ref)
	if again {
		m = q.Memory(earlier, o.Now)
	}
	bare, stamp := s.ScanRecords(ctx, head, m, q.Message)
	if bare == nil || !q.Healthy(bare) || !q.Decides(o.Model) || bare.CheckDepth() != nil {
		return agent.Examination{}
	}
	s.checked.put(head.Ref, q.Checked())
	found, ok := diagnose.FindFolder(bare, o, diagnose.Environment{Folder: s.folder})
	if !ok {
		return agent.Examination{}
	}
	e := agent.Examination{Diagnoses: found, Provider: targetName(q.Asked()), Thinking: q.Thinks(), Lasts: bare.Workspace == "" && !now.IsZero(), Stamp: stamp}
	if o.Thinking != nil {
		e.Thinking = *o.Thinking
	}
	e.From, e.Until = q.Span()
	return e
}

// diagnose reads a session and diagnoses it. The examination does not last if it
// depends on more than the records, such as on the time of day, on a file elsewhere or on the
// folder of a workspace.
// If the newest assistant message was not finished long ago, it lasts until a process
// opens the store.
func (s *store) diagnose(ctx context.Context, head session.Head, o repair.Options) (agent.Examination, error) {
	loaded, stamp, err := s.loadStamped(ctx, head)
	if err != nil {
		return agent.Examination{}, err
	}
	env, err := s.environment(ctx, loaded, o.Provider)
	if err != nil {
		return agent.Examination{}, err
	}
	e := agent.Examination{Busy: diagnose.WhyBusy(loaded, o.Now, env.Held, env.Free) != "", Thinking: thinks(loaded, o), Stamp: stamp, Idle: unfinished(loaded)}
	e.Lasts = loaded.Workspace == "" && loaded.IndexFault == "" && len(loaded.Stray) == 0 && !e.Busy && !hasUnknownParent(loaded) && !o.WrongClock
	e.From, e.Until = render.StableSpan(loaded, o.Now)
	env.Missing = func(path string) bool {
		e.Lasts = false
		return missing(path)
	}
	d := diagnose.Diagnose(loaded, o, env)
	e.Diagnoses, e.Provider = d.Found, targetName(d.Model, d.Target)
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
