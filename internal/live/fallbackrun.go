package live

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
)

// A modelAgent is an [Agent] that says which models it has and which sessions other
// sessions wait for. Without it a policy uses every model of its settings.
type modelAgent interface {
	// Models returns the models that the agent can use.
	Models(ctx context.Context, directory string) ([]Model, error)
	// Parent returns the id of the session that waits for this one, or "".
	Parent(ctx context.Context, s SessionRef) (string, error)
}

// A fallback runs a [FallbackPolicy] for the sessions of an agent. accept and ask may be
// called from any goroutine; run does the actions.
type fallback struct {
	hook   *Hook
	policy FallbackPolicy
	own    func(session string) // called before a turn is ended
	now    func() time.Time

	mu       sync.Mutex
	sessions boundedMap[fallbackSession]
	cooling  map[string]time.Time // by Model.key
	known    map[string]bool      // the keys of the agent's models; nil if unknown
	asked    time.Time            // when known was asked for
	waiting  map[string]time.Time // by session: when the policy wants to get the time
	pending  []pendingEvent
	changing map[string]func() // by session whose model is changed: what says that it has ended
	wake     chan struct{}
}

// A fallbackSession is a session with its state.
type fallbackSession struct {
	state fallbackState
	ref   SessionRef
	child bool // another session waits for it

	located bool // child is known
}

// A pendingEvent is an event that is not handled yet.
type pendingEvent struct {
	ref     SessionRef
	event   fallbackEvent
	actions []Action // that are done instead
}

// newFallback returns nil if the policy has no models.
func newFallback(h *Hook, p FallbackPolicy, own func(string)) *fallback {
	if !p.enabled() {
		return nil
	}
	return &fallback{
		hook: h, policy: p, own: own, now: time.Now,
		cooling: map[string]time.Time{}, waiting: map[string]time.Time{}, changing: map[string]func(){}, wake: make(chan struct{}, 1),
	}
}

// accept handles an event of the agent. It does not block. A nil fallback ignores it.
func (f *fallback) accept(e Event) {
	if f == nil {
		return
	}
	id, fe, ok := f.decode(e)
	if !ok || change.ValidateID(id) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if fe.kind == sawActivity { // there are many
		f.stepLocked(id, fe)
		return
	}
	f.queueLocked(pendingEvent{ref: SessionRef{id, e.Directory}, event: fe})
}

// decode returns the event for the policy. Errors that the recovery of sessions handles are
// none of its events.
func (f *fallback) decode(e Event) (id string, fe fallbackEvent, ok bool) {
	var p struct {
		SessionID string          `json:"sessionID"`
		Error     json.RawMessage `json:"error"`
		Status    struct {
			Type    string  `json:"type"`
			Message string  `json:"message"`
			Next    float64 `json:"next"` // milliseconds since 1970
		} `json:"status"`
		Info Info `json:"info"`
		Part struct {
			Part
			SessionID string `json:"sessionID"`
		} `json:"part"`
	}
	if json.Unmarshal(e.Properties, &p) != nil {
		return "", fe, false
	}
	fe.at = f.now()
	switch e.Type {
	case eventError:
		fe.kind, fe.err = sawError, p.Error
		return p.SessionID, fe, !f.recoverable(p.Error)
	case eventIdle:
		fe.kind = sawIdle
		return p.SessionID, fe, true
	case eventStatus:
		switch p.Status.Type {
		case "idle":
			fe.kind = sawIdle
		case "retry":
			fe.kind, fe.text, fe.next = sawRetry, p.Status.Message, limitTime(p.Status.Next, fe.at)
		default:
			fe.kind = sawBusy
		}
		return p.SessionID, fe, true
	case eventDeleted:
		fe.kind = sawDeleted
		return p.Info.ID, fe, true
	case eventMessage:
		fe.message = p.Info
		if fe.kind = sawAnswer; p.Info.Role == change.RoleUser {
			fe.kind = sawPrompt
		}
		return p.Info.SessionID, fe, !f.recoverable(p.Info.Error)
	case eventPart, eventDelta:
		fe.kind, fe.part = sawActivity, p.Part.Part
		if p.SessionID == "" {
			p.SessionID = p.Part.SessionID
		}
		return p.SessionID, fe, true
	}
	return "", fe, false
}

// limitTime returns the time that an agent named, which is at most maxCooldown away.
func limitTime(milliseconds float64, now time.Time) time.Time {
	most := now.Add(maxCooldown)
	if milliseconds >= float64(most.UnixMilli()) {
		return most
	}
	return time.UnixMilli(int64(milliseconds))
}

func (f *fallback) recoverable(raw json.RawMessage) bool {
	i := Info{Error: raw}
	return i.hasError() && f.hook.IsRecoverableError(raw)
}

// stepLocked passes an event to the policy and returns what it wants to be done, apart from
// what is done at once.
func (f *fallback) stepLocked(id string, e fallbackEvent) []Action {
	s, _ := f.sessions.get(id)
	e.cooling, e.child = f.cooling, s.child
	if f.known != nil {
		e.known = func(m Model) bool { return f.known[m.key()] }
	}
	state, actions := f.policy.step(s.state, e)
	s.state = state
	f.sessions.set(id, s)
	delete(f.waiting, id)
	if at := f.policy.wakeTime(state); !at.IsZero() {
		f.waiting[id] = at
		f.signal()
	}
	return slices.DeleteFunc(actions, func(a Action) bool {
		if a.Kind == ActCool {
			f.cooling[a.Model.key()] = a.Until
		}
		return a.Kind == ActCool
	})
}

// queueLocked queues an event. If the agent is too fast, the event is dropped.
func (f *fallback) queueLocked(p pendingEvent) {
	if len(f.pending) < maxRemembered {
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

// ask returns the model to which a prompt is to be sent instead, or nil.
func (f *fallback) ask(q Question) *Model {
	if f == nil || q.Model == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	actions := f.stepLocked(q.Session.ID, fallbackEvent{kind: sawQuestion, at: f.now(), model: *q.Model, agent: q.Agent, named: q.Named})
	i := slices.IndexFunc(actions, func(a Action) bool { return a.Kind == ActModel })
	if i < 0 {
		return nil
	}
	f.queueLocked(pendingEvent{ref: q.Session, actions: slices.Delete(slices.Clone(actions), i, i+1)})
	return &actions[i].Model
}

// run handles the events until the context ends.
func (f *fallback) run(ctx context.Context) {
	if f == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer func() {
		for _, end := range f.changing {
			end()
		}
	}()
	for {
		for _, p := range f.take() {
			if ctx.Err() != nil {
				return
			}
			f.handle(ctx, p)
		}
		timer.Reset(f.untilDue())
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-timer.C:
		}
	}
}

// take returns the pending events, and those of the time that has come.
func (f *fallback) take() []pendingEvent {
	f.mu.Lock()
	defer f.mu.Unlock()
	todo, now := f.pending, f.now()
	f.pending = nil
	for id, at := range f.waiting {
		if !now.Before(at) {
			todo = append(todo, pendingEvent{ref: SessionRef{ID: id}, event: fallbackEvent{kind: sawTime, at: now}})
		}
	}
	maps.DeleteFunc(f.cooling, func(_ string, until time.Time) bool { return now.After(until) })
	return todo
}

// untilDue returns how long nothing is due.
func (f *fallback) untilDue() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := time.Hour
	for _, at := range f.waiting {
		next = min(next, at.Sub(f.now()))
	}
	return max(next, 0)
}

// handle handles one event. If an action fails, the policy gets to know.
func (f *fallback) handle(ctx context.Context, p pendingEvent) {
	id := p.ref.ID
	if p.event.kind == sawDeleted {
		f.mu.Lock()
		f.sessions.remove(id)
		delete(f.waiting, id)
		f.mu.Unlock()
		f.announce(ctx, p.ref)
		return
	}
	s := f.locate(p.ref)
	if p.event.isFailure() || p.event.kind == sawPrompt { // with the prompt there is time for it
		f.learn(ctx, s)
	}
	actions := p.actions
	if actions == nil {
		f.mu.Lock()
		actions = f.stepLocked(id, p.event)
		f.mu.Unlock()
	}
	log := f.hook.opt.Log.With("session", id, "fallback", true)
	f.announce(ctx, s.ref)
	defer f.announce(ctx, s.ref)
	for len(actions) > 0 {
		a := actions[0]
		actions = actions[1:]
		err := f.perform(ctx, s.ref, a, log)
		if err == nil {
			continue
		}
		log.Warn("the turn is not continued with another model", "why", err)
		e := fallbackEvent{kind: sawFailure, at: f.now()}
		if errors.Is(err, errSuperseded) {
			e.kind = sawNewer
		}
		f.mu.Lock()
		actions = f.stepLocked(id, e)
		f.mu.Unlock()
	}
}

// announce reports once that the change of a model has begun, and once that it has ended.
func (f *fallback) announce(ctx context.Context, ref SessionRef) {
	f.mu.Lock()
	s, _ := f.sessions.get(ref.ID)
	end, changing := f.changing[ref.ID], s.state.phase != phaseNone
	delete(f.changing, ref.ID)
	f.mu.Unlock()
	switch {
	case changing && end == nil:
		end = f.hook.begin(ctx, ref, true)
	case !changing && end != nil:
		end()
	}
	if changing {
		f.mu.Lock()
		f.changing[ref.ID] = end
		f.mu.Unlock()
	}
}

// locate returns the session with its directory.
func (f *fallback) locate(ref SessionRef) fallbackSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, _ := f.sessions.get(ref.ID)
	if s.ref.ID == "" || ref.Directory != "" {
		s.ref = ref
		f.sessions.set(ref.ID, s)
	}
	return s
}

// modelsAge is how long the list of the agent's models is used.
const modelsAge = 5 * time.Minute

// learn asks the agent what the policy needs to handle a failure.
func (f *fallback) learn(ctx context.Context, s fallbackSession) {
	agent, ok := f.hook.agent.(modelAgent)
	if !ok {
		return
	}
	if !s.located {
		f.learnParent(ctx, agent, s.ref)
	}
	if f.asked.IsZero() || f.now().Sub(f.asked) >= modelsAge {
		f.learnModels(ctx, agent, s.ref.Directory)
	}
}

func (f *fallback) learnParent(ctx context.Context, agent modelAgent, ref SessionRef) {
	ctx, cancel := context.WithTimeout(ctx, f.hook.opt.Timeout)
	defer cancel()
	parent, err := agent.Parent(ctx, ref)
	if err != nil {
		f.hook.opt.Log.Debug("asking for the parent of a session", "session", ref.ID, "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, _ := f.sessions.get(ref.ID)
	s.child, s.located = parent != "", true
	f.sessions.set(ref.ID, s)
}

func (f *fallback) learnModels(ctx context.Context, agent modelAgent, directory string) {
	ctx, cancel := context.WithTimeout(ctx, f.hook.opt.Timeout)
	defer cancel()
	models, err := agent.Models(ctx, directory)
	if err != nil { // an unknown model then fails, and the next one continues
		f.hook.opt.Log.Debug("asking for the agent's models", "error", err)
		return
	}
	known := map[string]bool{}
	for _, m := range models {
		known[m.key()] = true
	}
	f.asked = f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = known
}

var errNotIdle = errors.New("the session did not become idle")

// perform does one action.
func (f *fallback) perform(ctx context.Context, ref SessionRef, a Action, log *slog.Logger) error {
	a.Session = ref
	switch a.Kind {
	case ActToast:
		log.Info("model fallback", "toast", a.Toast.Message)
	case ActAbort:
		if err := f.checkNewest(ctx, ref); err != nil {
			return err
		}
		f.own(ref.ID)
	case ActPrompt:
		if err := f.awaitIdle(ctx, ref); err != nil {
			return err
		}
	default: // done at once
	}
	return f.hook.execute(ctx, a)
}

// pluginFirst is how long a server is left to the plugin: if both continue a turn, the
// prompt of the plugin is there.
const pluginFirst = 500 * time.Millisecond

// awaitIdle returns when the session is idle and ready for the prompt that continues its
// turn. The error says why it is not: it stays busy, or has a newer prompt.
func (f *fallback) awaitIdle(ctx context.Context, ref SessionRef) error {
	release, err := f.hook.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	for n := 0; f.hook.busy(ctx, ref); n++ {
		if n == len(busyDelays) {
			return errNotIdle
		}
		if err := f.hook.wait(ctx, busyDelays[n]); err != nil {
			return err
		}
	}
	if _, ok := f.hook.agent.(*Server); ok {
		if err := f.hook.wait(ctx, pluginFirst); err != nil {
			return err
		}
	}
	return f.checkNewest(ctx, ref)
}

// checkNewest returns an error if the session has a newer prompt than the policy knows, for
// example that of another mend.
func (f *fallback) checkNewest(ctx context.Context, ref SessionRef) error {
	ms, err := f.hook.agentMessages(ctx, ref, 2)
	if err != nil {
		return err
	}
	f.mu.Lock()
	s, _ := f.sessions.get(ref.ID)
	f.mu.Unlock()
	for _, m := range ms {
		if m.Info.Role == change.RoleUser && m.Info.Time.Created > s.state.prompt.Time.Created {
			return errSuperseded
		}
	}
	return nil
}
