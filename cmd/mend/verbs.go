package main

import (
	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/inspect"
	"mend/cmd/mend/internal/rare"
	"mend/cmd/mend/internal/repairs"
	"mend/cmd/mend/internal/restore"
	"mend/cmd/mend/internal/running"
	"mend/cmd/mend/internal/space"
)

// packagerVerbs are additional verbs of builds with the tag man.
var packagerVerbs []func(*frame.Env) *cobra.Command

// A verbGroup is a section of "mend --help".
type verbGroup struct {
	title string
	verbs []func(*frame.Env) *cobra.Command
}

// finishes are functions of other verbs with which fix can end.
var finishes = repairs.Finish{List: restore.List, Restore: restore.One, Move: restore.MoveGone, Salvage: restore.RunSalvage, Trim: space.RunTrim}

func fix(env *frame.Env) *cobra.Command { return repairs.Fix(env, finishes) }

// verbGroups returns all verbs, in the order of the help.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"Repair and undo", []func(*frame.Env) *cobra.Command{fix, repairs.Undo, repairs.Log}},
		{"Inspect", []func(*frame.Env) *cobra.Command{inspect.Scan, inspect.Explain, inspect.UI, inspect.Report}},
		{"Restore", []func(*frame.Env) *cobra.Command{restore.Restore, restore.Move, restore.Salvage}},
		{"Make room", []func(*frame.Env) *cobra.Command{space.Trim, space.Clean}},
		{"While the agent runs", []func(*frame.Env) *cobra.Command{running.Install, running.Watch, running.Keep}},
		{"Rarely needed", []func(*frame.Env) *cobra.Command{rare.Recover, rare.Forget, rare.Verify, rare.Config}},
	}
}

// hiddenVerbs are not listed in the help.
func hiddenVerbs() []func(*frame.Env) *cobra.Command {
	return append([]func(*frame.Env) *cobra.Command{helpVerb, completionVerb, versionVerb, demoVerb, running.Hook}, packagerVerbs...)
}

// Commands are listed in the order of their groups. The library's setting is global.
func init() { cobra.EnableCommandSorting = false }

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
