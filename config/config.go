// Package config reads the settings of mend: from a JSON file in which comments
// and trailing commas are allowed, from the environment, and from assignments on
// the command line, each before the one in front of it. What is not known, or of
// the wrong type, is an error that says what would be right.
package config

import (
	"fmt"
	"path/filepath"

	"mend/internal/userdir"
)

// A Config is the settings in force. [Load] makes one; each field is a key of
// the file, and changes what mend does.
type Config struct {
	Enabled     bool // recover sessions of a running agent at all
	AutoResume  bool // let the agent go on after a recovery of thinking
	MaxRetries  int  // recoveries of a session until a turn of it ends well
	Toasts      bool // show notes in the agent
	Placeholder string
	Cancelled   string

	ToolResultMissing, ThinkingBlockOrder, ThinkingDisabledViolation bool
	EmptyContentMessage, UnavailableTool, InterruptedTools           bool
	InvalidToolCall, InvalidFile, FirstPromptMissing                 bool
	ThinkingSignature, EncryptedReasoning                            bool
	ThinkingBlockModified, AssistantPrefillUnsupported               bool

	TimeoutMs     int // of one call to the agent
	LookBackHours int // how long ago a session may have failed to be recovered at the start
	RetentionDays int // of images in the journal; 0 for ever
	Debug         bool

	origin map[string]Origin
}

// An Origin says where a value comes from.
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

// Path is where the user's file is, or would be: $XDG_CONFIG_HOME/mend/config.json.
func Path() (string, error) {
	dir, err := userdir.Config()
	if err != nil {
		return "", fmt.Errorf("finding the settings: %w", err)
	}
	return filepath.Join(dir, "config.json"), nil
}

// A key is one setting: at points to its field.
type setting struct {
	name        string
	field       any
	min, max    int // of an int
	description string
}

// keys are all settings, in the order in which they are shown. The names are
// those of docs/opencode.md.
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
		switch at := k.field.(type) {
		case *bool:
			s.Value = *at
		case *int:
			s.Value = *at
		case *string:
			s.Value = *at
		}
		all = append(all, s)
	}
	return all
}

// Origin says where the value of a key comes from.
func (c *Config) Origin(key string) Origin {
	if o := c.origin[key]; o != "" {
		return o
	}
	return Default
}
