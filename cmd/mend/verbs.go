package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A verbMaker makes a verb's part of the command line.
type verbMaker struct {
	name string
	make func(*app) *cobra.Command
}

// packagerVerbs are those that only the program for packagers has.
var packagerVerbs []verbMaker

// verbs makes all verbs.
func verbs() []verbMaker {
	return append(packagerVerbs, []verbMaker{
		{"scan", (*app).scanVerb},
		{"repair", (*app).repairVerb},
		{"undo", (*app).undoVerb},
		{"redo", (*app).redoVerb},
		{"log", (*app).logVerb},
		{"show", (*app).showVerb},
		{"verify", (*app).verifyVerb},
		{"recover", (*app).recoverVerb},
		{"resolve", (*app).resolveVerb},
		{"gc", (*app).gcVerb},
		{"forget", (*app).forgetVerb},
		{"status", (*app).statusVerb},
		{"demo", (*app).demoVerb},
		{"version", (*app).versionVerb},
		{"watch", (*app).watchVerb},
		{"hook", (*app).hookVerb},
		{"plugin", (*app).pluginVerb},
		{"config", (*app).configVerb},
	}...)
}

// rootFor is root with the verbs that the arguments name, if that is all there is to
// know: to make the others takes as long as a short verb does its work. What is
// wrong with a command line only root can tell.
func (a *app) rootFor(args []string) *cobra.Command {
	aboutAll := func(arg string) bool {
		return arg == "help" || arg == "-h" || arg == "--help" || arg == "completion" || strings.HasPrefix(arg, cobra.ShellCompRequestCmd)
	}
	var named []verbMaker
	for _, v := range verbs() {
		if slices.Contains(args, v.name) {
			named = append(named, v)
		}
	}
	if len(named) == 0 || slices.ContainsFunc(args, aboutAll) {
		return a.root()
	}
	root := a.rootWith(named)
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}
