package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A usageError is returned for an invalid command line.
type usageError struct {
	err  error
	hint string // what the user may have meant, or "" for a general hint
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// asUsageError returns an error of the parser of the command line as a usageError.
func asUsageError(err error) error {
	var usage *usageError
	if errors.As(err, &usage) {
		return err
	}
	return &usageError{err: err}
}

// noArgs accepts no arguments. For a command with subcommands an argument is an unknown one.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return usagef("%s accepts no argument, got %q", cmd.CommandPath(), args[0])
}

// oneArg accepts exactly one argument, which is called what.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return &usageError{fmt.Errorf("%s needs one %s, got %s", cmd.CommandPath(), what, count(len(args), "argument")), "usage: " + cmd.UseLine()}
	}
}

// unknownCommand returns the error for a name that is no command of parent, with the names
// that the user may have meant.
func unknownCommand(parent *cobra.Command, name string) error {
	parent.SuggestionsMinimumDistance = 2
	hint := fmt.Sprintf("%q lists the commands", parent.CommandPath()+" --help")
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		for i := range near {
			near[i] = parent.CommandPath() + " " + near[i]
		}
		hint = didYouMean(near)
	}
	return &usageError{fmt.Errorf("unknown command %q for %q", name, parent.CommandPath()), hint}
}

func didYouMean(names []string) string {
	return "did you mean " + strings.Join(names, " or ") + "?"
}

// flagError translates an error of the parser of flags.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &unknown):
		return &usageError{err, flagHint(cmd, unknown.GetSpecifiedName())}
	case errors.As(err, &missing):
		value, usage := pflag.UnquoteUsage(missing.GetFlag())
		return &usageError{fmt.Errorf("--%s %s: the value is missing", missing.GetFlag().Name, value), usage}
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return &usageError{fmt.Errorf("--%s %s: %s", f.Name, invalid.GetValue(), wantedValue(f, errors.Unwrap(invalid))), helpHint(cmd)}
	}
	return &usageError{err, helpHint(cmd)}
}

// flagHint returns the flag of the command whose name is nearest to an unknown one, else
// where to find the flags.
func flagHint(cmd *cobra.Command, name string) string {
	best, distance := "", 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		d := levenshtein.ComputeDistance(name, f.Name)
		if len(name) > 2 && strings.HasPrefix(f.Name, name) {
			d = 1
		}
		if d < distance && len(name) > 1 && !f.Hidden {
			best, distance = f.Name, d
		}
	})
	if best == "" {
		return helpHint(cmd)
	}
	return didYouMean([]string{"--" + best})
}

func helpHint(cmd *cobra.Command) string {
	return fmt.Sprintf("see \"%s --help\"", cmd.CommandPath())
}

// wantedValue says which values a flag accepts.
func wantedValue(f *pflag.Flag, err error) string {
	var number *strconv.NumError
	switch {
	case f.Value.Type() == "bool":
		return "want true or false"
	case errors.As(err, &number) && errors.Is(err, strconv.ErrRange):
		return "the number is too large"
	case errors.As(err, &number):
		return "want a whole number"
	}
	return err.Error()
}
