package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
)

// helpVerb replaces cobra's verb, which exits with 0 for an unknown command.
func helpVerb(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command or a topic",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			found, rest, err := cmd.Root().Find(words)
			if err != nil || len(rest) > 0 {
				return frame.UnknownCommand(cmp.Or(found, cmd.Root()), append(rest, words...)[0])
			}
			found.InitDefaultHelpFlag()
			frame.PrintHelp(env, found)
			return nil
		},
	}
}

// topics are the help pages that are not about a command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: frame.FlagsTopic, Short: "The flags that every command accepts", Long: "Every command accepts these flags."},
		{Use: "exit-codes", Short: "What each exit code means", Long: exitHelp()},
	}
}

// exitHelp returns the text of the topic exit-codes.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("mend exits with one of these codes. If several apply, the first of 6, 4, 3, 2, 5, 1 is used.\n\n")
	for _, e := range frame.ExitCodes {
		fmt.Fprintf(&b, "  %s  %s\n", e.Code, e.Meaning)
	}
	b.WriteString(`
If there is nothing to do, the code depends on the command. It is 0 for commands that
search for something to do: scan, fix, trim, recover, forget and "install --remove". It
is 5 for commands that revert or decide something: undo, "recover ID" and "restore
--compaction". Fix with an error text exits with 1 if no session matches the error and none
is broken, or if no repair helps against the error. If several sessions match and it cannot
ask which one, it lists them and exits with 5.

The program also exits with 2 if it crashes or runs out of memory, for example under
"ulimit -v": the runtime of Go sets that code. Standard error then begins with "fatal
error" or "panic". Run "mend recover" afterwards: it completes the change that was in
progress, or rolls it back.
`)
	return b.String()
}
