package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/internal/atomicfile"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/live"
	"mend/internal/term"
	"mend/repair"
)

func configVerb(env *environment) *cobra.Command {
	var set []string
	cmd := &cobra.Command{
		Use:   "config [KEY...]",
		Short: "Show the settings and where each value comes from, or change one",
		Long: `Show each setting, the value in use, and the source of that value. With KEY, also show what
the setting means, why you would change it, its allowed values and its environment variable.

The sources, from the weakest to the strongest: the default, the file, the environment, and
--set KEY=VALUE of the commands that have this flag. The file is a JSON object and may have
comments; the first line of the output is its path. For example:

  {"autoResume": true, "skip": ["thinking_signature"]}

"config set" and "config unset" change one setting in the file, and leave its other bytes.`,
		Example: `  mend config
  mend config autoResume
  mend config set autoResume true
  mend config unset autoResume
  mend watch --set autoResume=true   for one run`,
		RunE: func(_ *cobra.Command, keys []string) error {
			return env.paged(func() error { return runConfig(env, set, keys) })
		},
		ValidArgsFunction: completeSettings(""),
	}
	setFlag(cmd, &set)
	cmd.AddCommand(
		editVerb(env, "set KEY VALUE", "Set a setting in the file", 2),
		editVerb(env, "unset KEY", "Remove a setting from the file, so that its default counts", 1),
	)
	return cmd
}

// editVerb returns the verb that changes a setting in the user's file.
func editVerb(env *environment, use, short string, args int) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: short + ". All other bytes of the file stay as they are, including comments.",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) != args {
				return usagef("want: mend config %s", use)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, given []string) error {
			var value *string
			if args == 2 {
				value = &given[1]
			}
			return editSetting(env, given[0], value)
		},
		ValidArgsFunction: completeSettings(""),
	}
}

// changeSetting changes a setting in the user's file, or with a nil value removes it.
func changeSetting(key string, value *string) (e config.Edit, err error) {
	path, err := config.Path()
	if err != nil {
		return e, err
	}
	if e, err = config.PlanEdit(path, key, value); err != nil {
		return e, &fail.Failure{Code: fail.Usage, Hint: configHint, Err: err}
	}
	if e.Changed() {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return e, err
		}
		if err := atomicfile.Replace(path, e.Before, e.After, 0o600); err != nil {
			return e, fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return e, nil
}

func editSetting(env *environment, key string, value *string) error {
	e, err := changeSetting(key, value)
	if err != nil {
		return err
	}
	done := "Changed"
	if !e.Changed() {
		done = "Nothing to change in"
	}
	env.Printf("%s %s.\n", done, term.Escape(term.ShortenHome(e.Path)))
	return runConfig(env, nil, []string{key})
}

// setFlag adds --set.
func setFlag(cmd *cobra.Command, set *[]string) {
	cmd.Flags().StringArrayVar(set, "set", nil, "use another value of a setting for this run: `KEY=VALUE`")
	_ = cmd.RegisterFlagCompletionFunc("set", completeSettings("="))
}

// loadSettings returns the current settings, including the user's file.
func loadSettings(set []string) (config.Config, error) {
	path, err := config.Path()
	if err != nil {
		return config.Config{}, err
	}
	return loadSettingsFrom(path, set)
}

// loadLiveSettings is loadSettings for processes that must continue: an unknown key or an invalid value is
// ignored with a note.
func loadLiveSettings(set []string) (config.Config, []string, error) {
	c, err := loadSettings(set)
	notes := c.Notes()
	if problem, ok := errors.AsType[*config.ProblemError](err); ok {
		for _, p := range problem.Problems {
			notes = append(notes, p.Error()+": left out")
		}
		err = nil
	}
	return c, notes, err
}

// loadSettingsFrom returns the current settings, with the file at path if it exists.
func loadSettingsFrom(path string, set []string) (config.Config, error) {
	c, err := config.Load(path, os.LookupEnv, set)
	if err != nil {
		hint := "correct it, or leave it out: each setting has a default"
		if len(set) > 0 {
			hint = configHint
		}
		return c, &fail.Failure{Code: fail.Usage, Hint: hint, Err: err}
	}
	return c, nil
}

// configHint is the hint of an error about a setting.
const configHint = `"mend config" lists the settings`

type configAnswer struct {
	File     string           `json:"file"` // the file of the settings, which need not exist
	Settings []config.Setting `json:"settings"`
	Notes    []string         `json:"notes,omitempty"`
}

// runConfig prints the settings of these keys, or all.
func runConfig(env *environment, set, keys []string) error {
	c, err := loadSettings(set)
	if err != nil {
		return err
	}
	path, err := config.Path()
	if err != nil {
		return err
	}
	all := c.Settings()
	for _, key := range keys {
		if err := c.CheckKey(key); err != nil {
			return &fail.Failure{Code: fail.Usage, Hint: configHint, Err: err}
		}
	}
	var list []config.Setting
	for _, s := range all {
		if len(keys) == 0 || slices.Contains(keys, s.Key) {
			list = append(list, s)
		}
	}
	env.setAnswers(configAnswer{path, list, nonNil(c.Notes())})
	defer env.Buffer()()
	width := env.TextWidth()
	if len(keys) == 0 {
		env.Printf("%s\n\n", term.Faint(term.Escape(term.ShortenHome(path))+fileState(path)))
	}
	for _, note := range c.Notes() {
		env.Printf("Note: %s\n\n", term.Escape(note))
	}
	for i, s := range list {
		origin := term.Faint("(default)")
		if s.Origin != config.Default {
			origin = term.Bold("("+originText(s)+")") + term.Faint(", default "+config.Text(s.Default))
		}
		if len(keys) > 0 && i > 0 {
			env.Printf("\n")
		}
		env.Printf("%s = %s  %s\n", term.Bold(s.Key), term.Escape(config.Text(s.Value)), origin)
		if len(keys) == 0 {
			continue
		}
		env.Printf("    %s\n", term.WrapAt(s.Description, 4, width))
		env.Printf("    %s\n", term.WrapAt("Why: "+s.Reason, 4, width))
		env.Printf("    %s\n", term.Faint(term.WrapAt(s.Env+": "+s.Want, 4, width)))
	}
	if len(keys) == 0 {
		env.Printf("\n%s\n", term.Faint("mend config KEY says what a setting means, and why one would change it."))
	}
	return nil
}

// originText describes where the value of a setting comes from.
func originText(s config.Setting) string {
	switch s.Origin {
	case config.File:
		return "from the file"
	case config.Environment:
		return "from $" + s.Env
	case config.Flag:
		return "from --set"
	case config.FromHooks:
		return "from " + string(s.Origin)
	default:
		return string(s.Origin)
	}
}

// fileState says whether the settings file exists.
func fileState(path string) string {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return " (does not exist; not needed)"
	}
	return ""
}

// completeSettings completes keys of settings, each followed by suffix.
func completeSettings(suffix string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c := config.Defaults()
		directive := cobra.ShellCompDirectiveNoFileComp
		if suffix != "" {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		var all []cobra.Completion
		for _, s := range c.Settings() {
			if strings.HasPrefix(s.Key+suffix, start) {
				all = append(all, cobra.CompletionWithDesc(s.Key+suffix, s.Description))
			}
		}
		return all, directive
	}
}

// liveOptions converts the settings to the options of a [live.Hook].
func liveOptions(c config.Config) live.Options {
	o := live.Options{
		KeepInterrupted: c.Skips(config.SkipInterrupted), AutoResume: c.AutoResume, MaxAttempts: c.MaxRetries,
		TrimOverflow:  c.TrimOverflow,
		SkipPreflight: c.Skips(config.SkipPreflight),
		NoToasts:      c.NotificationSeconds == 0, ToastTime: seconds(c.NotificationSeconds), Placeholder: c.Placeholder,
	}
	for _, word := range c.Skip {
		o.Disabled = append(o.Disabled, repair.Class(word)) // the other words of skip are not classes
	}
	return o
}
