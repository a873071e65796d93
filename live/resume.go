package live

import (
	"context"

	"mend/repair"
	"mend/session"
)

// ResumeText is the prompt of a resumed turn.
const ResumeText = "[session recovered - continuing previous task]"

// resume lets the agent go on after the recovery of thinking, if that is
// switched on. A prompt that may or may not have arrived is not sent again.
func (r *recovery) resume(ctx context.Context, ms []Message) {
	thinking := r.err.Class == repair.ThinkingBlockOrder || r.err.Class == repair.ThinkingDisabledViolation
	if !thinking || !r.opt.AutoResume || r.late || ctx.Err() != nil {
		return
	}
	p := resumePrompt(lastTyped(ms))
	ctx, cancel := context.WithTimeout(ctx, r.opt.Timeout)
	defer cancel()
	if err := r.agent.Prompt(ctx, r.place(), p); err != nil {
		r.log.Error("resuming the turn", "error", err)
		return
	}
	r.log.Info("resumed")
}

// resumePrompt asks the agent to go on with what the user had chosen for the
// prompt last; last may be nil.
func resumePrompt(last *Message) Prompt {
	p := Prompt{Parts: []PromptPart{{Type: session.TypeText, Text: ResumeText, Synthetic: true}}}
	if last == nil {
		return p
	}
	i := last.Info
	p.Agent, p.Tools, p.Variant = i.Agent, i.Tools, i.Variant
	if i.Model != nil {
		p.Model = &Model{ProviderID: i.Model.ProviderID, ModelID: i.Model.ModelID}
		if p.Variant == "" {
			p.Variant = i.Model.Variant
		}
	}
	return p
}
