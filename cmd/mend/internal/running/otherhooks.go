package running

import (
	"time"

	"mend/internal/config"
	"mend/internal/hooks"
	"mend/internal/live"
)

// otherHooks returns the options of the hooks that repair no session. once means that the agent ends with its
// turn, so that no turn can be continued.
func otherHooks(c config.Config, once bool) hooks.Options {
	o := hooks.Options{WriteGuard: c.WriteGuard, ExplainToolErrors: c.ExplainToolErrors}
	if c.WatchSubagents != "off" {
		o.Children = hooks.ChildOptions{After: seconds(c.StuckAfter), Action: c.WatchSubagents}
	}
	if c.Skips(config.SkipFallback) {
		return o
	}
	o.Fallback = hooks.FallbackPolicy{
		Models: parseModels(c.FallbackModels), AgentModels: map[string][]live.Model{},
		Codes: c.FallbackErrors, Attempts: c.FallbackAttempts, Restore: c.FallbackRestore, KeepTurns: once,
		Cooldown: seconds(c.FallbackCooldownSeconds), Silence: seconds(c.FallbackSilenceSeconds),
	}
	for agent, models := range c.AgentFallbackModels {
		o.Fallback.AgentModels[agent] = parseModels(models)
	}
	return o
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// parseModels returns the models with these names. The settings have checked them.
func parseModels(names []string) []live.Model {
	var all []live.Model
	for _, name := range names {
		if m, err := hooks.ParseModel(name); err == nil {
			all = append(all, m)
		}
	}
	return all
}
