// Package config reads the settings of mend: from a JSON file that may have comments and
// trailing commas, from the environment, and from assignments on the command line. A
// later source overrides an earlier one. An unknown key or a value of the wrong type is
// an error that names the nearest key or the expected value.
package config

import (
	"fmt"
	"path/filepath"

	"mend/internal/userdir"
)

// A Config holds the current settings. Use [Load] to create one. Each exported field is
// a key of the file.
type Config struct {
	Enabled     bool // recover sessions of a running agent
	AutoResume  bool // resume the turn after a recovery of thinking
	MaxRetries  int  // recoveries of a session without a successful turn
	Toasts      bool // show toasts in the agent
	Placeholder string
	Cancelled   string

	ToolResultMissing, ThinkingBlockOrder, ThinkingDisabledViolation bool
	EmptyContentMessage, UnavailableTool, InterruptedTools           bool
	InvalidToolCall, InvalidFile, FirstPromptMissing                 bool
	ThinkingSignature, EncryptedReasoning                            bool
	ThinkingBlockModified, AssistantPrefillUnsupported               bool

	TimeoutMs     int // of one call to the agent
	LookBackHours int // at start, also recover sessions that failed in these hours
	RetentionDays int // of images in the journal; 0 means forever
	Debug         bool

	origin map[string]Origin
}

// An Origin is the source of a value.
type Origin string

// The origins.
const (
	Default     Origin = "default"
	File        Origin = "file"
	Environment Origin = "environment"
	Flag        Origin = "flag"
)

// A Setting is one value with its origin.
type Setting struct {
	Key         string
	Value       any // a bool, an int or a string
	Origin      Origin
	Env         string // the name of its environment variable
	Description string
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
	min, max    int // of an int
	description string
}

// settings returns all settings in the order in which they are shown. docs/opencode.md
// has the names.
func (c *Config) settings() []setting {
	return []setting{
		{"enabled", &c.Enabled, 0, 0, "recover sessions of a running agent"},
		{"autoResume", &c.AutoResume, 0, 0, "send a prompt after a recovery of thinking, so that the turn goes on"},
		{"maxRetries", &c.MaxRetries, 1, 100, "recoveries of a session until a turn of it ends well"},
		{"showNotifications", &c.Toasts, 0, 0, "show notes in the agent"},
		{"placeholderText", &c.Placeholder, 0, 0, "what stands where content is missing"},
		{"cancelledToolResultText", &c.Cancelled, 0, 0, "the error of a call that never got a result"},
		{"recoverToolResultMissing", &c.ToolResultMissing, 0, 0, "recover from calls without a result"},
		{"recoverThinkingBlockOrder", &c.ThinkingBlockOrder, 0, 0, "recover from thinking in the wrong place"},
		{"recoverThinkingDisabledViolation", &c.ThinkingDisabledViolation, 0, 0, "recover from thinking where it is switched off"},
		{"recoverEmptyContentMessage", &c.EmptyContentMessage, 0, 0, "recover from messages without content"},
		{"recoverUnavailableTool", &c.UnavailableTool, 0, 0, "recover from calls to a tool that there is not"},
		{"recoverInvalidToolCall", &c.InvalidToolCall, 0, 0, "recover from calls whose id, name or input is refused"},
		{"recoverInvalidFile", &c.InvalidFile, 0, 0, "recover from images and files that are refused"},
		{"recoverFirstPromptMissing", &c.FirstPromptMissing, 0, 0, "recover from a conversation that starts with an answer"},
		{"recoverThinkingSignature", &c.ThinkingSignature, 0, 0, "recover from thinking whose signature is refused"},
		{"recoverEncryptedReasoning", &c.EncryptedReasoning, 0, 0, "recover from reasoning that was encrypted for another account"},
		{"recoverInterruptedTools", &c.InterruptedTools, 0, 0, "end calls that hang in a session at rest"},
		{"explainThinkingBlockModified", &c.ThinkingBlockModified, 0, 0, "explain errors about altered thinking"},
		{"explainAssistantPrefillUnsupported", &c.AssistantPrefillUnsupported, 0, 0, "explain errors about a request that ends with an answer"},
		{"timeoutMs", &c.TimeoutMs, 100, 600_000, "how long one call to the agent may take"},
		{"lookBackHours", &c.LookBackHours, 0, 24 * 365, "how long ago a session may have failed to be recovered at the start"},
		{"retentionDays", &c.RetentionDays, 0, 36_500, "how long the journal keeps what undo needs, while mend watches; 0 for ever"},
		{"debug", &c.Debug, 0, 0, "log more"},
	}
}

// Defaults returns the settings without a file and an environment.
func Defaults() Config { return defaults() }

func defaults() Config {
	return Config{
		Enabled: true, MaxRetries: 3, Toasts: true,
		Placeholder: "[user interrupted]", Cancelled: "Operation cancelled by user (ESC pressed)",
		ToolResultMissing: true, ThinkingBlockOrder: true, ThinkingDisabledViolation: true,
		EmptyContentMessage: true, UnavailableTool: true, InterruptedTools: true,
		InvalidToolCall: true, InvalidFile: true, FirstPromptMissing: true, ThinkingSignature: true, EncryptedReasoning: true,
		ThinkingBlockModified: true, AssistantPrefillUnsupported: true,
		TimeoutMs: 5000, LookBackHours: 24,
		origin: map[string]Origin{},
	}
}

// Settings lists all values with their origins.
func (c *Config) Settings() []Setting {
	var all []Setting
	for _, k := range c.settings() {
		s := Setting{Key: k.name, Origin: c.Origin(k.name), Env: envName(k.name), Description: k.description}
		switch v := k.field.(type) {
		case *bool:
			s.Value = *v
		case *int:
			s.Value = *v
		case *string:
			s.Value = *v
		}
		all = append(all, s)
	}
	return all
}

// Origin returns the source of the value of a key.
func (c *Config) Origin(key string) Origin {
	if o := c.origin[key]; o != "" {
		return o
	}
	return Default
}
