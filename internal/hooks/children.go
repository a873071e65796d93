package hooks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mend/change"
	"mend/internal/live"
)

// The actions on a stuck subagent.
const (
	StuckNotify = "notify" // show it to the user
	StuckAbort  = "abort"  // also abort it, so that its parent continues
	StuckRetry  = "retry"  // also ask the parent to begin the task again
)

// ChildOptions define when a subagent counts as stuck. With the zero value it never does.
type ChildOptions struct {
	After  time.Duration // without any event
	Action string        // [StuckNotify], …
}

const (
	stuckCoolDown = 5 * time.Minute  // between two actions about one session
	maxRetries    = 2                // retries for one parent within retryPeriod
	retryPeriod   = 30 * time.Minute // not per turn: each retry's prompt begins a new turn
)

// A childEvent is an event in a subagent's session, or the passing of time.
type childEvent struct {
	at      int64 // in milliseconds
	session string
	parent  string // "" if the session is not a subagent's, or if only time has passed
	title   string
	ended   bool   // the session is idle, or deleted
	active  bool   // the agent works in the session: some events come after its end
	until   int64  // the time until which the subagent waits for the provider; 0 if it does not wait
	call    string // the id of a tool call, "" for none
	status  string // of the call
	doing   string // what the subagent did, in a few words; "" if unknown
}

// A childState has the sessions of subagents that have not ended.
type childState struct {
	children map[string]child   // by session
	retries  map[string][]int64 // by parent: the times of its retries
}

func newChildState() childState {
	return childState{children: map[string]child{}, retries: map[string][]int64{}}
}

// A child is the session of a subagent.
type child struct {
	parent, title, doing string
	last                 int64    // the time of the last event, or the time until which it waits for the provider
	running              []string // the ids of running tool calls
	acted                int64    // the time of the last action; 0 if none
}

// watchChildren is the policy for stuck subagents. A subagent is stuck if its parent waits, no tool runs in it, and it
// has had no event for a time. The policy acts on a session at most once per stuckCoolDown.
func watchChildren(s childState, e childEvent, o ChildOptions) (childState, []action) {
	if e.session == "" {
		return s.stuck(e.at, o)
	}
	if e.ended {
		maps.DeleteFunc(s.children, func(id string, c child) bool { // the parent of its own subagents no longer waits
			return id == e.session || c.parent == e.session
		})
		return s, nil
	}
	c, known := s.children[e.session]
	if e.parent == "" || !known && !e.active {
		return s, nil
	}
	c.parent, c.title, c.last = e.parent, e.title, max(e.at, e.until)
	if e.doing != "" {
		c.doing = e.doing
	}
	if e.call != "" {
		c.running = slices.DeleteFunc(slices.Clone(c.running), func(call string) bool { return call == e.call })
		if e.status == statusRunning {
			c.running = append(c.running, e.call)
		}
	}
	s.children[e.session] = c
	return s, nil
}

// stuck returns the actions on the sessions that are stuck.
func (s childState) stuck(now int64, o ChildOptions) (childState, []action) {
	var actions []action
	for _, id := range slices.Sorted(maps.Keys(s.children)) {
		c := s.children[id]
		silent := time.Duration(now-c.last) * time.Millisecond
		if len(c.running) > 0 || silent < o.After || c.acted > 0 && now-c.acted < stuckCoolDown.Milliseconds() {
			continue
		}
		c.acted = now
		s.children[id] = c
		retries := slices.DeleteFunc(slices.Clone(s.retries[c.parent]), func(at int64) bool { return now-at >= retryPeriod.Milliseconds() })
		retry := o.Action == StuckRetry && len(retries) < maxRetries
		text := stuckText(c, silent, o.Action, retry)
		if o.Action == StuckAbort || o.Action == StuckRetry {
			actions = append(actions, action{kind: actAbort, session: id})
		}
		shown := showToast(stuckTitle, text, live.VariantWarning)
		shown.session = id
		actions = append(actions, shown)
		if retry {
			s.retries[c.parent] = append(retries, now)
			p := live.Prompt{Parts: []live.PromptPart{{Type: typeText, Synthetic: true, Text: retryText(c)}}}
			actions = append(actions, action{kind: actPrompt, session: c.parent, prompt: p})
		}
	}
	return s, actions
}

const stuckTitle = "Subagent"

// stuckText describes the action on a session, in at most 15 words.
func stuckText(c child, silent time.Duration, action string, retry bool) string {
	title, _, _ := strings.Cut(c.title, " (@") // OpenCode appends the name of the agent
	words := strings.Fields(title)
	name := cmp.Or(strings.Join(words[:min(len(words), 4)], " "), "A subagent")
	doing := ""
	if c.doing != "" {
		doing = " after " + c.doing
	}
	text := fmt.Sprintf("%.60s: silent for %d s%s.", name, int(silent.Seconds()), doing)
	switch {
	case retry:
		return text + " Ended; will be retried."
	case action != StuckNotify:
		return text + " Ended."
	}
	return text
}

// retryText is the prompt that asks a parent to start a task again.
func retryText(c child) string {
	return fmt.Sprintf("[mend] The subagent of the task %.200q stopped responding and was ended. Begin that task again.", c.title)
}

// A childWatch acts on stuck subagents. It is safe for concurrent use.
type childWatch struct {
	hook *live.Hook
	opt  ChildOptions

	mu    sync.Mutex
	state childState

	prompts []action // prompts that wait for the end of the parent's turn; only look uses them
}

// interval is the time after which the agent reports the activity of a session again.
func (w *childWatch) interval() time.Duration {
	return min(max(w.opt.After/8, 250*time.Millisecond), 10*time.Second)
}

// accept handles an event of the agent.
func (w *childWatch) accept(e live.Event) {
	c, ok := decodeChild(e)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, _ = watchChildren(w.state, c, w.opt)
}

// run looks for sessions that are stuck until the context ends.
func (w *childWatch) run(ctx context.Context) {
	tick := time.NewTicker(w.interval())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			w.look(ctx, now)
		}
	}
}

// look acts on the sessions that are stuck. It skips a session if the agent is not working in it, because an event
// may have been lost. If a session cannot be aborted, look shows nothing.
func (w *childWatch) look(ctx context.Context, now time.Time) {
	w.mu.Lock()
	var actions []action
	o := w.opt
	o.After += w.interval() // the last event may not have been reported
	w.state, actions = watchChildren(w.state, childEvent{at: now.UnixMilli()}, o)
	w.mu.Unlock()
	child, stuck := "", false
	for _, a := range actions {
		if a.kind != actPrompt && a.session != child { // a prompt goes to the parent of child
			child, stuck = a.session, w.isWorking(ctx, a.session)
			w.hook.Log().Info("a subagent is silent", "session", child, "working", stuck, "action", w.opt.Action)
		}
		switch {
		case !stuck:
		case a.kind == actPrompt:
			w.prompts = append(w.prompts, a)
		case execute(ctx, w.hook, a) != nil:
			stuck = false
		}
	}
	w.prompts = slices.DeleteFunc(w.prompts, func(a action) bool { return w.prompt(ctx, a) })
}

// prompt sends a prompt unless the user aborted the turn. It returns false if the prompt must wait because the agent is
// working in the session: OpenCode 1.1.53 never answers a prompt that comes while a turn ends.
func (w *childWatch) prompt(ctx context.Context, a action) (done bool) {
	if w.isWorking(ctx, a.session) {
		return false
	}
	ms, err := w.hook.Agent().Messages(ctx, a.session, 2)
	if last := live.FinalAssistant(ms); err == nil && (last == nil || !live.IsAbort(last.Info.Error)) {
		_ = execute(ctx, w.hook, a) // an error is logged
	}
	return true
}

// isWorking reports whether the agent is working in the session, according to the agent.
func (w *childWatch) isWorking(ctx context.Context, session string) bool {
	busy, err := w.hook.Agent().Busy(ctx, session)
	return busy && err == nil
}

// decodeChild returns the content of an event in a subagent's session; ok is false if it is irrelevant.
func decodeChild(e live.Event) (c childEvent, ok bool) {
	switch e.Type {
	case eventActivity, live.EventIdle, live.EventStatus, live.EventDeleted:
	default:
		return c, false
	}
	p, err := e.Decode()
	if err != nil || p.SessionID == "" || p.ParentID != "" && change.ValidateID(p.ParentID) != nil {
		return c, false
	}
	c = childEvent{
		at: p.Time, session: p.SessionID, parent: p.ParentID, title: p.Title,
		ended: e.Type == live.EventDeleted || e.Type == live.EventIdle || p.Status.Type == "idle", active: p.Status.Type != "" || p.Part.Type != "",
	}
	switch {
	case p.Status.Type == "retry":
		c.until, c.doing = int64(p.Status.Next), "a retry"
	case p.Part.Type == typeTool:
		c.call, c.status = p.Part.CallID, p.Part.Status
		c.doing = fmt.Sprintf("%.30s %s", p.Part.Tool, p.Part.Status)
	case p.Part.Type == "reasoning":
		c.doing = "thinking"
	case p.Part.Type == typeText:
		c.doing = "writing"
	}
	return c, true
}
