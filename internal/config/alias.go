package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An alias is a key of oh-my-opencode that is accepted for a setting. Dots stand between
// the names of nested objects.
type alias struct {
	name    string
	setting string // "" if mend has none; the key is then ignored
}

// aliases has the keys of oh-my-opencode, apart from disabled_hooks.
var aliases = []alias{
	{"emptyMessagePlaceholder", "placeholderText"},
	{"experimental.auto_resume", "autoResume"},
	{"experimental.empty_message_recovery", "recoverEmptyContentMessage"},
	{"experimental.aggressive_truncation", "trimOverflow"},
	{"experimental.dynamic_context_pruning", ""},
	{"experimental.preemptive_compaction", ""},
	{"experimental.truncate_all_tool_outputs", ""},
	{"experimental.model_fallback_title", ""},
	{"fallback_models", "fallbackModels"},
	{"model_fallback", "modelFallback"},
	{"runtime_fallback", "modelFallback"},
	{"runtime_fallback.enabled", "modelFallback"},
	{"runtime_fallback.retry_on_errors", "fallbackErrors"},
	{"runtime_fallback.max_fallback_attempts", "fallbackAttempts"},
	{"runtime_fallback.cooldown_seconds", "fallbackCooldownSeconds"},
	{"runtime_fallback.timeout_seconds", "fallbackSilenceSeconds"},
	{"runtime_fallback.notify_on_fallback", ""},
	{"runtime_fallback.restore_primary_after_cooldown", "fallbackRestore"},
}

// otherKeys are the keys of oh-my-opencode that have nothing to do with mend.
var otherKeys = []string{
	"$schema", "_migrations", "agent_order", agentModels, "auto_update", "babysitting", "background_task", "browser_automation_engine", "categories",
	"claude_code", "comment_checker", "default_mode", "default_run_agent", "disabled_agents", "disabled_commands", "disabled_mcps", "disabled_providers",
	"disabled_skills", "disabled_tools", "experimental", "git_master", "google_auth", "hashline_edit", "i18n", "keyword_detector", "lsp", "mcp_env_allowlist",
	"model_capabilities", "monitor", "new_task_system_enabled", "notification", "openclaw", "ralph_loop", "sisyphus", "sisyphus_agent", "skills",
	"start_work", "team_mode", "tmux", "ultrawork", "websearch",
}

// disabledHooks is the key that lists hooks of oh-my-opencode that are off.
const disabledHooks = "disabled_hooks"

// hookSwitches has the setting that is the switch of a hook of oh-my-opencode.
var hookSwitches = map[string]string{
	"session-recovery":                        "enabled",
	"anthropic-context-window-limit-recovery": "trimOverflow",
	"write-existing-file-guard":               "writeGuard",
	"edit-error-recovery":                     "explainToolErrors",
	"json-error-recovery":                     "explainToolErrors",
	"unstable-agent-babysitter":               "watchSubagents",
	"runtime-fallback":                        "modelFallback",
	"model-fallback":                          "modelFallback",
	"thinking-block-validator":                "preflight",
}

// Notes says for each key of oh-my-opencode that was accepted which setting it sets, each once.
func (c *Config) Notes() []string {
	var all []string
	for _, n := range c.notes {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// findAlias returns the alias with this name.
func findAlias(name string) (alias, bool) {
	i := slices.IndexFunc(aliases, func(a alias) bool { return a.name == name })
	if i < 0 {
		return alias{}, slices.Contains(otherKeys, name)
	}
	return aliases[i], true
}

// isAliasPrefix reports whether an object with this name may hold keys that are aliases.
func isAliasPrefix(name string) bool {
	return slices.ContainsFunc(aliases, func(a alias) bool { return strings.HasPrefix(a.name, name+".") })
}

// takeAliases sets what the keys of oh-my-opencode in members set, and removes them.
// prefix is the name of the object that has the members, with a dot, or "".
func (c *Config) takeAliases(prefix string, members map[string]jsontext.Value) {
	for _, key := range slices.Sorted(maps.Keys(members)) {
		name, value := prefix+key, members[key]
		_, isAlias := findAlias(name)
		switch {
		case value.Kind() == '{' && name == agentModels:
			c.try(func(c *Config) error { return c.setAgentModels(value) })
		case value.Kind() == '{' && isAliasPrefix(name):
			var inner map[string]jsontext.Value
			if err := json.Unmarshal(value, &inner); err != nil {
				c.problems = append(c.problems, err)
			}
			c.takeAliases(name+".", inner)
		case isAlias || name == disabledHooks:
			c.try(func(c *Config) error { return c.setAlias(name, value, File) })
		case prefix != "":
			c.note("%.100s of oh-my-opencode has no effect in mend", name)
		default:
			continue
		}
		delete(members, key)
	}
}

// try makes a change of the settings, or none and a problem if that returns an error.
func (c *Config) try(set func(*Config) error) {
	trial := *c
	if err := set(&trial); err != nil {
		c.problems = append(c.problems, err)
		return
	}
	*c = trial
}

// agentModels is the key that has the settings of agents, of which mend reads
// fallback_models.
const agentModels = "agents"

// setAgentModels sets the models of agents.
func (c *Config) setAgentModels(value jsontext.Value) error {
	var agents map[string]struct {
		Models jsontext.Value `json:"fallback_models"`
	}
	if err := json.Unmarshal(value, &agents); err != nil {
		return fmt.Errorf("key %q: want an object of agents: %w", agentModels, err)
	}
	all := map[string][]string{}
	for agent, a := range agents {
		if len(a.Models) == 0 {
			continue
		}
		models, err := modelNames(a.Models)
		if err != nil {
			return fmt.Errorf("key %q: %w", agentModels+"."+agent+".fallback_models", err)
		}
		all[agent] = models
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	k, err := c.find("agentFallbackModels")
	if err != nil {
		return err
	}
	c.note("fallback_models in agents of oh-my-opencode sets %s; its other keys have no effect", k.name)
	return c.setJSON(k, data, File)
}

// modelNames returns the names of models in a value of oh-my-opencode: a name, or a list of
// names and of objects.
func modelNames(value jsontext.Value) ([]string, error) {
	if value.Kind() == '"' {
		value = jsontext.Value("[" + string(value) + "]")
	}
	var list []jsontext.Value
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, fmt.Errorf("want a list of models, got %s", value)
	}
	names := []string{}
	for _, v := range list {
		var name string
		var model struct {
			Model   string `json:"model"`
			Variant string `json:"variant"`
		}
		if json.Unmarshal(v, &name) != nil {
			if err := json.Unmarshal(v, &model); err != nil || model.Model == "" {
				return nil, fmt.Errorf("want the name of a model, got %s", v)
			}
			if name = model.Model; model.Variant != "" {
				name += "(" + model.Variant + ")"
			}
		}
		names = append(names, name)
	}
	return names, nil
}

// setAlias sets what a key of oh-my-opencode sets.
func (c *Config) setAlias(name string, value jsontext.Value, origin Origin) error {
	if name == disabledHooks {
		return c.disableHooks(value, origin)
	}
	a, _ := findAlias(name)
	if a.setting == "" {
		c.note("%s of oh-my-opencode has no effect in mend", name)
		return nil
	}
	k, err := c.find(a.setting)
	if err != nil {
		return err
	}
	c.note("%s of oh-my-opencode sets %s", name, a.setting)
	if _, ok := k.field.(*[]string); ok {
		names, err := modelNames(value)
		if err != nil {
			return fmt.Errorf("key %q: %w", name, err)
		}
		if value, err = json.Marshal(names); err != nil {
			return err
		}
	}
	if err := c.setJSON(k, value, origin); err != nil {
		return fmt.Errorf("key %q: %w", name, err)
	}
	return nil
}

// disableHooks turns off the hooks in a list.
func (c *Config) disableHooks(value jsontext.Value, origin Origin) error {
	var hooks []string
	if err := json.Unmarshal(value, &hooks); err != nil {
		return fmt.Errorf("key %q: want a list of names, got %s", disabledHooks, value)
	}
	for _, hook := range hooks {
		name, ok := hookSwitches[hook]
		if !ok {
			c.note("mend has no hook %.100q, so %s has no effect on it", hook, disabledHooks)
			continue
		}
		value := "false"
		if name == "preflight" {
			value = PreflightOff
		}
		c.note("%s of oh-my-opencode with %q sets %s=%s", disabledHooks, hook, name, value)
		if err := c.assign(name, value, origin); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}
