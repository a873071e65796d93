package main

import "github.com/spf13/cobra"

// packagerVerbs are the verbs of builds with the tag man.
var packagerVerbs []func(*app) *cobra.Command

// verbs returns the constructors of all verbs.
func verbs() []func(*app) *cobra.Command {
	return append(packagerVerbs,
		(*app).scanVerb,
		(*app).repairVerb,
		(*app).undoVerb,
		(*app).redoVerb,
		(*app).logVerb,
		(*app).showVerb,
		(*app).verifyVerb,
		(*app).recoverVerb,
		(*app).resolveVerb,
		(*app).gcVerb,
		(*app).forgetVerb,
		(*app).statusVerb,
		(*app).demoVerb,
		(*app).versionVerb,
		(*app).watchVerb,
		(*app).hookVerb,
		(*app).pluginVerb,
		(*app).configVerb,
	)
}
