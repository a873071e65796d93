package render

import (
	"slices"
	"strconv"
	"strings"
)

// profiles are all profiles in ascending order, each with the first version that it is used for. These versions were
// observed, too:
//
//	1.1.58              like 1.1.53, up to the file with a byte order mark: it crashes on that
//	1.2.1 to 1.2.19     like 1.2.27, but a compaction that ended with an error is finished, and its request has files
//	1.14.34 to 1.14.48  like 1.15.0, but most validate no records, and 1.14.34 sends what a compaction kept before it
//	1.15.13             like 1.15.0
//	1.18.14             like 1.17.0
//	1.18.25             like 1.18.15
//	1.18.30, .33, .34   like 1.18.26
//
// There is no release between 1.3.2 and 1.14.34. Versions before 1.1.53 are judged like 1.1.53.
var profiles = [...]struct {
	first [3]int
	Profile
}{
	{[3]int{}, Profile{"1.1.53", v11}},
	{[3]int{1, 2, 0}, Profile{"1.2.27", v12}},
	{[3]int{1, 14, 0}, Profile{"1.15.0", v115}},
	{[3]int{1, 17, 0}, Profile{"1.17.0", v117}},
	{[3]int{1, 18, 15}, Profile{"1.18.15", v11815}},
	{[3]int{1, 18, 26}, Profile{"1.18.26", v11826}},
}

// kilo is the profile of Kilo 7.7.9. Kilo has its own version numbers, starting at 7. It has the schema of OpenCode
// 1.18.34, but tool calls stay in place, and a message that is neither a prompt nor an answer needs no time.
var kilo = Profile{"7.7.9", v11815}

// IsKilo reports whether the profile is Kilo's.
func (p Profile) IsKilo() bool { return p == kilo }

// Profiles returns all profiles in ascending order of versions.
func Profiles() []Profile {
	all := make([]Profile, len(profiles))
	for i, p := range profiles {
		all[i] = p.Profile
	}
	return all
}

// ProfileFor returns the profile used for a version: the newest for "" and for an invalid version.
func ProfileFor(version string) Profile {
	want, ok := parseVersion(version)
	if ok && isKilo(want) {
		return kilo
	}
	for _, p := range slices.Backward(profiles[:]) {
		if !ok || slices.Compare(p.first[:], want) <= 0 {
			return p.Profile
		}
	}
	return profiles[0].Profile
}

// NewestVerified is the newest observed version. Its profile is the last one.
const NewestVerified = "1.18.34"

// IsTested reports whether tests have run the version. mend treats another version like a tested one.
func IsTested(version string) bool {
	return ProfileFor(version).Version == version || version == "1.18.33" || version == NewestVerified
}

// IsVerified reports whether the version is between the oldest and the newest observed version.
func IsVerified(version string) bool {
	v, ok := parseVersion(version)
	oldest, _ := parseVersion(profiles[0].Version)
	return ok && slices.Compare(v, oldest) >= 0 && !Newer(version)
}

// Newer reports whether the version is newer than all observed versions. Its requests may differ from its profile.
func Newer(version string) bool {
	v, ok := parseVersion(version)
	newest, _ := parseVersion(NewestVerified)
	if ok && isKilo(v) {
		newest, _ = parseVersion(kilo.Version)
	}
	return ok && slices.Compare(v, newest) > 0
}

// isKilo reports whether a version belongs to Kilo.
func isKilo(version []int) bool { return version[0] >= 7 }

// NeedsFolder reports whether the version answers no prompt in a session without its folder: 1.17.0 answers, 1.17.9
// does not. For "" and for an invalid version it returns true.
func NeedsFolder(version string) bool {
	v, ok := parseVersion(version)
	return !ok || slices.Compare(v, []int{1, 17, 1}) >= 0
}

// parseVersion returns the numbers, at least three, of a version such as "1.2.27", "v1.2" or "1.2.0-beta.1". It reports
// false for other strings.
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

// A Profile is an observed version of OpenCode, and determines how it makes a request.
type Profile struct {
	Version string
	release release
}

// A release is a version that changed what is sent for sessions, or which sessions are usable.
type release uint8

// The releases. Each behaves like the previous one except for the changes in its comment.
const (
	// v11 stores sessions in a tree of files, and reads messages by id. A revert removes its
	// whole message. The request of a compaction is the conversation and one more prompt.
	v11 release = iota

	// v12 stores sessions in a database, and reads messages by time, 50 at a time. A revert compares ids, and keeps the
	// parts before the part that it names. A compaction that ended with an error is not finished, and the request of a
	// compaction has a line of text for each file. The counts of tokens may be missing beside tokens.total. Summaries
	// of Anthropic's API are sent as such.
	v12

	// v115 validates the records of a session before it shows it. The newest message is the one with the highest id,
	// and it is an answer only if it has no tool calls. A compaction keeps messages, which follow its summary.
	//
	// The thinking of another model is sent as text, thinking without text if it is signed, an empty text beside signed
	// thinking as one space, and the output of an interrupted tool as its result. Tool calls follow all other blocks of
	// their step. v115 supports citations, and calls that the provider ran. It ignores attachments that are neither
	// image nor PDF, and fails on links to files. For providers other than Anthropic it drops
	// content that they refuse: reasoning that they did not encrypt, and messages without content.
	v115

	// v117 reads all messages at once. The session's own record names the model of the next prompt. A revert uses the
	// order of messages, as in v11. Tool calls stay in place.
	v117

	// v11815 fails on a message without time. The newest message is the one with the highest time in its JSON. A
	// prompt is answered by a message that names it as its parent. The request of a compaction is one text.
	v11815

	// v11826 moves tool calls after the other blocks, up to the next thinking or the end of the turn.
	v11826
)

// isSince reports whether the profile is of that release or a later one.
func (p Profile) isSince(r release) bool { return p.release >= r }

// Tree reports whether the version stores sessions in a tree of files.
func (p Profile) Tree() bool { return !p.isSince(v12) }

// Strict reports whether the version validates records, and shows a session only if all are valid.
func (p Profile) Strict() bool { return p.isSince(v115) }

// page returns the number of messages that OpenCode reads at a time, newest first, until it finds the last finished
// compaction. It fails if it cannot read a record of a page. 0 means that all messages are read.
func (p Profile) page() int {
	switch {
	case p.isSince(v117):
		return 0
	case p.isSince(v12):
		return 50
	}
	return 1
}
