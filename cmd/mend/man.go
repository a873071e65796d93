//go:build man

package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// The pages are made by a program of their own, since the libraries that write
// them would cost every start of mend a tenth of its time.
func init() {
	packagerVerbs = []func(*app) *cobra.Command{(*app).manVerb}
}

func (a *app) manVerb() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true, // for packagers
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, dirs []string) error {
			if err := os.MkdirAll(dirs[0], 0o755); err != nil {
				return err
			}
			root := a.root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Title: "MEND", Section: "1", Source: "mend"}, dirs[0])
		},
	}
}
