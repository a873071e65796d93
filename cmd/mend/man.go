//go:build man

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"mend/internal/atomicfile"
)

// The manual pages need libraries that would slow every start of mend by a tenth, so they are
// a build of their own.
func init() {
	packagerVerbs = []func(*app) *cobra.Command{(*app).manVerb}
}

func (a *app) manVerb() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true, // for packagers
		Args:   oneArg("folder"),
		RunE: func(_ *cobra.Command, dirs []string) error {
			if err := os.MkdirAll(dirs[0], 0o755); err != nil {
				return err
			}
			root := a.root()
			root.DisableAutoGenTag = true
			return writePages(root, dirs[0])
		},
	}
}

// writePages writes the pages of a verb and its subcommands.
func writePages(verb *cobra.Command, dir string) error {
	for _, sub := range verb.Commands() {
		if sub.Hidden {
			continue
		}
		if err := writePages(sub, dir); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := doc.GenMan(verb, &doc.GenManHeader{Title: "MEND", Section: "1", Source: "mend"}, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(verb.CommandPath(), " ", "-") + ".1"
	return atomicfile.WriteFile(filepath.Join(dir, name), page.Bytes(), 0o644)
}
