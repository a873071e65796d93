package wire

import (
	"slices"
	"strconv"
	"strings"
)

// A Profile is how one version of OpenCode makes a request: what differs from
// version to version, and nothing else. A field is named for what some newer
// version does and its zero value is what the oldest one does.
type Profile struct {
	// Version is the version that was observed.
	Version string

	// Reading.

	// ByTime: messages are in the order of their times, not of their ids.
	ByTime bool
	// Page is how many messages are read at a time, newest first, until the last
	// finished compaction is met: one record that cannot be read in a page that is
	// read ends the program. 0 means that all are read.
	Page int
	// Revert is what the next prompt makes of a revert.
	Revert RevertRule
	// SessionModel: the session's own record says which model is asked next.
	SessionModel bool
	// Strict: the session is shown only if every record has its exact form.
	Strict bool
	// Times: a message without time ends the program.
	Times bool
	// Total: an answer's tokens.total stands for the single counts, which need not
	// be there.
	Total bool

	// History.

	// LatestByID: the newest message of a kind is the one with the highest id, not
	// the last one.
	LatestByID bool
	// Answered is when the newest prompt counts as answered.
	Answered AnsweredRule
	// SummaryError: a compaction that ended with an error is not finished.
	SummaryError bool
	// Tail is what becomes of the end of what a compaction summed up.
	Tail TailRule
	// Compaction is what is sent for a compaction that is still to be done.
	Compaction CompactionRule

	// Content.

	// Interrupted: a call that was never finished is sent, with an error as its
	// result; where this is not so, it is left out.
	Interrupted bool
	// Partial: what a tool wrote until it was interrupted is its result.
	Partial bool
	// Attached is where the attachments of a result go.
	Attached AttachedRule
	// SkipFiles: an attachment that is neither image nor PDF is left out; where this
	// is not so, it ends the program.
	SkipFiles bool
	// WebOnly: a file in a prompt that is a link to the disk ends the program.
	WebOnly bool
	// ProviderTools: calls that the provider ran itself are told apart.
	ProviderTools bool
	// Foreign is what becomes of the thinking of another model.
	Foreign ForeignRule

	// Cleaning up.

	// CleanUp: what has nothing to say is left out, whole messages too.
	CleanUp bool
	// SpaceForEmpty: an empty text in an answer with signed thinking is sent as one
	// space.
	SpaceForEmpty bool
	// KeepThinking: thinking without text is sent if it is signed or redacted.
	KeepThinking bool
	// Calls is where the calls of a turn go.
	Calls CallsRule
}

// The rules of a [Profile] that are no yes or no. Their zero values are what the
// oldest version does.
type (
	// A RevertRule says what of a reverted session the next prompt removes.
	RevertRule uint8
	// An AnsweredRule says when a prompt counts as answered.
	AnsweredRule uint8
	// A TailRule says what a compaction keeps of what it summed up.
	TailRule uint8
	// A CompactionRule says what is sent for a compaction.
	CompactionRule uint8
	// An AttachedRule says what becomes of an attachment.
	AttachedRule uint8
	// A ForeignRule says what becomes of the thinking of another model.
	ForeignRule uint8
	// A CallsRule says where the calls of a turn go.
	CallsRule uint8
)

// What a revert removes.
const (
	RevertWhole RevertRule = iota // the message and all that follow it
	RevertByID                    // messages with a higher id; of the message itself what the revert says
	RevertPart                    // all that follow the message; of the message itself what the revert says
)

// When a prompt counts as answered.
const (
	AnsweredByID     AnsweredRule = iota // by a finished answer with a higher id (spec/peers-and-failures.md F3)
	AnsweredByIDDone                     // the same, but not while there are calls in it
	AnsweredByParent                     // by a finished answer without calls that names it
)

// What becomes of the messages that a compaction kept.
const (
	TailNone    TailRule = iota // none are kept
	TailInPlace                 // they stay before the compaction
	TailBehind                  // they go behind the summary
)

// What a compaction sends.
const (
	CompactWhole      CompactionRule = iota // the conversation as it is, with one more prompt
	CompactNoMedia                          // the same, with a line of text for each file; 1.14 and later leave out short turns at the end
	CompactTranscript                       // one text
)

// Where attachments go.
const (
	AttachedBehind   AttachedRule = iota // into a prompt behind the answer
	AttachedBefore                       // into a prompt before the answer
	AttachedToResult                     // into the result
)

// What becomes of the thinking of another model.
const (
	ForeignKept ForeignRule = iota // it is sent like the model's own
	ForeignGone                    // it is left out
	ForeignText                    // it is sent as text
)

// Where calls go.
const (
	CallsInPlace    CallsRule = iota
	CallsLast                 // behind everything else of their step
	CallsLastToNext           // behind everything up to the next thinking, or the end of the turn
)

// Profiles are all profiles, in ascending order of versions. Versions between
// two of them that could be had behave like the lower one; what is said of all
// of them is in the package's documentation.
func Profiles() []Profile {
	v1085 := Profile{Version: "1.0.185", Page: 1}

	v1111 := v1085
	v1111.Version, v1111.CleanUp, v1111.Attached = "1.1.11", true, AttachedBefore

	v1153 := v1111
	v1153.Version = "1.1.53"
	v1153.Interrupted, v1153.Attached, v1153.Foreign = true, AttachedToResult, ForeignGone

	v1165 := v1153
	v1165.Version, v1165.Total = "1.1.65", true

	v121 := v1165
	v121.Version, v121.ByTime, v121.Page, v121.Revert = "1.2.1", true, 50, RevertByID

	v1220 := v121
	v1220.Version, v1220.SummaryError, v1220.Compaction = "1.2.20", true, CompactNoMedia

	v11434 := v1220
	v11434.Version, v11434.Answered, v11434.Tail = "1.14.34", AnsweredByIDDone, TailInPlace
	v11434.Partial, v11434.SkipFiles, v11434.WebOnly, v11434.ProviderTools = true, true, true, true
	v11434.Foreign, v11434.Calls = ForeignText, CallsLast

	v11441 := v11434
	v11441.Version, v11441.Tail, v11441.SpaceForEmpty = "1.14.41", TailBehind, true

	v11448 := v11441
	v11448.Version, v11448.Strict, v11448.KeepThinking = "1.14.48", true, true

	v1150 := v11448
	v1150.Version, v1150.LatestByID = "1.15.0", true

	v1170 := v1150
	v1170.Version, v1170.Page, v1170.Calls = "1.17.0", 0, CallsInPlace
	v1170.SessionModel, v1170.Revert = true, RevertPart

	v11815 := v1170
	v11815.Version, v11815.Times, v11815.LatestByID = "1.18.15", true, false
	v11815.Answered, v11815.Compaction = AnsweredByParent, CompactTranscript

	v11833 := v11815
	v11833.Version, v11833.Calls = "1.18.33", CallsLastToNext

	return []Profile{v1085, v1111, v1153, v1165, v121, v1220, v11434, v11441, v11448, v1150, v1170, v11815, v11833}
}

// ProfileFor is the profile of the highest version that is not above the given
// one: of the newest where that is empty or no version, of the oldest where it
// is older than all.
func ProfileFor(version string) Profile {
	all := Profiles()
	want, ok := numbers(version)
	if !ok {
		return all[len(all)-1]
	}
	for _, p := range slices.Backward(all) {
		if have, _ := numbers(p.Version); slices.Compare(have, want) <= 0 {
			return p
		}
	}
	return all[0]
}

// numbers are those of a version such as "1.2.27", "v1.2" or "1.2.0-beta.1",
// three of them, and whether it is one.
func numbers(version string) ([]int, bool) {
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
