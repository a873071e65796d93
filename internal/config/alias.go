package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// experimental is the prefix of keys of oh-my-opencode that are in the object of that name.
const experimental = "experimental."

// aliases maps keys of oh-my-opencode's session recovery to settings. "skip " is followed by a word of the setting skip:
// the value false adds that word.
var aliases = map[string]string{
	"emptyMessagePlaceholder":               "placeholderText",
	experimental + "auto_resume":            "autoResume",
	experimental + "empty_message_recovery": "skip empty_content_message",
	experimental + "aggressive_truncation":  "trimOverflow",
}

// disabledHooks is the key of oh-my-opencode that lists disabled hooks.
const disabledHooks = "disabled_hooks"

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
		switch {
		case name+"." == experimental && value.Kind() == '{':
			var inner map[string]jsontext.Value
			if err := json.Unmarshal(value, &inner); err != nil {
				c.problems = append(c.problems, err)
			}
			c.takeAliases(experimental, inner)
		case name == disabledHooks:
			c.try(func(c *Config) error { return c.disableHooks(value) })
		case aliases[name] != "":
			c.try(func(c *Config) error { return c.setAlias(name, value) })
		case (name+"." == experimental || isForeign(name, value)) && c.CheckKey(name) != nil:
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
	target := aliases[name]
	if word, ok := strings.CutPrefix(target, "skip "); ok {
		if string(value) != "false" {
			c.note("%s of oh-my-opencode has no effect: it is on unless skip has %s", name, word)
			return nil
		}
		effect, err := c.disable(target)
		c.note("%s of oh-my-opencode %s", name, effect)
		return err
	}
	k, err := c.find(target)
	if err != nil {
		return err
	}
	c.note("%s of oh-my-opencode sets %s", name, target)
	if err := c.setJSON(k, value, File); err != nil {
		return fmt.Errorf("key %q: %w", name, err)
	}
	return nil
}

// disable adds a word to the setting skip, for "skip WORD", or makes an assignment. It returns that in words.
func (c *Config) disable(what string) (effect string, err error) {
	word, isWord := strings.CutPrefix(what, "skip ")
	if !isWord {
		name, value, _ := strings.Cut(what, "=")
		return "sets " + what, c.assign(name, value, File)
	}
	if !c.Skips(word) {
		err = c.assign("skip", strings.Join(append(slices.Clone(c.Skip), word), ","), File)
	}
	return "adds " + word + " to skip", err
}

// disableHooks turns off the hooks in a list.
func (c *Config) disableHooks(value jsontext.Value) error {
	var hooks []string
	if err := json.Unmarshal(value, &hooks); err != nil {
		return fmt.Errorf("key %q: want a list of names, got %s", disabledHooks, value)
	}
	for _, hook := range hooks {
		what, ok := hookSwitches[hook]
		if !ok {
			c.note("mend has no hook %.100q, so %s has no effect on it", hook, disabledHooks)
			continue
		}
		effect, err := c.disable(what)
		if err != nil {
			return err
		}
		c.note("%s of oh-my-opencode with %q %s", disabledHooks, hook, effect)
	}
	return nil
}
