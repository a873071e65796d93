package config

import "slices"

// OtherHooks are the settings of the hooks that repair no session (package hooks). All of them
// are off by default. In the file they stand beside the others.
type OtherHooks struct {
	WriteGuard              bool   // refuse writes to files that the model has not read
	ExplainToolErrors       bool   // tell the model what to do about failed calls
	WatchSubagents          bool   // act upon subagents that are stuck
	StuckAfter              int    // without any event, in seconds
	StuckAction             string // notify, abort or retry
	ModelFallback           bool   // continue a turn with another model if its model fails
	FallbackModels          []string
	AgentFallbackModels     map[string][]string // by agent
	FallbackErrors          []int               // status codes
	FallbackAttempts        int
	FallbackCooldownSeconds int
	FallbackSilenceSeconds  int
	FallbackRestore         bool
}

func defaultOtherHooks() OtherHooks {
	return OtherHooks{
		StuckAfter: 120, StuckAction: "notify",
		FallbackErrors: []int{429, 500, 502, 503, 504, 529}, FallbackModels: []string{}, AgentFallbackModels: map[string][]string{},
		FallbackAttempts: 3, FallbackCooldownSeconds: 60, FallbackSilenceSeconds: 120,
	}
}

func (o *OtherHooks) settings() []setting {
	return []setting{
		{"writeGuard", &o.WriteGuard, 0, 0, "Refuse to overwrite a file that the model has not read completely, or that was changed since."},
		{"explainToolErrors", &o.ExplainToolErrors, 0, 0, "Tell the model in one sentence what to do after a failed edit or a call with malformed JSON."},
		{"watchSubagents", &o.WatchSubagents, 0, 0, "Notice subagents in which nothing happens while their parent waits."},
		{"stuckAfter", &o.StuckAfter, 1, 86_400, "After how many seconds without any event a subagent counts as stuck. A running tool counts as activity."},
		{"stuckAction", &o.StuckAction, 0, 0, "What to do then: notify you, abort the subagent so that its parent continues, or abort it and ask the parent to retry."},
		{"modelFallback", &o.ModelFallback, 0, 0, "If a model fails, continue the turn with the next model of fallbackModels. On by default if there are such models."},
		{"fallbackModels", &o.FallbackModels, 0, 0, "The models to continue with, best first."},
		{"agentFallbackModels", &o.AgentFallbackModels, 0, 0, "The same for prompts to some agents."},
		{"fallbackErrors", &o.FallbackErrors, 100, 599, "The status codes of the provider after which the next model continues. Used-up quotas, unknown models and rejected API keys always count."},
		{"fallbackAttempts", &o.FallbackAttempts, 1, 20, "How often the model changes until your next prompt."},
		{"fallbackCooldownSeconds", &o.FallbackCooldownSeconds, 0, 86_400, "How long a model that failed is not used, in seconds, or longer if the provider says so."},
		{"fallbackSilenceSeconds", &o.FallbackSilenceSeconds, 0, 86_400, "How long a model may send nothing until the next one continues, in seconds. 0 means forever. While a tool runs, the time does not count."},
		{"fallbackRestore", &o.FallbackRestore, 0, 0, "Send a prompt that names no model to the first model again when that can be used."},
	}
}

// HooksValues returns the values of the setting hooks.
func HooksValues() []string { return slices.Clone(choices["hooks"]) }

// Switches returns the settings that are on by default if hooks is "all".
func Switches() []string {
	return []string{"trimOverflow", "writeGuard", "explainToolErrors", "watchSubagents", "modelFallback"}
}

// applyHooks turns on the switches that no source sets, if hooks is "all". It turns on
// modelFallback if there are models to continue with.
func (c *Config) applyHooks() error {
	if c.Origin("modelFallback") == Default && len(c.Other.FallbackModels)+len(c.Other.AgentFallbackModels) > 0 {
		if err := c.assign("modelFallback", "true", FromModels); err != nil {
			return err
		}
	}
	if c.Hooks != HooksAll {
		return nil
	}
	for _, name := range Switches() {
		if c.Origin(name) != Default {
			continue
		}
		if err := c.assign(name, "true", FromHooks); err != nil {
			return err
		}
	}
	return nil
}
