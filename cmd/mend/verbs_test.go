package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
)

// eachCommand calls f for the command and everything below it.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, f)
	}
}

// TestHelpForm: each command has a short description, a group and candidates for completion, and its help fits a
// terminal of 80 columns.
func TestHelpForm(t *testing.T) {
	env := &frame.Env{Terminal: &term.Terminal{}}
	root := newRoot(env)
	addCompletions(env, root)
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || len(cmd.Short) > 70 {
			t.Errorf("%s: the short text %q is empty, long or a sentence", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Parent() == root && cmd.GroupID == "" && cmd.Runnable() && !cmd.Hidden {
			t.Errorf("%s is in no group", cmd.CommandPath())
		}
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			t.Errorf("%s: arguments are completed as files", cmd.CommandPath())
		}
		for _, width := range []int{80, 100} {
			for line := range strings.Lines(string(frame.HelpText(cmd, width))) {
				if len([]rune(line)) > width+1 && !strings.Contains(line, "mend completion") && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s at %d columns: %q", cmd.CommandPath(), width, line)
				}
			}
		}
		if cmd.Runnable() {
			if _, err := runLine(cmd.CommandPath() + " --help"); err != frame.ExitDone {
				t.Errorf("%s --help: exit code %d", cmd.CommandPath(), err)
			}
		}
	})
}

// runLine runs a command line in this process and returns its standard output and exit code.
func runLine(line string) (string, int) {
	var out strings.Builder
	code := run(strings.Fields(line)[1:], &term.Terminal{Out: &out, Err: &out, In: strings.NewReader("")})
	return out.String(), code
}
