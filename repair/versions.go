package repair

import "golang.org/x/mod/semver"

// Versions are those of an agent that were observed: all that send requests as the newest one does. It is embedded in
// an agent's store.
type Versions struct{ Oldest, Newest string }

// Profile returns the version whose requests are like those of the given one.
func (v Versions) Profile(string) string { return v.Newest }

// Verified reports whether the version is none that is older or newer than those that were observed.
func (v Versions) Verified(version string) bool {
	return semver.Compare("v"+version, "v"+v.Oldest) >= 0 && !v.Newer(version)
}

// Newer reports whether the version is newer than those.
func (v Versions) Newer(version string) bool { return semver.Compare("v"+version, "v"+v.Newest) > 0 }
