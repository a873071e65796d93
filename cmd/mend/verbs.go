package main

import (
	"github.com/spf13/cobra"
)

// packagerVerbs are the verbs of builds with the tag man.
var packagerVerbs []func(*app) *cobra.Command

// A verbGroup is a section of "mend --help".
type verbGroup struct {
	title string // "" for verbs that only programs call
	verbs []func(*app) *cobra.Command
}

// verbGroups returns all verbs, in the order of the help.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"Start here", []func(*app) *cobra.Command{
			(*app).fixVerb,
			(*app).statusVerb,
			(*app).scanVerb,
			(*app).uiVerb,
			(*app).explainVerb,
			(*app).demoVerb,
		}},
		{"Repair", []func(*app) *cobra.Command{
			(*app).repairVerb,
			(*app).trimVerb,
			(*app).uncompactVerb,
			(*app).undoVerb,
			(*app).redoVerb,
		}},
		{"History", []func(*app) *cobra.Command{
			(*app).logVerb,
			(*app).showVerb,
			(*app).reportVerb,
		}},
		{"While the agent runs", []func(*app) *cobra.Command{
			(*app).pluginVerb,
			(*app).watchVerb,
			(*app).configVerb,
		}},
		{"Maintenance", []func(*app) *cobra.Command{
			(*app).recoverVerb,
			(*app).resolveVerb,
			(*app).verifyVerb,
			(*app).gcVerb,
			(*app).forgetVerb,
			(*app).completionVerb,
			(*app).versionVerb,
			(*app).helpVerb,
		}},
		{"", append([]func(*app) *cobra.Command{
			(*app).hookVerb,
			(*app).exitCodesTopic,
		}, packagerVerbs...)},
	}
}

// Commands are listed in the order of their groups. The setting is global in the library.
func init() { cobra.EnableCommandSorting = false }

// addVerbs adds all verbs to root, each to its group.
func (a *app) addVerbs(root *cobra.Command) {
	for _, g := range verbGroups() {
		group := &cobra.Group{ID: g.title, Title: g.title}
		if g.title != "" {
			root.AddGroup(group)
		}
		for _, verb := range g.verbs {
			cmd := verb(a)
			cmd.GroupID = g.title
			root.AddCommand(cmd)
			if cmd.Name() == "help" {
				root.SetHelpCommand(cmd)
			}
		}
	}
}
