package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The widths of a terminal for which text is wrapped.
const (
	defaultWidth = 80
	minWidth     = 40
	maxWidth     = 100 // longer lines are hard to read
)

// textWidth returns the width to which text is wrapped: that of $COLUMNS or of the terminal,
// within limits.
func (a *app) textWidth() int {
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if width <= 0 {
		width = a.width
	}
	return min(max(cmp.Or(width, defaultWidth), minWidth), maxWidth)
}

// A textRow is a paragraph, a blank line between two, or a row of a definition list.
type textRow struct{ term, text string }

// listRow matches a row of a definition list: an indented term, two spaces, its meaning.
var listRow = regexp.MustCompile(`^  (\S.*?)(?:  +(\S.*))?$`)

// parseText splits a help text into rows. Lines of a paragraph are joined, and so are
// lines that continue the meaning of a term, which are indented further.
func parseText(text string) []textRow {
	var rows []textRow
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n\n") {
		line = strings.TrimRight(line, " \n")
		last := len(rows) - 1
		isRow := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ")
		switch {
		case line == "":
			rows = append(rows, textRow{})
		case isRow:
			m := listRow.FindStringSubmatch(line)
			rows = append(rows, textRow{m[1], m[2]})
		case last >= 0 && rows[last] != (textRow{}):
			rows[last].text = strings.TrimSpace(rows[last].text + " " + strings.TrimSpace(line))
		default:
			rows = append(rows, textRow{text: strings.TrimSpace(line)})
		}
	}
	return rows[:len(rows)-1]
}

// wrapText wraps a help text for a terminal.
func wrapText(text string, width int) string {
	return wrapRows(parseText(text), 0, width)
}

// wrapRows wraps rows. The meanings of a definition list begin at one column, which is at
// least the given one.
func wrapRows(rows []textRow, column, width int) string {
	for _, r := range rows {
		if n := ansi.StringWidth(r.term); r.term != "" && n <= width/2-4 {
			column = max(column, n+4)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		if r.term == "" {
			b.WriteString(wordWrap(r.text, width) + "\n")
			continue
		}
		b.WriteString("  " + r.term)
		if r.text != "" {
			start := ansi.StringWidth(r.term) + 2
			if start > column-2 {
				b.WriteByte('\n')
				start = 0
			}
			b.WriteString(strings.Repeat(" ", column-start))
			b.WriteString(indentWrapped(r.text, column, width))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// indentWrapped wraps text that begins at a column. All further lines begin there too.
func indentWrapped(text string, column, width int) string {
	return strings.ReplaceAll(wordWrap(text, max(width-column, minWidth/2)), "\n", "\n"+strings.Repeat(" ", column))
}

// wordWrap wraps text between words. Unlike [ansi.Wordwrap] it does not break names at a hyphen.
func wordWrap(text string, width int) string {
	const hyphen = "\u2011"
	return strings.ReplaceAll(ansi.Wordwrap(strings.ReplaceAll(text, "-", hyphen), width, ""), hyphen, "-")
}

// printHelp prints the help of a verb.
func (a *app) printHelp(cmd *cobra.Command) {
	text := helpText(cmd, a.textWidth())
	a.setAnswer("help", text)
	a.printf("%s", text)
}

// helpText returns the help of a verb or a topic, wrapped.
func helpText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString(wrapText(cmp.Or(cmd.Long, cmd.Short+"."), width))
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s\n%s", bold(title), text)
		}
	}
	if cmd.Runnable() {
		usage := "  " + cmd.UseLine() + "\n"
		if !cmd.HasParent() {
			usage = "  mend [command] [flags]\n"
		}
		section("Usage", usage)
	}
	for _, g := range cmd.Groups() {
		section(g.Title, commandList(cmd, g.ID, width))
	}
	if len(cmd.Groups()) == 0 {
		section("Commands", commandList(cmd, "", width))
	}
	if cmd.HasExample() {
		section("Examples", wrapText(cmd.Example, width))
	}
	if cmd.Runnable() {
		section("Flags", flagList(cmd.LocalFlags(), width))
		section("Global flags", flagList(cmd.InheritedFlags(), width))
	}
	if !cmd.HasParent() {
		section("Learn more", wrapText(learnMore, width))
	}
	return b.String()
}

const learnMore = `
  mend help COMMAND     the help of a command
  mend help exit-codes  what each exit code means
  mend explain CODE     what a word or a code in the output means, such as R11 or latent`

// commandList returns the commands of a group, one a line.
func commandList(parent *cobra.Command, group string, width int) string {
	var rows []textRow
	column := 0
	for _, cmd := range parent.Commands() {
		if !cmd.IsAvailableCommand() {
			continue
		}
		column = max(column, len(cmd.Name())+4)
		if cmd.GroupID == group {
			rows = append(rows, textRow{cmd.Name(), cmd.Short})
		}
	}
	return wrapRows(rows, column, width)
}

// flagList returns the visible flags, one a line.
func flagList(flags *pflag.FlagSet, width int) string {
	var rows []textRow
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
		rows = append(rows, textRow{name, usage})
	})
	return wrapRows(rows, 0, width)
}

// helpVerb replaces cobra's, which exits with 0 if there is no such command.
func (a *app) helpVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command or a topic",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			found, rest, err := cmd.Root().Find(words)
			if err != nil || len(rest) > 0 || found.Hidden && !found.Runnable() {
				return unknownCommand(cmp.Or(found, cmd.Root()), append(rest, words...)[0])
			}
			found.InitDefaultHelpFlag()
			a.printHelp(found)
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

// exitCodesTopic is the topic "mend help exit-codes".
func (a *app) exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What each exit code means", Long: exitHelp()}
}

// exitHelp returns the text of the topic.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("mend exits with one of these codes. Of several, the highest of 6, 4, 3, 2, 5, 1 counts.\n\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %s  %s\n", e.code, e.meaning)
	}
	b.WriteString(`
If there is nothing to do, the code depends on the verb. It is 0 for those that look
for what to do: scan, repair, trim, recover, gc, forget and the uninstalling ones. It is
5 for those that take back or decide something: undo, redo, resolve and uncompact. It is
1 for fix and "repair --error" if no session fits the error and none is broken, and for an
error that no repair answers; 5 if they only list the sessions that it may be.

The program also exits with 2 if it runs out of memory, as under "ulimit -v", or
crashes: the runtime of Go sets that code. Standard error then begins with "fatal
error" or "panic". Run "mend recover" afterwards: it completes the change that was
in progress, or rolls it back.
`)
	return b.String()
}
