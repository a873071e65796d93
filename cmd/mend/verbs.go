package main

import (
	"github.com/spf13/cobra"
)

// packagerVerbs are the verbs of builds with the tag man.
var packagerVerbs []func(*environment) *cobra.Command

// A verbGroup is a section of "mend --help".
type verbGroup struct {
	title string
	verbs []func(*environment) *cobra.Command
}

// finishes are the verbs with which fix can end.
var finishes = finish{list: runRestorable, restore: restoreOne, move: runMoveGone, salvage: runSalvage, trim: runTrim}

func fix(env *environment) *cobra.Command          { return fixVerb(env, finishes) }
func formerRepair(env *environment) *cobra.Command { return repairVerb(env, finishes) }
func status(env *environment) *cobra.Command       { return statusVerb(env, liveNow) }

// verbGroups returns all verbs, in the order of the help.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"Repair and undo", []func(*environment) *cobra.Command{fix, undoVerb, logVerb}},
		{"Inspect", []func(*environment) *cobra.Command{scanVerb, explainVerb, uiVerb, reportVerb}},
		{"Restore", []func(*environment) *cobra.Command{restoreVerb, moveVerb, salvageVerb}},
		{"Make room", []func(*environment) *cobra.Command{trimVerb, cleanVerb}},
		{"While the agent runs", []func(*environment) *cobra.Command{installVerb, watchVerb, keepVerb}},
		{"Rarely needed", []func(*environment) *cobra.Command{recoverVerb, forgetVerb, verifyVerb, configVerb}},
	}
}

// hiddenVerbs are not listed in the help: verbs for programs, and former names.
func hiddenVerbs() []func(*environment) *cobra.Command {
	return append([]func(*environment) *cobra.Command{
		helpVerb, completionVerb, versionVerb, demoVerb, hookVerb,
		formerRepair, showVerb, redoVerb, uncompactVerb, resolveVerb, gcVerb, pluginVerb, status,
	}, packagerVerbs...)
}

// Commands are listed in the order of their groups. The library's setting is global.
func init() { cobra.EnableCommandSorting = false }

// addVerbs adds all verbs to root, each to its group.
func addVerbs(env *environment, root *cobra.Command) {
	for _, g := range verbGroups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, verb := range g.verbs {
			cmd := verb(env)
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	for _, verb := range hiddenVerbs() {
		cmd := verb(env)
		cmd.Hidden = true
		root.AddCommand(cmd)
		if cmd.Name() == "help" {
			root.SetHelpCommand(cmd)
		}
	}
	root.AddCommand(topics()...)
}
