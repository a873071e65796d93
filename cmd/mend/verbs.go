package main

import (
	"github.com/spf13/cobra"
)

// packagerVerbs are the verbs of builds with the tag man.
var packagerVerbs []func(*environment) *cobra.Command

// A verbGroup is a section of "mend --help".
type verbGroup struct {
	title string // "" for verbs that only programs call
	verbs []func(*environment) *cobra.Command
}

// verbGroups returns all verbs, in the order of the help.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"Start here", []func(*environment) *cobra.Command{
			fixVerb,
			statusVerb,
			scanVerb,
			uiVerb,
			explainVerb,
			demoVerb,
		}},
		{"Repair", []func(*environment) *cobra.Command{
			repairVerb,
			trimVerb,
			uncompactVerb,
			moveVerb,
			salvageVerb,
			restoreVerb,
			undoVerb,
			redoVerb,
		}},
		{"History", []func(*environment) *cobra.Command{
			logVerb,
			showVerb,
			reportVerb,
		}},
		{"While the agent runs", []func(*environment) *cobra.Command{
			pluginVerb,
			watchVerb,
			keepVerb,
			configVerb,
		}},
		{"Maintenance", []func(*environment) *cobra.Command{
			recoverVerb,
			resolveVerb,
			verifyVerb,
			cleanVerb,
			gcVerb,
			forgetVerb,
			completionVerb,
			versionVerb,
			helpVerb,
		}},
		{"", append([]func(*environment) *cobra.Command{
			hookVerb,
			exitCodesTopic,
		}, packagerVerbs...)},
	}
}

// Commands are listed in the order of their groups. The setting is global in the library.
func init() { cobra.EnableCommandSorting = false }

// addVerbs adds all verbs to root, each to its group.
func (env *environment) addVerbs(root *cobra.Command) {
	for _, g := range verbGroups() {
		group := &cobra.Group{ID: g.title, Title: g.title}
		if g.title != "" {
			root.AddGroup(group)
		}
		for _, verb := range g.verbs {
			cmd := verb(env)
			cmd.GroupID = g.title
			root.AddCommand(cmd)
			if cmd.Name() == "help" {
				root.SetHelpCommand(cmd)
			}
		}
	}
}
