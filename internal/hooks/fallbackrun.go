package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"mend/change"
	"mend/internal/live"
)

// A fallback runs a [FallbackPolicy] for the sessions of an agent. accept and ask may be
// called from any goroutine; run does the actions.
type fallback struct {
	watch  *live.Watch
	agent  Agent
	policy FallbackPolicy
	now    func() time.Time
	wake   chan struct{}
	listed time.Time // when the agent last listed its models; only run uses it

	mu       sync.Mutex
	sessions map[string]*fallbackSession
	cooling  map[string]time.Time // by live.Model.Key
	known    map[string]bool      // the keys of the agent's models; nil if unknown
	pending  []pendingEvent
}

// A fallbackSession is a session with its state.
type fallbackSession struct {
	state fallbackState
	due   time.Time // when the policy needs sawTime; the zero time for never
	child bool      // another session waits for it

	childSet bool   // the agent has reported child; only run uses it
	end      func() // announces the end of a change of the model, nil if there is none; only run uses it
}

// sessionLocked returns the session with the id.
func (f *fallback) sessionLocked(id string) *fallbackSession {
	s := f.sessions[id]
	if s == nil {
		s = &fallbackSession{}
		f.sessions[id] = s
	}
	return s
}

// A pendingEvent is an event that is not handled yet.
type pendingEvent struct {
	session string
	event   fallbackEvent
	actions []action // if set, they are done instead of passing the event to the policy
}

// accept handles an event of the agent. It does not block.
func (f *fallback) accept(e live.Event) {
	id, fe, ok := f.decode(e)
	if !ok || id == "" {
		return
	}
	if fe.kind == sawActivity { // there are many such events
		f.step(id, fe)
		return
	}
	f.queue(pendingEvent{session: id, event: fe})
}

// decode returns the event for the policy. Errors that the session recovery handles are left out.
func (f *fallback) decode(e live.Event) (id string, fe fallbackEvent, ok bool) {
	p, err := e.Decode()
	if err != nil || f.recoverable(p.Error) || f.recoverable(p.Info.Error) {
		return "", fe, false
	}
	fe.at = f.now()
	switch {
	case e.Idle(p):
		fe.kind = sawIdle
	case e.Type == live.EventError:
		fe.kind, fe.err = sawError, p.Error
	case e.Type == live.EventStatus && p.Status.Type == "retry":
		fe.kind, fe.text, fe.next = sawRetry, p.Status.Message, limitTime(p.Status.Next, fe.at)
	case e.Type == live.EventStatus:
		fe.kind = sawBusy
	case e.Type == live.EventDeleted:
		fe.kind = sawDeleted
	case e.Type == live.EventMessage && p.Info.Role == change.RoleUser:
		fe.kind, fe.message = sawPrompt, p.Info
	case e.Type == live.EventMessage:
		fe.kind, fe.message = sawAnswer, p.Info
	case e.Type == eventPart || e.Type == eventDelta:
		fe.kind, fe.part = sawActivity, p.Part.Part
	}
	return p.SessionID, fe, fe.kind != 0
}

// limitTime returns the time of an agent's next try, at most maxCooldown from now.
func limitTime(milliseconds float64, now time.Time) time.Time {
	most := now.Add(maxCooldown)
	if milliseconds >= float64(most.UnixMilli()) {
		return most
	}
	return time.UnixMilli(int64(milliseconds))
}

func (f *fallback) recoverable(raw json.RawMessage) bool {
	i := live.Info{Error: raw}
	return i.HasError() && f.watch.IsRecoverableError(raw)
}

// step passes an event to the policy and returns its actions, except those that are done immediately.
func (f *fallback) step(id string, e fallbackEvent) (actions []action) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessionLocked(id)
	e.cooling, e.child = f.cooling, s.child
	if f.known != nil {
		e.known = func(m live.Model) bool { return f.known[m.Key()] }
	}
	s.state, actions = f.policy.step(s.state, e)
	if s.due = f.policy.wakeTime(s.state); !s.due.IsZero() {
		f.signal()
	}
	return slices.DeleteFunc(actions, func(a action) bool {
		if a.kind == actCool {
			f.cooling[a.model.Key()] = a.until
		}
		return a.kind == actCool
	})
}

// maxPending is the number of events that may wait.
const maxPending = 4096

// queue queues an event. If too many wait, it drops the event.
func (f *fallback) queue(p pendingEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) < maxPending {
		f.pending = append(f.pending, p)
	}
	f.signal()
}

func (f *fallback) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// ask returns the model that a prompt must be sent to instead of its own, or nil.
func (f *fallback) ask(q live.Question) *live.Model {
	if q.Model == nil {
		return nil
	}
	actions := f.step(q.Session, fallbackEvent{kind: sawQuestion, at: f.now(), model: *q.Model, agent: q.Agent, named: q.Named})
	i := slices.IndexFunc(actions, func(a action) bool { return a.kind == actModel })
	if i < 0 {
		return nil
	}
	f.queue(pendingEvent{session: q.Session, actions: slices.Delete(slices.Clone(actions), i, i+1)})
	return &actions[i].model
}

// run handles the events until the context ends.
func (f *fallback) run(ctx context.Context) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, s := range f.sessions {
			if s.end != nil {
				s.end()
			}
		}
	}()
	for {
		for _, p := range f.take() {
			if ctx.Err() != nil {
				return
			}
			f.handle(ctx, p)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-time.After(f.timeUntilDue()):
		}
	}
}

// take returns the pending events, including sawTime for sessions that are due.
func (f *fallback) take() []pendingEvent {
	f.mu.Lock()
	defer f.mu.Unlock()
	todo, now := f.pending, f.now()
	f.pending = nil
	for id, s := range f.sessions {
		if !s.due.IsZero() && !now.Before(s.due) {
			todo = append(todo, pendingEvent{session: id, event: fallbackEvent{kind: sawTime, at: now}})
		}
	}
	maps.DeleteFunc(f.cooling, func(_ string, until time.Time) bool { return now.After(until) })
	return todo
}

// timeUntilDue returns the time until the next event is due.
func (f *fallback) timeUntilDue() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := time.Hour
	for _, s := range f.sessions {
		if !s.due.IsZero() {
			next = min(next, s.due.Sub(f.now()))
		}
	}
	return max(next, 0)
}

// handle handles one event.
func (f *fallback) handle(ctx context.Context, p pendingEvent) {
	id := p.session
	if p.event.kind == sawPrompt || p.event.mayChange() { // before an answer there is time to ask the agent
		f.learn(ctx, id)
	}
	actions := p.actions
	if actions == nil {
		actions = f.step(id, p.event)
	}
	f.announce(ctx, id)
	f.performAll(ctx, id, actions)
	f.announce(ctx, id)
	if p.event.kind == sawDeleted {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.sessions, id)
	}
}

// performAll carries out actions. If one fails, the policy gets sawFailure, and its actions take the place of the rest.
func (f *fallback) performAll(ctx context.Context, id string, actions []action) {
	log := f.watch.Log().With("session", id, "fallback", true)
	for len(actions) > 0 {
		err := f.perform(ctx, id, actions[0], log)
		if actions = actions[1:]; err == nil {
			continue
		}
		log.Warn("the turn is not continued with another model", "why", err)
		e := fallbackEvent{kind: sawFailure, at: f.now()}
		if errors.Is(err, errNewer) {
			e.kind = sawNewer
		}
		actions = f.step(id, e)
	}
}

// announce reports once that the change of a model has begun, and once that it has ended.
func (f *fallback) announce(ctx context.Context, id string) {
	f.mu.Lock()
	s := f.sessionLocked(id)
	changing := s.state.phase != phaseNone
	f.mu.Unlock()
	switch {
	case changing && s.end == nil:
		s.end = f.watch.Begin(ctx, id)
	case !changing && s.end != nil:
		s.end()
		s.end = nil
	}
}

// modelsAge is the time for which the list of the agent's models is used.
const modelsAge = 5 * time.Minute

// learn asks the agent for the facts that the policy needs to handle a failure.
func (f *fallback) learn(ctx context.Context, id string) {
	f.mu.Lock()
	s := f.sessionLocked(id)
	f.mu.Unlock()
	if !s.childSet {
		if parent, err := f.agent.Parent(ctx, id); err != nil {
			f.watch.Log().Debug("asking for the parent of a session", "session", id, "error", err)
		} else {
			f.mu.Lock()
			s.child, s.childSet = parent != "", true
			f.mu.Unlock()
		}
	}
	if f.now().Sub(f.listed) < modelsAge {
		return
	}
	models, err := f.agent.Models(ctx)
	if err != nil { // an unknown model then fails, and the next one continues
		f.watch.Log().Debug("asking for the agent's models", "error", err)
		return
	}
	known := map[string]bool{}
	for _, m := range models {
		known[m.Key()] = true
	}
	f.listed = f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = known
}

var errNewer = errors.New("the session has a newer prompt")

func (f *fallback) perform(ctx context.Context, id string, a action, log *slog.Logger) error {
	a.session = id
	switch a.kind {
	case actToast:
		log.Info("model fallback", "toast", a.toast.Message)
	case actAbort:
		if err := f.checkNewest(ctx, id); err != nil {
			return err
		}
		f.watch.ExpectEnd(id)
	case actPrompt:
		if err := f.awaitIdle(ctx, id); err != nil {
			return err
		}
	default: // done immediately
	}
	return execute(ctx, f.watch.Hook, a)
}

// awaitIdle returns when the session is idle and ready for the prompt that continues its turn. It returns an
// error if the session stays busy, or has a newer prompt.
func (f *fallback) awaitIdle(ctx context.Context, id string) error {
	release, err := f.watch.Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := f.watch.AwaitIdle(ctx, id); err != nil {
		return err
	}
	return f.checkNewest(ctx, id)
}

// checkNewest returns an error if the session has a newer prompt than the policy knows, for example from
// another mend.
func (f *fallback) checkNewest(ctx context.Context, id string) error {
	ms, err := f.agent.Messages(ctx, id, 2)
	if err != nil {
		return err
	}
	f.mu.Lock()
	newest := f.sessionLocked(id).state.prompt.Time.CreationTime
	f.mu.Unlock()
	for _, m := range ms {
		if m.Info.Role == change.RoleUser && m.Info.Time.CreationTime > newest {
			return errNewer
		}
	}
	return nil
}
