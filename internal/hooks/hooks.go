// Package hooks has the hooks of a running agent that do not repair sessions. Each is off until its setting turns it on
// (docs/running.md):
//
//   - a [FallbackPolicy] continues a turn with another model if its model fails;
//   - the write guard refuses to replace a file that the model does not know;
//   - failed tool calls get an instruction for the model;
//   - [ChildOptions] define when a subagent is stuck, and the action.
//
// It may import change and internal/live. Read [New] and [Hooks.Run] first.
//
// Each hook has a policy, a pure function that makes its decisions. Package live, which repairs sessions, does not
// import this package; the hooks pause while it works in a session.
package hooks

import (
	"context"
	"sync"
	"time"

	"mend/internal/live"
)

// Options turn hooks on. The zero value turns all of them off.
type Options struct {
	Fallback          FallbackPolicy
	Children          ChildOptions
	WriteGuard        bool
	ExplainToolErrors bool
}

// An Agent also lists its models and the parents of sessions.
type Agent interface {
	live.Agent
	// Models returns the models that the agent can use.
	Models(ctx context.Context) ([]live.Model, error)
	// Parent returns the id of the session that waits for this one, or "".
	Parent(ctx context.Context, session string) (string, error)
}

// Hooks are the hooks that are on. Accept, Answer and Model may be called from any goroutine.
type Hooks struct {
	fallback *fallback // nil if it is off, like the others
	guard    *writeGuard
	children *childWatch
	explain  bool
}

// The types of events that only these hooks want.
const (
	eventToolBefore = "tool.execute.before"
	eventToolAfter  = "tool.execute.after"
	eventActivity   = "mend.activity"
	eventPart       = "message.part.updated"
	eventDelta      = "message.part.delta" // of newer agents
)

// The types of parts and the states of tool calls that are used here.
const (
	typeText = "text"
	typeTool = "tool"

	statusRunning = "running"
	callCompleted = "completed"
	callFailed    = "error"
)

// New returns the hooks of the sessions that w repairs.
func New(w *live.Watch, a Agent, o Options) *Hooks {
	h := &Hooks{explain: o.ExplainToolErrors}
	if len(o.Fallback.Models) > 0 || len(o.Fallback.AgentModels) > 0 {
		h.fallback = &fallback{
			watch: w, agent: a, policy: o.Fallback, now: time.Now, wake: make(chan struct{}, 1),
			sessions: map[string]*fallbackSession{}, cooling: map[string]time.Time{},
		}
	}
	if o.WriteGuard {
		h.guard = &writeGuard{log: w.Log(), state: newGuardState()}
	}
	if o.Children.After > 0 {
		h.children = &childWatch{hook: w.Hook, opt: o.Children, state: newChildState()}
	}
	return h
}

// hookWait is how long the agent waits for mend before a tool runs and before a request.
const hookWait = time.Second

// Offer adds the questions and events that the hooks need to an offer. wait is the longest time for a question before a
// prompt.
func (h *Hooks) Offer(o *live.Offer, wait time.Duration) {
	if h.guard != nil {
		o.Hooks[live.HookTool] = hookWait
	}
	if h.explain {
		o.Hooks[live.HookRequest] = hookWait
	}
	if h.children != nil {
		o.Activity = h.children.interval()
	}
	if h.fallback != nil {
		o.Wait, o.Parts = wait, true
	}
}

// Accept takes an event of the agent. It does not block.
func (h *Hooks) Accept(e live.Event) {
	if h.fallback != nil {
		h.fallback.accept(e)
	}
	if h.guard != nil {
		h.guard.accept(e)
	}
	if h.children != nil {
		h.children.accept(e)
	}
}

// Run carries out the hooks' actions until the context ends.
func (h *Hooks) Run(ctx context.Context) {
	var group sync.WaitGroup
	if h.fallback != nil {
		group.Go(func() { h.fallback.run(ctx) })
	}
	if h.children != nil {
		group.Go(func() { h.children.run(ctx) })
	}
	group.Wait()
}

// Answer answers a question before a tool runs or before a request; ok is false if no active hook handles it.
func (h *Hooks) Answer(ctx context.Context, q live.Question) (r live.Reply, ok bool) {
	switch {
	case q.Hook == live.HookTool && h.guard != nil && q.Call != nil:
		ctx, cancel := context.WithTimeout(ctx, q.Deadline)
		defer cancel()
		r.Refuse = h.guard.check(ctx, *q.Call, q.Directory)
	case q.Hook == live.HookRequest && h.explain:
		r.Append = explainToolErrors(q.Failed)
	default:
		return r, false
	}
	return r, true
}

// Model returns the model that replaces a prompt's model that failed a short time ago, or nil.
func (h *Hooks) Model(q live.Question) *live.Model {
	if h.fallback == nil {
		return nil
	}
	return h.fallback.ask(q)
}
