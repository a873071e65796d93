package main

import (
	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
)

// packagerVerbs are the verbs of builds with the tag man.
var packagerVerbs []func(*frame.Env) *cobra.Command

// A verbGroup is a section of "mend --help".
type verbGroup struct {
	title string
	verbs []func(*frame.Env) *cobra.Command
}

// finishes are the verbs with which fix can end.
var finishes = finish{list: runRestorable, restore: restoreOne, move: runMoveGone, salvage: runSalvage, trim: runTrim}

func fix(env *frame.Env) *cobra.Command { return fixVerb(env, finishes) }

func formerRepair(env *frame.Env) *cobra.Command { return repairVerb(env, finishes) }

func status(env *frame.Env) *cobra.Command { return statusVerb(env, liveNow) }

// verbGroups returns all verbs, in the order of the help.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"Repair and undo", []func(*frame.Env) *cobra.Command{fix, undoVerb, logVerb}},
		{"Inspect", []func(*frame.Env) *cobra.Command{scanVerb, explainVerb, uiVerb, reportVerb}},
		{"Restore", []func(*frame.Env) *cobra.Command{restoreVerb, moveVerb, salvageVerb}},
		{"Make room", []func(*frame.Env) *cobra.Command{trimVerb, cleanVerb}},
		{"While the agent runs", []func(*frame.Env) *cobra.Command{installVerb, watchVerb, keepVerb}},
		{"Rarely needed", []func(*frame.Env) *cobra.Command{recoverVerb, forgetVerb, verifyVerb, configVerb}},
	}
}

// hiddenVerbs are not listed in the help: verbs for programs, and former names.
func hiddenVerbs() []func(*frame.Env) *cobra.Command {
	return append([]func(*frame.Env) *cobra.Command{
		helpVerb, completionVerb, versionVerb, demoVerb, hookVerb,
		formerRepair, showVerb, redoVerb, uncompactVerb, resolveVerb, gcVerb, pluginVerb, status,
	}, packagerVerbs...)
}

// Commands are listed in the order of their groups. The library's setting is global.
func init() { cobra.EnableCommandSorting = false }

// addVerbs adds all verbs to root, each to its group.
func addVerbs(env *frame.Env, root *cobra.Command) {
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
