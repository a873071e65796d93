// Package config reads the settings of mend: from a JSON file that may have comments and trailing commas, from the
// environment, and from assignments on the command line. A later source overrides an earlier one. An error about an
// unknown key, or a value of the wrong type, names the nearest key or the expected value. It writes no file.
//
// It may import internal/ownfile and internal/userdir. Read [Load] and the table in Config.settings first.
package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"

	"mend/internal/userdir"
)

// A Config holds the current settings. Use [Load] to create one. The table of settings describes the fields.
type Config struct {
	Enabled             bool
	Skip                []string // values of [skipWords]
	AutoResume          bool
	MaxRetries          int
	NotificationSeconds int // 0: no notification
	Placeholder         string
	PreflightMs         int
	LookBackHours       int
	WatchPollSeconds    int
	RetentionDays       int // 0: forever
	Keep                bool
	KeepMaxMB           int

	// Hooks that repair no session (package hooks).
	Hooks                   string // [HooksRecovery] or [HooksAll]
	TrimOverflow            bool
	WriteGuard              bool
	ExplainToolErrors       bool
	WatchSubagents          string // off, notify, abort or retry
	StuckAfter              int    // seconds
	FallbackModels          []string
	AgentFallbackModels     map[string][]string // by agent
	FallbackErrors          []int               // status codes
	FallbackAttempts        int
	FallbackCooldownSeconds int
	FallbackSilenceSeconds  int
	FallbackRestore         bool

	origin   map[string]Origin
	notes    []string
	problems []error // of the file and the environment
}

// An Origin is the source of a value.
type Origin string

// The origins.
const (
	Default     Origin = "default"
	File        Origin = "file"
	Environment Origin = "environment"
	Flag        Origin = "flag"
	FromHooks   Origin = "hooks" // the setting hooks is "all"
)

// A Setting is one value with its origin.
type Setting struct {
	Key         string `json:"key"`
	Value       any    `json:"value"` // a bool, an int, a string, a list of one of these, or an object of lists
	Origin      Origin `json:"origin"`
	Default     any    `json:"default"` // of the same type as the value
	Want        string `json:"want"`    // the allowed values
	Env         string `json:"env"`     // the name of its environment variable
	Description string `json:"about"`
	Reason      string `json:"reason"` // why to change the value
}

// Path returns the path of the user's file, $XDG_CONFIG_HOME/mend/config.json. The file
// need not exist.
func Path() (string, error) {
	dir, err := userdir.Config()
	if err != nil {
		return "", fmt.Errorf("finding the settings: %w", err)
	}
	return filepath.Join(dir, "config.json"), nil
}

// A setting describes one key. field points to the field of the Config.
type setting struct {
	name        string
	field       any
	min, max    int // of an int, or of the numbers in a list
	description string
	reason      string // why to change the value
}

// The values of the setting hooks, which determines the default of the hooks' own settings.
const (
	HooksRecovery = "recovery"
	HooksAll      = "all"
)

// The words of the setting skip that are not classes of damage.
const (
	SkipPreflight   = "preflight"        // the repair before a request
	SkipInterrupted = "interrupted_tool" // the end of hanging tool calls in idle sessions
	SkipFallback    = "model_fallback"   // continuing with other models
)

// skipWords are the values that the setting skip may have.
func skipWords() []string {
	return []string{
		"tool_result_missing", "thinking_block_order", "thinking_disabled_violation", "empty_content_message", "unavailable_tool",
		"invalid_tool_call", "invalid_file", "first_prompt_missing", "thinking_signature", "encrypted_reasoning",
		"thinking_block_modified", "assistant_prefill_unsupported", SkipInterrupted, SkipPreflight, SkipFallback,
	}
}

// Skips reports whether the setting skip has the word.
func (c *Config) Skips(word string) bool { return slices.Contains(c.Skip, word) }

// choices has the allowed values of some settings.
var choices = map[string][]string{
	"hooks":          {HooksRecovery, HooksAll},
	"watchSubagents": {"off", "notify", "abort", "retry"},
}

// settings returns all settings in display order. Config, help and docs/configuration.md are derived from it.
func (c *Config) settings() []setting {
	return []setting{
		{"enabled", &c.Enabled, 0, 0, "Repair sessions of a running agent.", "To stop the plugin, the hooks and mend watch without removing them."},
		{"skip", &c.Skip, 0, 0, "What is not repaired or explained automatically: classes of damage, interrupted_tool (hanging tool calls of idle sessions), preflight (the repair before a request), model_fallback.", "To decide about one kind of repair yourself."},
		{"autoResume", &c.AutoResume, 0, 0, "After a repair of thinking, send a prompt so that the turn continues. Needs the plugin.", "For unattended turns; a prompt costs tokens."},
		{"maxRetries", &c.MaxRetries, 1, 100, "Give up on a session after this many repairs without a successful turn.", "A provider that fails for other reasons, too."},
		{"notificationSeconds", &c.NotificationSeconds, 0, 600, "How long a notification in the agent is shown. 0 shows none.", "A screen that is read from afar, or that must stay clean."},
		{"placeholderText", &c.Placeholder, 0, 0, "The text that replaces missing content.", "The model sees it: another language, or a word that your tools search for."},
		{"preflightMs", &c.PreflightMs, 100, 60_000, "How long the agent waits for a repair before a request, in milliseconds.", "A slow disk, or sessions of hundreds of megabytes."},
		{"lookBackHours", &c.LookBackHours, 0, 24 * 365, "At start, also repair sessions that were used within this many hours.", "To repair sessions that broke while mend was not running."},
		{"watchPollSeconds", &c.WatchPollSeconds, 1, 86_400, "How often mend watch looks at the stores, and for new ones, in seconds.", "A store on a network."},
		{"retentionDays", &c.RetentionDays, 0, 36_500, "How many days the journal keeps the data for undo while mend watches. 0 means forever.", "Disk space."},
		{"keep", &c.Keep, 0, 0, "Copy a session when one of its turns ends, so that mend restore can bring it back (docs/keep.md).", "It copies the texts of your conversations, so you have to agree."},
		{"keepMaxMB", &c.KeepMaxMB, 1, 1 << 30, "The maximum size of all copies, in megabytes; the oldest are deleted first. The newest complete copy of a session always stays.", "Disk space."},
		{"hooks", &c.Hooks, 0, 0, "Which hooks are on: recovery alone, or all, which also turns on trimOverflow, writeGuard, explainToolErrors and watchSubagents. The setting of a hook takes precedence.", "What mend install --hooks writes."},
		{"trimOverflow", &c.TrimOverflow, 0, 0, "If a request is too long for the model, clear old tool outputs in the next one. They stay in the store.", "Long sessions of a model with a small window."},
		{"writeGuard", &c.WriteGuard, 0, 0, "Refuse to overwrite a file that the model has not read completely, or that was changed since.", "A model that overwrites your edits."},
		{"explainToolErrors", &c.ExplainToolErrors, 0, 0, "Tell the model in one sentence what to do after a failed edit or a call with malformed JSON.", "A model that repeats a failed call."},
		{"watchSubagents", &c.WatchSubagents, 0, 0, "What to do about a subagent that does nothing while its parent waits: notify you, abort it so that its parent continues, or abort it and ask the parent to retry.", "Subagents that hang."},
		{"stuckAfter", &c.StuckAfter, 1, 86_400, "After how many seconds without any event a subagent counts as stuck. A running tool counts as activity.", "A slow provider."},
		{"fallbackModels", &c.FallbackModels, 0, 0, "The models to continue a turn with if its model fails, best first. None: no other model is used.", "A provider with limits or outages."},
		{"agentFallbackModels", &c.AgentFallbackModels, 0, 0, "The same for prompts to some agents.", "An agent that needs another kind of model."},
		{"fallbackErrors", &c.FallbackErrors, 100, 599, "The status codes of the provider after which the next model continues. Used-up quotas, unknown models and rejected API keys always count.", "A provider with codes of its own."},
		{"fallbackAttempts", &c.FallbackAttempts, 1, 20, "How often the model changes until your next prompt.", "More than three models."},
		{"fallbackCooldownSeconds", &c.FallbackCooldownSeconds, 0, 86_400, "How long a model that failed is not used, in seconds, or longer if the provider says so.", "Limits for each hour or day."},
		{"fallbackSilenceSeconds", &c.FallbackSilenceSeconds, 0, 86_400, "How long a model may send nothing until the next one continues, in seconds. 0 means forever. While a tool runs, the time does not count.", "A model that thinks for a long time."},
		{"fallbackRestore", &c.FallbackRestore, 0, 0, "Send a prompt that names no model to the first model again when that can be used.", "To return to the model that you chose."},
	}
}

// Defaults returns the default settings.
func Defaults() Config {
	return Config{
		Enabled: true, Skip: []string{}, MaxRetries: 3, NotificationSeconds: 12, Placeholder: "[user interrupted]", PreflightMs: 1500, LookBackHours: 24,
		WatchPollSeconds: 5, KeepMaxMB: 2048, Hooks: HooksRecovery, WatchSubagents: "off", StuckAfter: 120,
		FallbackModels: []string{}, AgentFallbackModels: map[string][]string{}, FallbackErrors: []int{429, 500, 502, 503, 504, 529},
		FallbackAttempts: 3, FallbackCooldownSeconds: 60, FallbackSilenceSeconds: 120,
		origin: map[string]Origin{},
	}
}

// HooksValues returns the values of the setting hooks.
func HooksValues() []string { return slices.Clone(choices["hooks"]) }

// Switches returns the settings that hooks "all" turns on.
func Switches() []string {
	return []string{"trimOverflow", "writeGuard", "explainToolErrors", "watchSubagents"}
}

// applyHooks turns on the switches that no source sets, if hooks is "all".
func (c *Config) applyHooks() error {
	for _, name := range Switches() {
		if c.Hooks != HooksAll || c.Origin(name) != Default {
			continue
		}
		value := "true"
		if name == "watchSubagents" {
			value = "notify"
		}
		if err := c.assign(name, value, FromHooks); err != nil {
			return err
		}
	}
	return nil
}

// Settings lists all values with their origins.
func (c *Config) Settings() []Setting {
	var all []Setting
	defaults := Defaults()
	defaultSettings := defaults.settings()
	for i, k := range c.settings() {
		all = append(all, Setting{
			Key: k.name, Value: k.value(), Origin: c.Origin(k.name), Default: defaultSettings[i].value(),
			Want: k.want(), Env: envName(k.name), Description: k.description, Reason: k.reason,
		})
	}
	return all
}

// CheckKey returns an error that names the nearest key if no setting has this key.
func (c *Config) CheckKey(key string) error {
	_, err := c.find(key)
	return err
}

func (k setting) value() any { return reflect.ValueOf(k.field).Elem().Interface() }

// Origin returns the source of the value of a key.
func (c *Config) Origin(key string) Origin {
	if o := c.origin[key]; o != "" {
		return o
	}
	return Default
}

// Text formats the value of a setting: lists and objects as JSON.
func Text(value any) string {
	switch value.(type) {
	case bool, int, string:
		return fmt.Sprint(value)
	}
	data, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
