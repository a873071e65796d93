package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
)

func versionVerb(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the version of Go",
		Args:  frame.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return printVersion(env) },
	}
}

type versionAnswer struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // that mend was built from; "unknown" if it is not recorded
	Go      string `json:"go"`
	System  string `json:"system"`
}

func printVersion(env *frame.Env) error {
	env.Command = "version"
	commit, date := frame.BuildCommit()
	system := runtime.GOOS + "/" + runtime.GOARCH
	env.SetAnswers(versionAnswer{version(), commit, runtime.Version(), system})
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
	if commit, _ := frame.BuildCommit(); commit != "unknown" {
		return "devel-" + commit[:min(12, len(commit))]
	}
	return "devel"
}
