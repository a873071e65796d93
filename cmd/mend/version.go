package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.asJSON {
				a.answer = map[string]any{"version": version(), "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH}
				return nil
			}
			a.printf("mend %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return nil
		},
	}
}
