// Package config reads the settings of mend: from a JSON file that may have comments and
// trailing commas, from the environment, and from assignments on the command line. A
// later source overrides an earlier one. An unknown key or a value of the wrong type is
// an error that names the nearest key or the expected value.
package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"mend/internal/userdir"
)

// A Config holds the current settings. Use [Load] to create one. Each exported field is
// a key of the file.
type Config struct {
	Enabled      bool // recover sessions of a running agent
	AutoResume   bool // resume the turn after a recovery of thinking
	MaxRetries   int  // recoveries of a session without a successful turn
	Toasts       bool // show toasts in the agent
	ToastSeconds int  // how long those of results are shown
	Placeholder  string
	Cancelled    string

	ToolResultMissing, ThinkingBlockOrder, ThinkingDisabledViolation bool
	EmptyContentMessage, UnavailableTool, InterruptedTools           bool
	InvalidToolCall, InvalidFile, FirstPromptMissing                 bool
	ThinkingSignature, EncryptedReasoning                            bool
	ThinkingBlockModified, AssistantPrefillUnsupported               bool

	Hooks        string // [HooksRecovery] or [HooksAll]: also the switches of Other
	TrimOverflow bool   // trim sessions whose request is too long for the model

	Other OtherHooks // the hooks that repair no session

	Preflight   string // [PreflightRepair] or [PreflightOff]
	PreflightMs int    // how long the agent waits for that

	WatchQuietSeconds int // how long a session must not have changed before mend watch examines it
	WatchPollSeconds  int // between looks at a store without events

	TimeoutMs     int // of one call to the agent
	LookBackHours int // at start, also recover sessions that failed in these hours
	RetentionDays int // of images in the journal; 0 means forever

	KeepHourly, KeepDaily, KeepWeekly int // how many hours, days and weeks with a copy of a session have one
	KeepMaxMB                         int // of all copies; 0 turns automatic copies off

	Debug bool

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
	FromHooks   Origin = "hooks"          // the setting hooks is "all"
	FromModels  Origin = "fallbackModels" // this setting is not empty
)

// A Setting is one value with its origin.
type Setting struct {
	Key         string `json:"key"`
	Value       any    `json:"value"` // a bool, an int, a string, a list of one of these, or an object of lists
	Origin      Origin `json:"origin"`
	Default     any    `json:"default"` // of the same type as Value
	Want        string `json:"want"`    // the values that are allowed
	Env         string `json:"env"`     // the name of its environment variable
	Description string `json:"about"`
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
	min, max    int // of an int, or of those in a list
	description string
}

// The values of the setting preflight: what is done before a request of the agent.
const (
	PreflightRepair = "repair"
	PreflightOff    = "off"
)

// The values of the setting hooks: what is on unless its own setting says otherwise.
const (
	HooksRecovery = "recovery"
	HooksAll      = "all"
)

// choices has the values of the settings that allow only some.
var choices = map[string][]string{
	"preflight":   {PreflightRepair, PreflightOff},
	"hooks":       {HooksRecovery, HooksAll},
	"stuckAction": {"notify", "abort", "retry"},
}

// settings returns all settings in the order in which they are shown. docs/configuration.md
// has the names.
func (c *Config) settings() []setting { return append(c.recoverySettings(), c.Other.settings()...) }

func (c *Config) recoverySettings() []setting {
	return []setting{
		{"enabled", &c.Enabled, 0, 0, "Repair sessions of a running agent. If off, mend watch and the plugin do nothing."},
		{"autoResume", &c.AutoResume, 0, 0, "After a repair of thinking, send a prompt so that the turn continues. If off, no prompt follows a repair. Needs the plugin."},
		{"maxRetries", &c.MaxRetries, 1, 100, "Give up on a session after this many attempts that changed nothing, until a turn succeeds."},
		{"showNotifications", &c.Toasts, 0, 0, "Show notifications in the agent."},
		{"notificationSeconds", &c.ToastSeconds, 1, 600, "How long a notification of a result is shown, in seconds."},
		{"placeholderText", &c.Placeholder, 0, 0, "The text that replaces missing content."},
		{"cancelledToolResultText", &c.Cancelled, 0, 0, "The error text of a tool call that never got a result."},
		{"recoverToolResultMissing", &c.ToolResultMissing, 0, 0, "Repair tool calls without a result."},
		{"recoverThinkingBlockOrder", &c.ThinkingBlockOrder, 0, 0, "Repair thinking in the wrong place."},
		{"recoverThinkingDisabledViolation", &c.ThinkingDisabledViolation, 0, 0, "Remove thinking if the model is asked without thinking."},
		{"recoverEmptyContentMessage", &c.EmptyContentMessage, 0, 0, "Repair messages without content."},
		{"recoverUnavailableTool", &c.UnavailableTool, 0, 0, "Repair calls to a tool that does not exist."},
		{"recoverInvalidToolCall", &c.InvalidToolCall, 0, 0, "Repair tool calls whose id, name or input the provider rejects."},
		{"recoverInvalidFile", &c.InvalidFile, 0, 0, "Replace images and files that the provider rejects."},
		{"recoverFirstPromptMissing", &c.FirstPromptMissing, 0, 0, "Repair conversations that start with an assistant message."},
		{"recoverThinkingSignature", &c.ThinkingSignature, 0, 0, "Remove thinking whose signature the provider rejects."},
		{"recoverEncryptedReasoning", &c.EncryptedReasoning, 0, 0, "Remove reasoning that was encrypted for another account."},
		{"recoverInterruptedTools", &c.InterruptedTools, 0, 0, "Mark hanging tool calls of idle sessions as failed. Needs the plugin."},
		{"explainThinkingBlockModified", &c.ThinkingBlockModified, 0, 0, "Explain errors about altered thinking."},
		{"explainAssistantPrefillUnsupported", &c.AssistantPrefillUnsupported, 0, 0, "Explain errors about a request that ends with an assistant message."},
		{"hooks", &c.Hooks, 0, 0, "Which hooks are on: recovery alone, or all, which also turns on " + strings.Join(Switches(), ", ") + ". The setting of a hook takes precedence."},
		{"trimOverflow", &c.TrimOverflow, 0, 0, "If a request is too long for the model, clear old tool outputs in the next one. They stay in the store. Needs the plugin."},
		{"preflight", &c.Preflight, 0, 0, "Before the next request of a broken session: repair the stored session, if that loses nothing that can be read, or do nothing."},
		{"preflightMs", &c.PreflightMs, 100, 60_000, "How long the agent waits for that repair, in milliseconds."},
		{"watchQuietSeconds", &c.WatchQuietSeconds, 1, 3600, "How many seconds a session must not have changed before mend watch examines it."},
		{"watchPollSeconds", &c.WatchPollSeconds, 1, 86_400, "How often mend watch looks at the stores, and for new ones, in seconds."},
		{"timeoutMs", &c.TimeoutMs, 100, 600_000, "The time limit of one call to the agent, in milliseconds."},
		{"lookBackHours", &c.LookBackHours, 0, 24 * 365, "At start, also repair sessions that failed within this many hours."},
		{"retentionDays", &c.RetentionDays, 0, 36_500, "How many days the journal keeps the data for undo while mend watches. 0 means forever."},
		{"keepHourly", &c.KeepHourly, 0, 10_000, "Of how many hours a copy of a session stays (docs/keep.md): the last one of each hour that has copies."},
		{"keepDaily", &c.KeepDaily, 0, 10_000, "Of how many days a copy of a session stays."},
		{"keepWeekly", &c.KeepWeekly, 0, 10_000, "Of how many weeks a copy of a session stays."},
		{"keepMaxMB", &c.KeepMaxMB, 0, 1 << 30, "How large the copies of all sessions may become, in megabytes; then the oldest go first. The newest complete one of a session always stays. 0 turns automatic copies off."},
		{"debug", &c.Debug, 0, 0, "Log more."},
	}
}

// Defaults returns the settings without a file and an environment.
func Defaults() Config { return defaults() }

func defaults() Config {
	return Config{
		Enabled: true, MaxRetries: 3, Toasts: true, ToastSeconds: 12,
		Placeholder: "[user interrupted]", Cancelled: "Operation cancelled by user (ESC pressed)",
		ToolResultMissing: true, ThinkingBlockOrder: true, ThinkingDisabledViolation: true,
		EmptyContentMessage: true, UnavailableTool: true, InterruptedTools: true,
		InvalidToolCall: true, InvalidFile: true, FirstPromptMissing: true, ThinkingSignature: true, EncryptedReasoning: true,
		ThinkingBlockModified: true, AssistantPrefillUnsupported: true,
		Hooks:     HooksRecovery,
		Other:     defaultOtherHooks(),
		Preflight: PreflightRepair, PreflightMs: 1500,
		WatchQuietSeconds: 2, WatchPollSeconds: 5,
		TimeoutMs: 5000, LookBackHours: 24,
		KeepHourly: 24, KeepDaily: 14, KeepWeekly: 12, KeepMaxMB: 2048,
		origin: map[string]Origin{},
	}
}

// Settings lists all values with their origins.
func (c *Config) Settings() []Setting {
	var all []Setting
	usual := defaults()
	former := usual.settings()
	for i, k := range c.settings() {
		all = append(all, Setting{
			Key: k.name, Value: k.value(), Origin: c.Origin(k.name), Default: former[i].value(),
			Want: k.want(), Env: envName(k.name), Description: k.description,
		})
	}
	return all
}

// CheckKey returns an error if no setting has that key. It names the nearest one.
func (c *Config) CheckKey(key string) error {
	_, err := c.find(key)
	return err
}

// value returns the value of the field.
func (k setting) value() any {
	switch v := k.field.(type) {
	case *bool:
		return *v
	case *int:
		return *v
	case *string:
		return *v
	case *[]int:
		return *v
	case *[]string:
		return *v
	case *map[string][]string:
		return *v
	}
	return nil
}

// Origin returns the source of the value of a key.
func (c *Config) Origin(key string) Origin {
	if o := c.origin[key]; o != "" {
		return o
	}
	return Default
}

// Text returns the value of a setting as it is shown: lists and objects as JSON.
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
