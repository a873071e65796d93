package rare

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/term"
)

// Config returns the verb config.
func Config(env *frame.Env) *cobra.Command {
	var set []string
	cmd := &cobra.Command{
		Use:   "config [KEY...]",
		Short: "Show the settings and where each value comes from, or change one",
		Long: `Show each setting, the value in use, and the source of that value. With KEY, also show what
the setting means, why you would change it, its allowed values and its environment variable.

Each source overrides the one before it: the default, the file, the environment, and
--set KEY=VALUE of the commands that have this flag. The file is a JSON object and may have
comments; the first line of the output is its path. For example:

  {"autoResume": true, "skip": ["thinking_signature"]}

"config set" changes one setting in the file, and leaves its other bytes.`,
		Example: `  mend config
  mend config autoResume
  mend config set autoResume true
  mend watch --set autoResume=true   for one run`,
		RunE: func(_ *cobra.Command, keys []string) error {
			c, err := frame.LoadSettings(set)
			if err != nil {
				return err
			}
			return env.RunPager(func() error { return printConfig(env, c, keys) })
		},
	}
	frame.SetFlag(cmd, &set)
	cmd.AddCommand(setVerb(env))
	return cmd
}

// setVerb returns the verb that changes a setting in the user's file.
func setVerb(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use: "set KEY VALUE", Short: "Change a setting in the file", Long: "Change a setting in the file. All other bytes of the file stay as they are, including comments.",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) != 2 {
				return frame.Usagef("want: mend config set KEY VALUE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, given []string) error {
			return editSetting(env, given[0], given[1])
		},
	}
}

func editSetting(env *frame.Env, key, value string) error {
	e, err := frame.ChangeSetting(key, value)
	if err != nil {
		return err
	}
	done := "Changed"
	if !e.HasChanged() {
		done = "Nothing to change in"
	}
	env.Printf("%s %s.\n", done, term.ShortenHome(e.Path))
	c, notes, err := frame.LoadLiveSettings(nil) // another setting may be wrong
	if err != nil {
		return err
	}
	for _, note := range notes[len(c.Notes()):] {
		env.Note(note)
	}
	return printConfig(env, c, []string{key})
}

// A ConfigAnswer is the answer of config.
type ConfigAnswer struct {
	File     string           `json:"file"` // the path of the settings file, which need not exist
	Settings []config.Setting `json:"settings"`
	Notes    []string         `json:"notes,omitempty"`
}

// printConfig prints the settings with these keys in full, or without keys all settings in brief.
func printConfig(env *frame.Env, c config.Config, keys []string) error {
	path, err := config.Path()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := c.CheckKey(key); err != nil {
			return &fail.Failure{Code: fail.Usage, Hint: frame.ConfigHint, Err: err}
		}
	}
	list := slices.DeleteFunc(c.Settings(), func(s config.Setting) bool {
		return len(keys) > 0 && !slices.Contains(keys, s.Key)
	})
	env.SetAnswers(ConfigAnswer{path, list, show.NonNil(c.Notes())})
	defer env.Buffer()()
	width := env.TextWidth()
	if len(keys) == 0 {
		state := ""
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			state = " (does not exist; not needed)"
		}
		env.Printf("%s\n\n", term.Faint(term.ShortenHome(path)+state))
	}
	for _, note := range c.Notes() {
		env.Printf("Note: %s\n\n", note)
	}
	for i, s := range list {
		origin := term.Faint("(default)")
		if s.Origin != config.Default {
			origin = term.Bold("("+originText(s)+")") + term.Faint(", default "+config.Text(s.Default))
		}
		if len(keys) > 0 && i > 0 {
			env.Printf("\n")
		}
		env.Printf("%s = %s  %s\n", term.Bold(s.Key), config.Text(s.Value), origin)
		if len(keys) == 0 {
			continue
		}
		env.Printf("    %s\n", term.WrapAt(term.Escape(s.Description), 4, width))
		env.Printf("    %s\n", term.WrapAt(term.Escape("Why: "+s.Reason), 4, width))
		env.Printf("    %s\n", term.Faint(term.WrapAt(term.Escape(s.Env+": "+s.Want), 4, width)))
	}
	if len(keys) == 0 {
		env.Printf("\n%s\n", term.Faint("mend config KEY explains a setting, and why you would change it."))
	}
	return nil
}

// originText describes where the value of a setting comes from.
func originText(s config.Setting) string {
	return "from " + map[config.Origin]string{
		config.File: "the file", config.Environment: "$" + s.Env, config.Flag: "--set", config.FromHooks: "hooks",
	}[s.Origin]
}
