package frame

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/internal/term"
)

// PrintHelp prints the help of a verb.
func PrintHelp(env *Env, cmd *cobra.Command) {
	text := HelpText(cmd, env.TextWidth())
	env.SetAnswer("help", text)
	env.Printf("%s", text)
}

// HelpText returns the help of a verb or a topic, wrapped.
func HelpText(cmd *cobra.Command, width int) string {
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
	case cmd.Name() == FlagsTopic:
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

// FlagsTopic is the name of the page with the global flags.
const FlagsTopic = "flags"
