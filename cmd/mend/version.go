package main

import (
	"cmp"
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
	commit := frame.BuildCommit()
	system := runtime.GOOS + "/" + runtime.GOARCH
	env.SetAnswers(versionAnswer{version(), commit, runtime.Version(), system})
	env.Printf("mend %s\ncommit %s\n%s %s\n", version(), commit, runtime.Version(), system)
	return nil
}

// release is the version of a released binary. The linker sets it: -X main.release=1.2.3.
var release string

// version returns the version of the release or of the module, which for a checkout has the time and the commit.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && release == "" && info.Main.Version != "(devel)" {
		return cmp.Or(info.Main.Version, "devel")
	}
	return cmp.Or(release, "devel")
}
