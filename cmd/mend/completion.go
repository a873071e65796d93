package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// completionVerb replaces cobra's, which exits with 0 for a shell that it does not know.
func (a *app) completionVerb() *cobra.Command {
	scripts := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(a, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(a) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(a, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(a) },
	}
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print the script that completes commands in your shell",
		Long: `Print the script that completes commands, flags, sessions and repairs in your shell.
To load it in every new shell:

  bash        mend completion bash > ~/.local/share/bash-completion/completions/mend
  zsh         mend completion zsh > "${fpath[1]}/_mend"
  fish        mend completion fish > ~/.config/fish/completions/mend.fish
  powershell  mend completion powershell >> $PROFILE`,
		Args:      oneArg("shell"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := scripts[args[0]]
			if !ok {
				return usagef("no completion for %q; there are %s", args[0], strings.Join(shells, ", "))
			}
			return write(cmd.Root())
		},
	}
}
