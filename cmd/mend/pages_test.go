package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mend/agent/codex"
	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
)

// readPages returns the texts of the pages by their paths, without the CHANGELOG, which names what is gone.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range append(files, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(file, "../../")] = string(text)
	}
	return texts
}

// TestPagesCommands checks that each command of mend that a page names exists with its flags, and each target of make.
func TestPagesCommands(t *testing.T) {
	root := newRoot(&frame.Env{Terminal: &term.Terminal{}})
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("(?m)(?:`|^    (?:\\$ )?)mend (\\w[^`#\\n]*)")
	target := regexp.MustCompile("(?m)(?:`|^    )make ([a-z][a-z0-9 -]*)")
	fenced := regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```")
	commands := 0
	for page, text := range readPages(t) {
		text = fenced.ReplaceAllStringFunc(text, func(block string) string {
			return strings.ReplaceAll(block, "\n", "\n    ")
		})
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			if commands++; m[1] == "journal 1" || m[1] == "plan 1" { // docs/audit.md hashes these two texts
				continue
			}
			if err := checkCommand(root, strings.Fields(m[1])); err != nil {
				t.Errorf("%s: mend %s: %v", page, m[1], err)
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			for name := range strings.FieldsSeq(m[1]) {
				if !regexp.MustCompile(`(?m)^` + name + `( [a-z -]+)?:|^[a-z -]+ ` + name + `( [a-z -]+)?:`).Match(makefile) {
					t.Errorf("%s: the Makefile has no target %s", page, name)
				}
			}
		}
	}
	if commands < 100 {
		t.Errorf("the pages have %d commands, want at least 100", commands)
	}
}

// checkCommand checks the verb and the flags of a command line.
func checkCommand(root *cobra.Command, words []string) error {
	cmd, _, err := root.Find(words)
	if err != nil {
		return err
	}
	verb := strings.Trim(words[0], ".,;:()'\"")
	if cmd == root || cmd.Parent() == root && cmd.Name() != verb {
		return errors.New("no verb, or a former name")
	}
	for _, word := range words {
		name, isLong := strings.CutPrefix(strings.Trim(word, ".,;:()'\""), "--")
		name, _, _ = strings.Cut(name, "=")
		if !isLong || name == "" || name == "help" {
			continue
		}
		if cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return fmt.Errorf("%s has no flag --%s", cmd.Name(), name)
		}
	}
	return nil
}

// TestPagesTables compares tables of the pages with the program: the findings of Codex, and the settings of the other
// hooks, which the generated docs/configuration.md has.
func TestPagesTables(t *testing.T) {
	texts := readPages(t)
	rules := map[string]bool{}
	for _, r := range (codex.Agent{}).Guide().Rules() {
		rules[r.Code] = true
	}
	listed := firstColumn(texts["docs/codex.md"], "What mend finds and does")
	for code := range rules {
		if strings.Contains(code, "-") && !slices.Contains(listed, code) {
			t.Errorf("docs/codex.md does not list %s", code)
		}
	}
	for _, code := range listed {
		if !rules[code] {
			t.Errorf("docs/codex.md lists %s, which is no rule of Codex", code)
		}
	}
	for _, name := range firstColumn(texts["docs/running.md"], "The other hooks") {
		if !strings.Contains(texts["docs/configuration.md"], "\n| `"+name+"` |") {
			t.Errorf("docs/running.md lists %s, which is no setting", name)
		}
	}
}

// firstColumn returns the names in backticks in the first column of the tables of a section.
func firstColumn(page, section string) (names []string) {
	_, text, _ := strings.Cut(page, "## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, row := range regexp.MustCompile(`(?m)^\|([^|]*)\|`).FindAllStringSubmatch(text, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			names = append(names, m[1])
		}
	}
	return names
}
