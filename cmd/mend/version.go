package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionVerb(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the version of Go",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return printVersion(env) },
	}
}

type versionAnswer struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // of mend's build; unknown if that is not recorded
	Go      string `json:"go"`
	System  string `json:"system"`
}

func printVersion(env *environment) error {
	env.command = "version"
	commit, date := buildCommit()
	system := runtime.GOOS + "/" + runtime.GOARCH
	env.setAnswers(versionAnswer{version(), commit, runtime.Version(), system})
	env.Printf("mend %s\ncommit %s", version(), commit)
	if date != "" {
		env.Printf(", %s", date)
	}
	env.Printf("\n%s %s\n", runtime.Version(), system)
	return nil
}

// release is the version of a released binary. The linker sets it: -X main.release=1.2.3.
var release string

// version returns the version of the release, of the module, or the revision of the checkout.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	if commit, _ := buildCommit(); commit != "unknown" {
		return "devel-" + commit[:min(12, len(commit))]
	}
	return "devel"
}

// buildCommit returns the commit that the program was built from, "unknown" if it is not
// recorded, and its date.
func buildCommit() (commit, date string) {
	commit = "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return commit, ""
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		commit += "+changes"
	}
	return commit, date
}
