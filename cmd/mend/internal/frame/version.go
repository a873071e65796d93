package frame

import (
	"runtime/debug"
)

// BuildCommit returns the commit that the program was built from, "unknown" if it is not
// recorded, and its date.
func BuildCommit() (commit, date string) {
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
