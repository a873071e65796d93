package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/internal/term"
)

// An empty argument and an empty value of a flag is refused by every command, before anything is opened: here neither a
// store, the journal nor the settings can be read.
func TestEmptyValues(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"DATA", "STATE", "CACHE", "CONFIG"} {
		t.Setenv("XDG_"+name+"_HOME", filepath.Join(home, strings.ToLower(name)))
	}
	t.Chdir(home)
	xdg.Reload()
	for _, name := range []string{"data/opencode/opencode.db", "state/mend/journal.db", "state/mend/keep.db", "config/mend/config.json", "cache/mend/x"} {
		if err := os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte("no such file can be read"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(args []string, message string) {
		t.Helper()
		var out strings.Builder
		if code := run(args, &term.Terminal{Out: &out, Err: &out, In: strings.NewReader("")}); code != exitUsage || !strings.Contains(out.String(), message) {
			t.Errorf("mend %q: exit code %d, want %d and %q:\n%s", args, code, exitUsage, message, out.String())
		}
	}
	flags, arguments := 0, 0
	root := (&environment{Terminal: &term.Terminal{}}).root()
	eachCommand(root, func(cmd *cobra.Command) {
		if !cmd.Runnable() {
			return
		}
		words := strings.Fields(cmd.CommandPath())[1:]
		args := []string{} // as many as the command needs
		for len(args) < 3 && cmd.Args != nil && cmd.Args(cmd, args) != nil {
			args = append(args, "x")
		}
		if commandName(cmd) == "resolve" {
			args = append(args, "--keep")
		}
		for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				if f.Value.Type() == "bool" {
					return
				}
				for _, empty := range []string{"", " \t"} {
					message := "--" + f.Name
					wants(append(append(words[:len(words):len(words)], args...), "--"+f.Name, empty), message)
				}
				flags++
			})
		}
		for n := range 3 {
			if cmd == root || cmd.Args != nil && cmd.Args(cmd, make([]string, n+1)) != nil {
				continue
			}
			for i := range n + 1 {
				given := []string{"x", "x", "x"}[:n+1]
				given[i] = " "
				if name := commandName(cmd); name == "config set" && i == 1 || name == "fix" && n > 0 {
					continue
				}
				if commandName(cmd) == "resolve" {
					given = append(given, "--keep")
				}
				wants(append(words[:len(words):len(words)], given...), "is empty")
				arguments++
			}
		}
	})
	if flags < 150 || arguments < 30 {
		t.Errorf("%d flags and %d arguments were tried: not all commands are looked at", flags, arguments)
	}
}
