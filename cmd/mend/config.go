package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mend/config"
	"mend/live"
	"mend/repair"
)

func (a *app) configVerb() *cobra.Command {
	var set []string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force, and where each comes from",
		Long: `The settings are read from ` + "`$XDG_CONFIG_HOME/mend/config.json`" + `, a JSON object in which
comments are allowed, then from the environment, MEND_AUTO_RESUME for autoResume,
then from --set KEY=VALUE of the verbs that have it.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := loadSettings(set)
			if err != nil {
				return err
			}
			return a.showConfig(c)
		},
	}
	setFlag(cmd, &set)
	return cmd
}

func setFlag(cmd *cobra.Command, set *[]string) {
	cmd.Flags().StringArrayVar(set, "set", nil, "a setting for this run, KEY=VALUE; \"mend config\" lists them")
}

// loadSettings returns the current settings, with the user's file.
func loadSettings(set []string) (config.Config, error) {
	path, err := config.Path()
	if err != nil {
		return config.Config{}, err
	}
	return loadSettingsFrom(path, set)
}

// loadSettingsFrom returns the current settings, with the file at path if it exists.
func loadSettingsFrom(path string, set []string) (config.Config, error) {
	c, err := config.Load(path, os.LookupEnv, set)
	if err != nil {
		return c, &usageError{err: err}
	}
	return c, nil
}

type settingJSON struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
	Env    string `json:"env"`
	About  string `json:"about"`
}

func (a *app) showConfig(c config.Config) error {
	path, err := config.Path()
	if err != nil {
		return err
	}
	var list []settingJSON
	for _, s := range c.Settings() {
		list = append(list, settingJSON{s.Key, s.Value, string(s.Origin), s.Env, s.Description})
	}
	a.setAnswer("file", path)
	a.setAnswer("settings", list)
	a.printf("%s\n\n", faint(escape(path)))
	for _, s := range list {
		origin := faint(s.Origin)
		if s.Origin != string(config.Default) {
			origin = bold(s.Origin)
		}
		a.printf("%-34s %-44s %s\n", s.Key, escape(fmt.Sprint(s.Value)), origin)
	}
	return nil
}

// liveOptions converts the settings to the options of a [live.Hook].
func liveOptions(c config.Config) live.Options {
	o := live.Options{
		KeepInterrupted: !c.InterruptedTools, AutoResume: c.AutoResume, MaxAttempts: c.MaxRetries,
		NoToasts: !c.Toasts, Placeholder: c.Placeholder, Timeout: milliseconds(c.TimeoutMs),
	}
	if c.Origin("cancelledToolResultText") != config.Default { // the default depends on the class
		o.Cancelled = c.Cancelled
	}
	for _, s := range []struct {
		on    bool
		class repair.Class
	}{
		{c.ToolResultMissing, repair.ToolResultMissing},
		{c.ThinkingBlockOrder, repair.ThinkingBlockOrder},
		{c.ThinkingDisabledViolation, repair.ThinkingDisabledViolation},
		{c.EmptyContentMessage, repair.EmptyContentMessage},
		{c.UnavailableTool, repair.UnavailableTool},
		{c.InvalidToolCall, repair.InvalidToolCall},
		{c.InvalidFile, repair.InvalidFile},
		{c.FirstPromptMissing, repair.FirstPromptMissing},
		{c.ThinkingSignature, repair.ThinkingSignature},
		{c.EncryptedReasoning, repair.EncryptedReasoning},
		{c.ThinkingBlockModified, repair.ThinkingBlockModified},
		{c.AssistantPrefillUnsupported, repair.AssistantPrefillUnsupported},
	} {
		if !s.on {
			o.Disabled = append(o.Disabled, s.class)
		}
	}
	return o
}
