package render

import (
	"slices"
	"strconv"
	"strings"
)

// Profiles returns all profiles in ascending order of versions. A version between two of
// them behaves like the lower one. These versions were observed, too, with all tests of this
// package:
//
//	1.0.162             like 1.0.185
//	1.1.58              like 1.1.53, up to the file with a byte order mark: it crashes on that
//	1.2.15              like 1.2.1
//	1.3.0               like 1.2.20, of which only subtasks were observed
//	1.15.13             like 1.15.0
//	1.18.14             like 1.17.0
//	1.18.25             like 1.18.15
//	1.18.30, .33, .34   like 1.18.26
//
// There is no release between 1.0.185 and 1.1.11, 1.1.65 and 1.2.1, 1.3.2 and 1.14.34, nor
// between the profiles from there to 1.15.0. 1.1.27 to 1.1.34 answer no prompt without a
// network, so the first version with the profile of 1.1.53 is unknown.
func Profiles() []Profile {
	v1085 := Profile{Version: "1.0.185", Page: 1}

	v1111 := v1085
	v1111.Version, v1111.CleanUp, v1111.Attached = "1.1.11", true, AttachedBefore

	v1153 := v1111
	v1153.Version = "1.1.53"
	v1153.Interrupted, v1153.Attached, v1153.Foreign = true, AttachedToResult, ForeignDropped

	v1165 := v1153
	v1165.Version, v1165.TotalTokens = "1.1.65", true

	v121 := v1165
	v121.Version, v121.ByTime, v121.Page, v121.Revert = "1.2.1", true, 50, RevertByID

	v1220 := v121
	v1220.Version, v1220.SummaryError, v1220.Compaction = "1.2.20", true, CompactNoMedia
	v1220.Summaries = true

	v132 := v1220
	v132.Version, v132.KnownAgent = "1.3.2", true

	v11434 := v132
	v11434.Version, v11434.Answered, v11434.Tail = "1.14.34", AnsweredByIDDone, TailInPlace
	v11434.Partial, v11434.SkipFiles, v11434.WebOnly, v11434.ProviderTools = true, true, true, true
	v11434.Citations = true
	v11434.Foreign, v11434.Calls, v11434.SDKCleanUp, v11434.EmptyReasoning = ForeignText, CallsLast, true, true

	v11441 := v11434
	v11441.Version, v11441.Tail, v11441.SpaceForEmpty = "1.14.41", TailAfterSummary, true

	v11448 := v11441
	v11448.Version, v11448.Strict, v11448.KeepThinking = "1.14.48", true, true

	v1150 := v11448
	v1150.Version, v1150.LatestByID, v1150.NewestTask = "1.15.0", true, true

	v1170 := v1150
	v1170.Version, v1170.Page, v1170.Calls = "1.17.0", 0, CallsInPlace
	v1170.SessionModel, v1170.Revert = true, RevertPart

	v11815 := v1170
	v11815.Version, v11815.NeedsTime, v11815.LatestByID, v11815.LatestByTime = "1.18.15", true, false, true
	v11815.Answered, v11815.Compaction = AnsweredByParent, CompactTranscript

	v11826 := v11815
	v11826.Version, v11826.Calls = "1.18.26", CallsLastToNext

	return []Profile{v1085, v1111, v1153, v1165, v121, v1220, v132, v11434, v11441, v11448, v1150, v1170, v11815, v11826}
}

// ProfileFor returns the profile for a version: that of the highest version that is not
// above it. For "" and for what is no version it returns the newest profile, for a version
// below all profiles the oldest.
func ProfileFor(version string) Profile {
	all := Profiles()
	want, ok := parseVersion(version)
	if !ok {
		return all[len(all)-1]
	}
	for _, p := range slices.Backward(all) {
		if have, _ := parseVersion(p.Version); slices.Compare(have, want) <= 0 {
			return p
		}
	}
	return all[0]
}

// NewestVerified is the newest version that was observed. Its profile is the last one.
const NewestVerified = "1.18.34"

// Verified reports whether the version lies between the oldest and the newest one that
// were observed.
func Verified(version string) bool {
	v, ok := parseVersion(version)
	oldest, _ := parseVersion(Profiles()[0].Version)
	return ok && slices.Compare(v, oldest) >= 0 && !Newer(version)
}

// Newer reports whether the version is newer than all that were observed. It may send other
// requests than its profile says.
func Newer(version string) bool {
	v, ok := parseVersion(version)
	newest, _ := parseVersion(NewestVerified)
	return ok && slices.Compare(v, newest) > 0
}

// NeedsFolder reports whether the version answers no prompt in a session whose folder does
// not exist: 1.17.0 answers, 1.17.9 does not. For "" and for what is no version it reports true.
func NeedsFolder(version string) bool {
	v, ok := parseVersion(version)
	return !ok || slices.Compare(v, []int{1, 17, 1}) >= 0
}

// parseVersion returns the three numbers of a version such as "1.2.27", "v1.2" or
// "1.2.0-beta.1". It reports false for other strings.
func parseVersion(version string) ([]int, bool) {
	release, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	n := make([]int, 0, 3)
	for field := range strings.SplitSeq(release, ".") {
		v, err := strconv.Atoi(field)
		if err != nil || v < 0 {
			return nil, false
		}
		n = append(n, v)
	}
	for len(n) < 3 {
		n = append(n, 0)
	}
	return n, true
}
