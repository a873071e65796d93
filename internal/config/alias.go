package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// aliases maps keys of oh-my-opencode to settings. Dots separate the names of nested objects. "skip " is followed by a
// word of the setting skip: the value false adds that word.
var aliases = map[string]string{
	"emptyMessagePlaceholder":                         "placeholderText",
	"experimental.auto_resume":                        "autoResume",
	"experimental.empty_message_recovery":             "skip empty_content_message",
	"experimental.aggressive_truncation":              "trimOverflow",
	"fallback_models":                                 "fallbackModels",
	"model_fallback":                                  "skip " + SkipFallback,
	"runtime_fallback":                                "skip " + SkipFallback,
	"runtime_fallback.enabled":                        "skip " + SkipFallback,
	"runtime_fallback.retry_on_errors":                "fallbackErrors",
	"runtime_fallback.max_fallback_attempts":          "fallbackAttempts",
	"runtime_fallback.cooldown_seconds":               "fallbackCooldownSeconds",
	"runtime_fallback.timeout_seconds":                "fallbackSilenceSeconds",
	"runtime_fallback.restore_primary_after_cooldown": "fallbackRestore",
}

// disabledHooks is the key of oh-my-opencode that lists disabled hooks. agentModels is its key for agents, which may
// have fallback_models.
const (
	disabledHooks = "disabled_hooks"
	agentModels   = "agents"
)

// hookSwitches maps a hook of oh-my-opencode to what turns it off: an assignment, or "skip " and a word as in aliases.
var hookSwitches = map[string]string{
	"session-recovery":                        "enabled=false",
	"anthropic-context-window-limit-recovery": "trimOverflow=false",
	"write-existing-file-guard":               "writeGuard=false",
	"edit-error-recovery":                     "explainToolErrors=false",
	"json-error-recovery":                     "explainToolErrors=false",
	"unstable-agent-babysitter":               "watchSubagents=off",
	"runtime-fallback":                        "skip " + SkipFallback,
	"model-fallback":                          "skip " + SkipFallback,
	"thinking-block-validator":                "skip " + SkipPreflight,
}

// Notes returns the effect of each key of oh-my-opencode, each text once.
func (c *Config) Notes() []string {
	var all []string
	for _, n := range c.notes {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

func (c *Config) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// isForeign reports whether a key looks like a key of oh-my-opencode: mend's keys have none of these characters, and
// only one of mend's settings is an object.
func isForeign(name string, value jsontext.Value) bool {
	return strings.ContainsAny(name, "_$.") || value.Kind() == '{'
}

// takeAliases applies the foreign keys in members, and removes them. prefix is the name of the object with
// the members, with a dot, or "".
func (c *Config) takeAliases(prefix string, members map[string]jsontext.Value) {
	for _, key := range slices.Sorted(maps.Keys(members)) {
		name, value := prefix+key, members[key]
		nested := slices.ContainsFunc(slices.Collect(maps.Keys(aliases)), func(a string) bool { return strings.HasPrefix(a, name+".") })
		switch {
		case value.Kind() == '{' && name == agentModels:
			c.try(func(c *Config) error { return c.setAgentModels(value) })
		case value.Kind() == '{' && nested:
			var inner map[string]jsontext.Value
			if err := json.Unmarshal(value, &inner); err != nil {
				c.problems = append(c.problems, err)
			}
			c.takeAliases(name+".", inner)
		case aliases[name] != "" || name == disabledHooks:
			c.try(func(c *Config) error { return c.setAlias(name, value) })
		case (nested || name == agentModels || isForeign(name, value)) && c.CheckKey(name) != nil:
			c.note("%.100s has no effect in mend", name)
		default:
			continue
		}
		delete(members, key)
	}
}

// try changes the settings, or records a problem if set returns an error.
func (c *Config) try(set func(*Config) error) {
	trial := *c
	if err := set(&trial); err != nil {
		c.problems = append(c.problems, err)
		return
	}
	*c = trial
}

// setAlias applies a foreign key of the file.
func (c *Config) setAlias(name string, value jsontext.Value) error {
	if name == disabledHooks {
		return c.disableHooks(value)
	}
	target := aliases[name]
	if word, ok := strings.CutPrefix(target, "skip "); ok {
		if string(value) == "false" {
			c.note("%s of oh-my-opencode adds %s to skip", name, word)
			return c.skip(word)
		}
		c.note("%s of oh-my-opencode has no effect: it is on unless skip has %s", name, word)
		return nil
	}
	k, err := c.find(target)
	if err != nil {
		return err
	}
	c.note("%s of oh-my-opencode sets %s", name, target)
	if _, ok := k.field.(*[]string); ok {
		names, err := modelNames(value)
		if err != nil {
			return fmt.Errorf("key %q: %w", name, err)
		}
		if value, err = json.Marshal(names); err != nil {
			return err
		}
	}
	if err := c.setJSON(k, value, File); err != nil {
		return fmt.Errorf("key %q: %w", name, err)
	}
	return nil
}

// skip adds a word to the setting skip.
func (c *Config) skip(word string) error {
	if c.Skips(word) {
		return nil
	}
	return c.assign("skip", strings.Join(append(slices.Clone(c.Skip), word), ","), File)
}

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

// disableHooks turns off the hooks in a list.
func (c *Config) disableHooks(value jsontext.Value) error {
	var hooks []string
	if err := json.Unmarshal(value, &hooks); err != nil {
		return fmt.Errorf("key %q: want a list of names, got %s", disabledHooks, value)
	}
	for _, hook := range hooks {
		effect, ok := hookSwitches[hook]
		if !ok {
			c.note("mend has no hook %.100q, so %s has no effect on it", hook, disabledHooks)
			continue
		}
		var err error
		if word, ok := strings.CutPrefix(effect, "skip "); ok {
			err = c.skip(word)
			effect = "adds " + word + " to skip"
		} else {
			name, off, _ := strings.Cut(effect, "=")
			err = c.assign(name, off, File)
			effect = "sets " + effect
		}
		if err != nil {
			return err
		}
		c.note("%s of oh-my-opencode with %q %s", disabledHooks, hook, effect)
	}
	return nil
}
