package render

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
	NeedsTime bool
	// Total: an answer's tokens.total stands for the single counts, which need not
	// be there.
	TotalTokens bool

	// History.

	// LatestByID: the newest message of a kind is the one with the highest id, not
	// the last one.
	LatestByID bool
	// LatestByTime: it is the one whose record has the highest time, and of those with
	// the same time the highest id.
	LatestByTime bool
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

// Tree reports whether the version keeps its sessions in a tree of files.
func (p *Profile) Tree() bool { return !p.ByTime }

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
	AnsweredByID     AnsweredRule = iota // by a finished answer with a higher id (docs/opencode.md F3)
	AnsweredByIDDone                     // the same, but not while there are calls in it
	AnsweredByParent                     // by a finished answer without calls that names it
)

// What becomes of the messages that a compaction kept.
const (
	TailNone         TailRule = iota // none are kept
	TailInPlace                      // they stay before the compaction
	TailAfterSummary                 // they go behind the summary
)

// What a compaction sends.
const (
	CompactWhole      CompactionRule = iota // the conversation as it is, with one more prompt
	CompactNoMedia                          // the same, with a line of text for each file; 1.14 and later leave out short turns at the end
	CompactTranscript                       // one text
)

// Where attachments go.
const (
	AttachedAfter    AttachedRule = iota // into a prompt behind the answer
	AttachedBefore                       // into a prompt before the answer
	AttachedToResult                     // into the result
)

// What becomes of the thinking of another model.
const (
	ForeignKept    ForeignRule = iota // it is sent like the model's own
	ForeignDropped                    // it is left out
	ForeignText                       // it is sent as text
)

// Where calls go.
const (
	CallsInPlace    CallsRule = iota
	CallsLast                 // behind everything else of their step
	CallsLastToNext           // behind everything up to the next thinking, or the end of the turn
)

// A trait is one thing that a profile says of the content of messages, as a bit.
type trait uint16

const (
	interrupted trait = 1 << iota
	partial
	attachedBefore
	attachedToResult
	skipFiles
	webOnly
	providerTools
	foreignKept
	foreignText
	cleanUp
	spaceForEmpty
	keepThinking
	callsLast
	callsLastToNext
)

// traits are those that the profile has.
func (p *Profile) traits() (all trait) {
	for _, t := range [...]struct {
		trait
		has bool
	}{
		{interrupted, p.Interrupted},
		{partial, p.Partial},
		{attachedBefore, p.Attached == AttachedBefore},
		{attachedToResult, p.Attached == AttachedToResult},
		{skipFiles, p.SkipFiles},
		{webOnly, p.WebOnly},
		{providerTools, p.ProviderTools},
		{foreignKept, p.Foreign == ForeignKept},
		{foreignText, p.Foreign == ForeignText},
		{cleanUp, p.CleanUp},
		{spaceForEmpty, p.SpaceForEmpty},
		{keepThinking, p.KeepThinking},
		{callsLast, p.Calls == CallsLast},
		{callsLastToNext, p.Calls == CallsLastToNext},
	} {
		if t.has {
			all |= t.trait
		}
	}
	return all
}
