package frame

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/internal/fail"
	"mend/internal/term"
)

// generalHint is the hint of a usage error that has no other. [Env.Hint] adds the verb.
const generalHint = `see "mend --help"`

// Usagef returns the error for an invalid command line.
func Usagef(format string, args ...any) error {
	return fail.New(fail.Usage, generalHint, format, args...)
}

// asUsageError converts an error of the command line's parser to a usage error.
func asUsageError(err error) error {
	if code, _ := fail.Classify(err); code == fail.Usage {
		return err
	}
	return &fail.Failure{Code: fail.Usage, Hint: generalHint, Err: err}
}

// NoArgs accepts no arguments. For a command with subcommands an argument is an unknown subcommand.
func NoArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return UnknownCommand(cmd, args[0])
	}
	return fail.New(fail.Usage, HelpHint(cmd), "%s needs no name, got %q", CommandName(cmd), args[0])
}

// AtMostOne accepts at most one argument; what is its name in errors.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return fail.New(fail.Usage, "usage: "+cmd.UseLine(), "%s needs at most one %s, got %d: put a title between quotes", CommandName(cmd), what, len(args))
	}
}

// RefuseEmpty returns an error if an argument or the value of a flag is empty. It usually comes from an unset variable
// of a script, and must not mean "all" or "the newest".
func RefuseEmpty(cmd *cobra.Command, args []string) (err error) {
	isEmpty := func(s string) bool { return strings.TrimSpace(s) == "" }
	if i := slices.IndexFunc(args, isEmpty); i >= 0 {
		return fail.New(fail.Usage, "usage: "+cmd.UseLine(), "argument %d of %s is empty", i+1, CommandName(cmd))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		list, isList := f.Value.(pflag.SliceValue)
		if isList {
			values = list.GetSlice()
		}
		if (isList || f.Value.Type() == "string") && (len(values) == 0 || slices.ContainsFunc(values, isEmpty)) {
			err = fail.New(fail.Usage, HelpHint(cmd), "--%s is empty", f.Name)
		}
	})
	return err
}

// UnknownCommand returns the error for an unknown subcommand of parent. Its hint has similar names.
func UnknownCommand(parent *cobra.Command, name string) error {
	parent.SuggestionsMinimumDistance = 2
	hint := fmt.Sprintf("%q lists the commands", parent.CommandPath()+" --help")
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		for i := range near {
			near[i] = parent.CommandPath() + " " + near[i]
		}
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fail.New(fail.Usage, hint, "unknown command %q for %q", name, parent.CommandPath())
}

// FlagError translates an error of the flag parser.
func FlagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f, why := invalid.GetFlag(), errors.New("it cannot have this value")
		if f.Value.Type() == "func" { // otherwise the text is Go's own
			why = errors.Unwrap(invalid)
		}
		return fail.New(fail.Usage, HelpHint(cmd), "--%s %s: %w", f.Name, invalid.GetValue(), why)
	}
	return &fail.Failure{Code: fail.Usage, Hint: HelpHint(cmd), Err: err}
}

// HelpHint returns a hint that names the help of a verb.
func HelpHint(cmd *cobra.Command) string {
	return fmt.Sprintf("see \"%s --help\"", cmd.CommandPath())
}

// CommandName returns the name of a command in JSON answers, such as "config set".
func CommandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "mend ")
}

// WriteFlags are the flags common to verbs that write.
type WriteFlags struct{ DryRun, Yes, Force, Patch bool }

// AddPatch adds --patch.
func (f *WriteFlags) AddPatch(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.Patch, "patch", "p", false, "show the diff of every change, in your pager")
}

// Add adds the common flags. force describes --force; if it is "", the verb has no --force.
func (f *WriteFlags) Add(cmd *cobra.Command, force string) {
	fl := cmd.Flags()
	fl.BoolVar(&f.DryRun, "dry-run", false, "show what would be done; write nothing")
	fl.BoolVarP(&f.Yes, "yes", "y", false, "answer yes to all questions")
	if force != "" {
		fl.BoolVar(&f.Force, "force", false, force)
	}
}

// PrintHelp prints the help of a verb.
func PrintHelp(env *Env, cmd *cobra.Command) {
	text := HelpText(cmd, env.TextWidth())
	env.SetAnswer("help", string(text))
	env.Printf("%s", text)
}

// HelpText returns the help of a verb or a topic, wrapped.
func HelpText(cmd *cobra.Command, width int) term.Text {
	help := term.WrapText(cmp.Or(cmd.Long, cmd.Short+"."), width)
	section := func(title string, text term.Text) {
		if text != "" {
			help += term.Sprintf("\n%s\n%s", term.Bold(title), text)
		}
	}
	if cmd.Runnable() && cmd.HasParent() {
		section("Usage", term.Sprintf("  %s\n", cmd.UseLine()))
	}
	for _, g := range cmd.Groups() {
		section(g.Title, commandList(cmd, g.ID, width))
	}
	if len(cmd.Groups()) == 0 {
		section("Commands", commandList(cmd, "", width))
	}
	if cmd.HasExample() {
		section("Examples", term.WrapText(cmd.Example, width))
	}
	if cmd.Runnable() && cmd.HasParent() {
		section("Flags", flagList(cmd.LocalNonPersistentFlags(), width))
	}
	switch {
	case !cmd.HasParent():
		section("Learn more", term.WrapText(learnMore, width))
	case cmd.Name() == FlagsTopic:
		section("Global flags", flagList(cmd.Root().PersistentFlags(), width))
	case cmd.Runnable():
		help += "\nGlobal flags: mend help flags\n"
	}
	return help
}

const learnMore = `
  mend help COMMAND     the help of a command
  mend help flags       the flags that every command accepts
  mend help exit-codes  what each exit code means
  mend explain CODE     what a code in the output means, such as R11`

// commandList returns the commands of a group, one per line.
func commandList(parent *cobra.Command, group string, width int) term.Text {
	var rows []term.Row
	column := 0
	for _, cmd := range parent.Commands() {
		if !cmd.IsAvailableCommand() {
			continue
		}
		column = max(column, len(cmd.Name())+4)
		if cmd.GroupID == group {
			rows = append(rows, term.Row{term.Escape(cmd.Name()), term.Escape(cmd.Short)})
		}
	}
	return term.WrapRows(rows, column, width)
}

// flagList returns the visible flags, one per line.
func flagList(flags *pflag.FlagSet, width int) term.Text {
	var rows []term.Row
	values := map[string]string{"string": "TEXT", "strings": "LIST", "stringArray": "TEXT", "int": "N"}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			name += " " + cmp.Or(values[value], value)
		}
		rows = append(rows, term.Row{term.Escape(name), term.Escape(usage)})
	})
	return term.WrapRows(rows, 0, width)
}

// FlagsTopic is the name of the page with the global flags.
const FlagsTopic = "flags"
