//go:build man

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"mend/cmd/mend/internal/frame"
	"mend/internal/atomicfile"
	"mend/internal/term"
)

// The manual pages have a build tag, because their libraries would slow every start of mend by a tenth.
func init() {
	packagerVerbs = []func(*frame.Env) *cobra.Command{manVerb}
}

func manVerb(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true, // for packagers
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, dirs []string) error {
			if err := os.MkdirAll(dirs[0], 0o755); err != nil {
				return err
			}
			root := newRoot(env)
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
	verb.Long = manText(verb.Long)
	var page bytes.Buffer
	if err := doc.GenMan(verb, &doc.GenManHeader{Title: "MEND", Section: "1", Source: "mend"}, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(verb.CommandPath(), " ", "-") + ".1"
	return atomicfile.WriteFile(filepath.Join(dir, name), page.Bytes(), 0o644)
}

// manText converts a help text to the generator's Markdown. It marks definition lists, whose rows would otherwise
// become one paragraph.
func manText(text string) string {
	var b strings.Builder
	last := term.Row{}
	for _, r := range term.Rows(text) {
		switch {
		case r[0] == "":
			fmt.Fprintf(&b, "%s\n", r[1])
		case last[0] == "":
			b.WriteString("\n")
			fallthrough
		default:
			fmt.Fprintf(&b, "**%s**\n: %s\n\n", r[0], cmp.Or(r[1], r[0]))
		}
		last = r
	}
	return b.String()
}
