package frame

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/show"
	"mend/internal/atomicfile"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/keep"
)

// ChangeSetting changes a setting in the user's file.
func ChangeSetting(key, value string) (e config.Edit, err error) {
	path, err := config.Path()
	if err != nil {
		return e, err
	}
	if e, err = config.PlanEdit(path, key, value); err != nil {
		return e, &fail.Failure{Code: fail.Usage, Hint: ConfigHint, Err: err}
	}
	if e.HasChanged() {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return e, err
		}
		if err := atomicfile.Replace(path, e.Before, e.After, 0o600); err != nil {
			return e, fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return e, nil
}

// SetFlag adds --set.
func SetFlag(cmd *cobra.Command, set *[]string) {
	cmd.Flags().StringArrayVar(set, "set", nil, "use another value of a setting for this run: `KEY=VALUE`")
}

// LoadSettings returns the current settings, including the user's file.
func LoadSettings(set []string) (config.Config, error) {
	path, err := config.Path()
	if err != nil {
		return config.Config{}, err
	}
	return LoadSettingsFrom(path, set)
}

// LoadLiveSettings is [LoadSettings] for processes that must continue: it ignores an unknown key or an invalid value,
// and returns a note about it.
func LoadLiveSettings(set []string) (config.Config, []string, error) {
	c, err := LoadSettings(set)
	notes := c.Notes()
	if problem, ok := errors.AsType[*config.ProblemError](err); ok {
		for _, p := range problem.Problems {
			notes = append(notes, p.Error()+": ignored")
		}
		err = nil
	}
	return c, notes, err
}

// LoadSettingsFrom returns the current settings, with the file at path if it exists.
func LoadSettingsFrom(path string, set []string) (config.Config, error) {
	c, err := config.Load(path, os.LookupEnv, set)
	if err != nil {
		hint := "correct it, or leave it out: each setting has a default"
		if len(set) > 0 {
			hint = ConfigHint
		}
		return c, &fail.Failure{Code: fail.Usage, Hint: hint, Err: err}
	}
	return c, nil
}

// ConfigHint is the hint of an error about a setting.
const ConfigHint = `"mend config" lists the settings`

// KeepPolicy returns the policy for thinning copies, with the size from the settings.
func KeepPolicy(c config.Config) keep.Policy {
	return keep.Policy{Hourly: 24, Daily: 14, Weekly: 12, MaxBytes: int64(c.KeepMaxMB) << 20}
}

// KeepsAutomatically reports whether automatic copies are on.
func KeepsAutomatically() bool {
	c, _, err := LoadLiveSettings(nil)
	return err == nil && c.Keep
}

// ClassList lists the classes that users can name, for the help.
func ClassList(env *Env) string {
	var names []string
	for _, c := range env.Opt.Agents.Classes() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// AtRiskFlag adds the flag --at-risk, with its former name --latent.
func AtRiskFlag(fl *pflag.FlagSet, p *bool, usage string) {
	for _, name := range []string{"at-risk", "latent"} {
		fl.BoolVar(p, name, false, usage)
	}
	_ = fl.MarkHidden("latent") // the error is about an unknown flag
}

// SettingsNotes returns notes about the settings.
func SettingsNotes() []string {
	_, notes, err := LoadLiveSettings(nil)
	if err != nil {
		notes = append(notes, err.Error())
	}
	return show.NonNil(notes)
}

// ThinkingFlag adds --thinking.
func ThinkingFlag(env *Env, fl *pflag.FlagSet) {
	fl.Func("thinking", "check with thinking `on|off` (default: as the session used it)", func(s string) error {
		on := s == "on"
		if !on && s != "off" {
			return errors.New("want on or off")
		}
		env.Opt.Thinking = &on
		return nil
	})
}

// ProviderFlag adds --provider.
func ProviderFlag(env *Env, fl *pflag.FlagSet) {
	names := strings.Join(providerNames(), ", ")
	fl.Func("provider", "check by the rules of `NAME` ("+names+"; default: the provider of the session)", func(s string) error {
		if !slices.Contains(providerNames(), s) {
			return errors.New("want one of " + names)
		}
		env.Opt.Provider = s
		return nil
	})
}

// providerNames returns the names of providers that any agent knows.
func providerNames() (names []string) {
	for _, g := range agents.All {
		for _, name := range g.Providers() {
			if !slices.Contains(names, name) { // agents share most of them
				names = append(names, name)
			}
		}
	}
	return names
}
