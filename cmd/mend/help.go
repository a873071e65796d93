package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/internal/term"
)

// printHelp prints the help of a verb.
func printHelp(env *environment, cmd *cobra.Command) {
	text := helpText(cmd, env.TextWidth())
	env.setAnswer("help", text)
	env.Printf("%s", text)
}

// helpText returns the help of a verb or a topic, wrapped.
func helpText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString(term.WrapText(cmp.Or(cmd.Long, cmd.Short+"."), width))
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s\n%s", term.Bold(title), text)
		}
	}
	if cmd.Runnable() && cmd.HasParent() {
		section("Usage", "  "+cmd.UseLine()+"\n")
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
	case cmd.Name() == flagsTopic:
		section("Global flags", flagList(cmd.Root().PersistentFlags(), width))
	case cmd.Runnable():
		b.WriteString("\nGlobal flags: mend help flags\n")
	}
	return b.String()
}

const learnMore = `
  mend help COMMAND     the help of a command
  mend help flags       the flags that every command accepts
  mend help exit-codes  what each exit code means
  mend explain CODE     what a code in the output means, such as R11`

// commandList returns the commands of a group, one per line.
func commandList(parent *cobra.Command, group string, width int) string {
	var rows []term.Row
	column := 0
	for _, cmd := range parent.Commands() {
		if !cmd.IsAvailableCommand() {
			continue
		}
		column = max(column, len(cmd.Name())+4)
		if cmd.GroupID == group {
			rows = append(rows, term.Row{cmd.Name(), cmd.Short})
		}
	}
	return term.WrapRows(rows, column, width)
}

// flagList returns the visible flags, one per line.
func flagList(flags *pflag.FlagSet, width int) string {
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
		rows = append(rows, term.Row{name, usage})
	})
	return term.WrapRows(rows, 0, width)
}

// helpVerb replaces cobra's, which exits with 0 if there is no such command.
func helpVerb(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command or a topic",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			found, rest, err := cmd.Root().Find(words)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmp.Or(found, cmd.Root()), append(rest, words...)[0])
			}
			found.InitDefaultHelpFlag()
			printHelp(env, found)
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, words []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			found, rest, err := cmd.Root().Find(words)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var all []cobra.Completion
			for _, sub := range found.Commands() {
				if (sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()) && strings.HasPrefix(sub.Name(), start) {
					all = append(all, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// flagsTopic is the name of the page with the global flags.
const flagsTopic = "flags"

// topics are the help pages that are not about a command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: flagsTopic, Short: "The flags that every command accepts", Long: "Every command accepts these flags."},
		{Use: "exit-codes", Short: "What each exit code means", Long: exitHelp()},
	}
}

// exitHelp returns the text of the topic.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("mend exits with one of these codes. If several apply, the first of 6, 4, 3, 2, 5, 1 is used.\n\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %s  %s\n", e.code, e.meaning)
	}
	b.WriteString(`
If there is nothing to do, the code depends on the command. It is 0 for commands that
search for something to do: scan, fix, trim, recover, forget and "install --remove". It
is 5 for commands that revert or decide something: undo, "recover ID" and "restore
--compaction". Fix with an error text exits with 1 if no session fits the error and none
is broken, or if no repair helps against the error; with 5 if several sessions fit and
it only lists them.

The program also exits with 2 if it crashes or runs out of memory, for example under
"ulimit -v": the runtime of Go sets that code. Standard error then begins with "fatal
error" or "panic". Run "mend recover" afterwards: it completes the change that was in
progress, or rolls it back.
`)
	return b.String()
}
