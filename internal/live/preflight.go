package live

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"mend/change"
	"mend/repair"
)

// A Question is what an agent asks before it makes a request or runs a tool, and waits for.
type Question struct {
	Hook    HookPoint
	Session SessionRef
	Version string // of the agent; "" if unknown
	Model   *Model // of the prompt; nil if unknown
	Named   bool   // the prompt names the model; else it is that of the prompt before
	Agent   string // of the prompt

	Call   *ToolCall    // that will run, with [HookTool]
	Failed []FailedCall // of the messages that will be sent, with [HookRequest]

	// Deadline is how long the agent waits. No change of the store begins after it.
	Deadline time.Duration
	// Begin reports whether the agent still waits. If it does, it waits until the
	// question is answered, however long that takes. It is nil if no agent waits.
	Begin func(ctx context.Context) (bool, error)
}

// A ToolCall is a call of a tool as the agent reports it before and after it runs.
type ToolCall struct {
	Session string          `json:"sessionID"`
	ID      string          `json:"callID"`
	Tool    string          `json:"tool"`
	Time    int64           `json:"time"` // of the report, in milliseconds since 1970
	Args    json.RawMessage `json:"args,omitempty"`

	// After the call: what the model gets, and whether the tool says that this is not all.
	// The call succeeded; a call that failed is not reported.
	Output    string `json:"output,omitempty"`
	Truncated *bool  `json:"truncated,omitempty"`
}

// A FailedCall is a stored tool call that did not do what the model wanted, as the agent will
// send it.
type FailedCall struct {
	Part   string `json:"part"` // its id
	Tool   string `json:"tool"`
	Status string `json:"status"` // of the call: error or completed
	Text   string `json:"text"`   // the beginning of what the model gets
}

// Appended is a text that is appended to the result of a tool call in a request.
type Appended struct {
	Part string `json:"part"`
	Text string `json:"text"`
}

// A HookPoint is the place where an agent asks.
type HookPoint string

// The places.
const (
	HookPrompt  HookPoint = "" // before the agent reads the session for a new prompt
	HookTool    HookPoint = "tool.execute.before"
	HookRequest HookPoint = "experimental.chat.messages.transform"
)

// A Reply is the answer to a [Question].
type Reply struct {
	Repair string     // the id of the repair if the store was changed
	Model  *Model     // the model to which the prompt is to be sent instead of its own
	Refuse string     // why the tool must not run, with [HookTool]
	Append []Appended // with [HookRequest]
}

// errTooLate is why a session is left as it is before a request. If the provider refuses the
// request, the session is recovered then.
var errTooLate = errors.New("the agent no longer waits")

// preflightNamed repairs the session that a question names, before the agent makes a request
// for it, if the request would be refused, or if the agent could not make it. It returns the
// id of the journal entry, "" if the store was not changed.
//
// The user is not asked, so it repairs only if mend knows the agent's version (see
// [Hook.checkVersion]), the rules of the provider are known (unless the agent itself cannot read
// the record), the agent is idle in the session, the repair leaves nothing broken and loses
// nothing that can be read, and the last repair of the session was not undone.
// Otherwise the error says why not.
func (h *Hook) preflightNamed(ctx context.Context, q Question) (entry string, err error) {
	a := h.newAttempt(beforeRequest, q.Session)
	a.question, a.force, a.text = q, true, beforeRequestText
	return a.preflight(ctx)
}

// preflightStored is [Hook.preflightNamed] for the sessions of a directory that were updated
// since then, newest first, before the agent handles its first prompt. An agent that
// starts cannot say whether it is idle, and has no screen and no other plugins yet; a session that
// another process may be working in is left as it is.
func (h *Hook) preflightStored(ctx context.Context, since time.Time, q Question) error {
	end := time.Now().Add(q.Deadline)
	heads, err := h.store.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if head.Directory != q.Session.Directory || time.UnixMilli(head.Updated).Before(since) {
			continue
		}
		a := h.newAttempt(beforeRequest, SessionRef{head.ID, q.Session.Directory})
		a.head, a.question, a.late = head, q, true
		a.question.Deadline = time.Until(end)
		if _, err := a.preflight(ctx); errors.Is(err, errTooLate) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// preflight repairs a session before a request.
func (a *attempt) preflight(ctx context.Context) (entry string, err error) {
	newer, err := a.checkVersion(a.question.Version)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.log = a.log.With("preflight", true)
	a.timer = time.AfterFunc(a.question.Deadline, func() { cancel(errTooLate) })
	defer a.timer.Stop()
	entry, err = a.run(ctx)
	if entry != "" && newer != "" {
		a.mu.Lock()
		a.trials.Set(a.ref.ID, newer)
		a.mu.Unlock()
	}
	if err != nil {
		err = causeOr(ctx, err)
	}
	return entry, err
}

func preflightRequest(a *attempt) repair.Request {
	q := a.question
	req := repair.Request{Except: a.opt.Disabled, Force: a.force}
	req.Version = q.Version
	if q.Named && q.Model != nil { // which may be of another provider than the session
		req.Model.ProviderID, req.Model.ModelID = q.Model.ProviderID, q.Model.ModelID
	}
	return req
}

// checkPreflight returns an error if a plan must not be applied before a request, or no longer.
func checkPreflight(ctx context.Context, a *attempt, r repair.Result) error {
	if err := a.store.CheckUnasked(ctx, a.ref.ID, r); err != nil {
		return err
	}
	if !a.late && a.Busy(ctx, a.ref) {
		return errWorking
	}
	if a.question.Begin != nil {
		if waits, err := a.question.Begin(ctx); !waits || err != nil {
			return errors.Join(err, errTooLate)
		}
	}
	if !a.begun && !a.timer.Stop() {
		return errTooLate
	}
	return nil
}

// AnswerQuestion answers a question of the agent about a session, or about all sessions
// of its directory if it names none, and shows what was repaired.
func (h *Hook) AnswerQuestion(ctx context.Context, since time.Time, q Question) (entry string, err error) {
	if q.Session.ID == "" {
		return "", h.preflightStored(ctx, since, q)
	}
	if err := change.ValidateID(q.Session.ID); err != nil {
		return "", err
	}
	return h.preflightNamed(ctx, q)
}

// causeOr returns the cause of the end of the context, or err if it has not ended.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
