package live

import (
	"context"
	"time"
)

// A policy is a pure function from a state and an event to the next state and the actions
// that follow. It reads no clock and no file: an event has what the policy needs to know.
// A [WriteGuard], a [ChildWatch] and a [Watch] feed one policy each and carry out its
// actions.

// An Action is one thing that a policy wants done. Kind says which of the other fields count.
type Action struct {
	Kind    ActionKind
	Session SessionRef
	Text    string // of a refusal, or to be appended
	Part    string // the id of the part to which the text is appended
	Toast   Toast
	Prompt  Prompt
	Model   Model
	Until   time.Time // when the model can be used again
}

// An ActionKind is a kind of [Action].
type ActionKind int

// The kinds of actions.
const (
	ActRefuse ActionKind = iota + 1 // end a tool call before it runs; the model gets the text
	ActAppend                       // append a text to what the model gets from a tool call
	ActToast
	ActAbort
	ActPrompt
	ActCool  // use a model again only after a time
	ActModel // send the prompt that the agent asks about to another model
)

// execute carries out an action that is a call to the agent. An error is also logged.
func (h *Hook) execute(ctx context.Context, a Action) (err error) {
	ctx, cancel := context.WithTimeout(ctx, h.opt.Timeout)
	defer cancel()
	switch a.Kind {
	case ActToast:
		h.toast(ctx, a.Session.Directory, a.Toast)
	case ActAbort:
		err = h.agent.Abort(ctx, a.Session)
	case ActPrompt:
		err = h.agent.Prompt(ctx, a.Session, a.Prompt)
	case ActRefuse, ActAppend, ActModel: // in the answer to a question
	case ActCool: // done by [fallback]
	}
	if err != nil {
		h.opt.Log.Warn("carrying out what a policy decided", "session", a.Session.ID, "error", err)
	}
	return err
}
