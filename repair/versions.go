package repair

import (
	"golang.org/x/mod/semver"

	"mend/change"
)

// Versions are the observed versions of an agent. All of them send requests as the newest one does. An agent's store
// embeds it.
type Versions struct{ Oldest, Newest string }

// Profile returns the observed version whose behavior is assumed for the given one: the newest.
func (v Versions) Profile(string) string { return v.Newest }

// Verified reports whether the version is within the observed versions.
func (v Versions) Verified(version string) bool {
	return semver.Compare("v"+version, "v"+v.Oldest) >= 0 && !v.Newer(version)
}

// Newer reports whether the version is newer than the observed versions.
func (v Versions) Newer(version string) bool { return semver.Compare("v"+version, "v"+v.Newest) > 0 }

// NewestVersion returns the newest version of the agent that wrote one of the sessions; "" if none has a version.
func NewestVersion(heads []change.Head) (newest string) {
	for _, h := range heads {
		if semver.Compare("v"+h.Version, "v"+newest) > 0 {
			newest = h.Version
		}
	}
	return newest
}
