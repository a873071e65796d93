package hooks

import (
	"context"
	"time"

	"mend/internal/live"
)

// A policy is a pure function from a state and an event to the next state and the actions that follow. It
// reads no clock and no file: an event contains everything that the policy needs.

// An action is one step that a policy asks for. kind determines which of the other fields count.
type action struct {
	kind    actionKind
	session string
	toast   live.Toast
	prompt  live.Prompt
	model   live.Model
	until   time.Time // when the model can be used again
}

// An actionKind is a kind of [action].
type actionKind int

// The kinds of actions.
const (
	actToast actionKind = iota + 1
	actAbort
	actPrompt
	actCool  // do not use a model before a time
	actModel // send the agent's pending prompt to another model
)

func showToast(title, text, variant string) action {
	return action{kind: actToast, toast: live.Toast{Title: title, Message: text, Variant: variant}}
}

// execute carries out an action that is a call to the agent. It also logs an error.
func execute(ctx context.Context, h *live.Hook, a action) (err error) {
	switch a.kind {
	case actToast:
		h.Toast(ctx, a.toast)
	case actAbort:
		err = h.Agent().Abort(ctx, a.session)
	case actPrompt:
		err = h.Agent().Prompt(ctx, a.session, a.prompt)
	case actModel, actCool: // these are not calls to the agent
	}
	if err != nil {
		h.Log().Warn("carrying out an action", "session", a.session, "error", err)
	}
	return err
}
