package render

// A Profile describes how a version of OpenCode makes a request: only what differs between
// versions. A field is named for what newer versions do; its zero value is what the oldest
// version does.
type Profile struct {
	// Version is the version that was observed.
	Version string

	// Reading.

	// ByTime: messages are sorted by time instead of id.
	ByTime bool
	// Page is how many messages are read at a time, newest first, until the last finished
	// compaction is found. OpenCode fails if it cannot read a record of a page. 0 means that
	// all messages are read.
	Page int
	// Revert is what the next prompt removes if the session is reverted.
	Revert RevertRule
	// SessionModel: the session's own record names the model of the next prompt.
	SessionModel bool
	// Strict: records are validated, and the session is shown only if all are valid.
	Strict bool
	// NeedsTime: OpenCode fails on a message without time.
	NeedsTime bool
	// TotalTokens: the single counts of an assistant message may be missing if it has
	// tokens.total.
	TotalTokens bool

	// History.

	// LatestByID: the newest message of a kind is the one with the highest id instead of the
	// last one.
	LatestByID bool
	// LatestByTime: it is the one with the highest time in its JSON, then with the highest id.
	LatestByTime bool
	// Answered is when the newest prompt counts as answered.
	Answered AnsweredRule
	// NewestTask: of several compactions and subtasks that were not run, the newest is. Older
	// versions run the last one of the oldest message.
	NewestTask bool
	// KnownAgent: OpenCode fails on a subtask for an agent that does not exist. Older versions
	// tell the model so.
	KnownAgent bool
	// SummaryError: a compaction that ended with an error is not finished.
	SummaryError bool
	// Tail is where the messages go that a compaction kept.
	Tail TailRule
	// Compaction is what is sent for a compaction.
	Compaction CompactionRule

	// Content.

	// Interrupted: a tool call that did not finish is sent with an error as its result.
	// Older versions drop it.
	Interrupted bool
	// Partial: the output of a tool until its interruption is its result.
	Partial bool
	// Attached is where the attachments of a result go.
	Attached AttachedRule
	// SkipFiles: an attachment that is neither image nor PDF is dropped. Older versions fail.
	SkipFiles bool
	// WebOnly: OpenCode fails on a file: URL in a prompt, and on a link to a private network
	// that it would have to download.
	WebOnly bool
	// ProviderTools: tool calls that the provider ran itself are recognized.
	ProviderTools bool
	// Foreign is what becomes of the thinking of another model.
	Foreign ForeignRule

	// Summaries: a text that Anthropic's API stored as its own compaction is sent as one.
	Summaries bool
	// Citations: a text is sent to Anthropic with its citations.
	Citations bool

	// Clean-up.

	// CleanUp: empty blocks and messages are dropped.
	CleanUp bool
	// SpaceForEmpty: an empty text in an assistant message with signed thinking is sent as
	// one space.
	SpaceForEmpty bool
	// SDKCleanUp: the packages for other providers than Anthropic send neither reasoning that
	// the provider did not encrypt nor messages without content.
	SDKCleanUp bool
	// EmptyReasoning: models with a field for reasoning get it with each assistant message, empty
	// if there is none.
	EmptyReasoning bool
	// KeepThinking: thinking without text is sent if it is signed or redacted.
	KeepThinking bool
	// Calls is where the tool calls of a turn go.
	Calls CallsRule
}

// Tree reports whether the version stores sessions in a tree of files.
func (p *Profile) Tree() bool { return !p.ByTime }

// The rules of a [Profile] with more than two cases. The zero value is what the oldest
// version does.
type (
	// A RevertRule is what the next prompt removes from a reverted session.
	RevertRule uint8
	// An AnsweredRule is when a prompt counts as answered.
	AnsweredRule uint8
	// A TailRule is where the messages go that a compaction kept.
	TailRule uint8
	// A CompactionRule is what is sent for a compaction.
	CompactionRule uint8
	// An AttachedRule is where the attachments of a tool result go.
	AttachedRule uint8
	// A ForeignRule is what becomes of the thinking of another model.
	ForeignRule uint8
	// A CallsRule is where the tool calls of a turn go.
	CallsRule uint8
)

// What a revert removes.
const (
	RevertWhole RevertRule = iota // the message and all later ones
	RevertByID                    // messages with a higher id, and the parts of the message from the revert's part on
	RevertPart                    // all later messages, and the parts of the message from the revert's part on
)

// When a prompt counts as answered.
const (
	AnsweredByID     AnsweredRule = iota // by a finished assistant message with a higher id (docs/opencode.md F3)
	AnsweredByIDDone                     // the same, if the message has no tool calls
	AnsweredByParent                     // by a finished assistant message without tool calls whose parent is the prompt
)

// Where the messages go that a compaction kept.
const (
	TailNone         TailRule = iota // compactions keep none
	TailInPlace                      // before the compaction
	TailAfterSummary                 // after the summary
)

// What is sent for a compaction.
const (
	CompactWhole      CompactionRule = iota // the whole conversation and one more prompt
	CompactNoMedia                          // the same, with a line of text for each file; 1.14 and later drop short turns at the end
	CompactTranscript                       // one text
)

// Where the attachments of a tool result go.
const (
	AttachedAfter    AttachedRule = iota // into a prompt after the assistant message
	AttachedBefore                       // into a prompt before the assistant message
	AttachedToResult                     // into the result
)

// What becomes of the thinking of another model.
const (
	ForeignKept    ForeignRule = iota // it is sent like the model's own
	ForeignDropped                    // it is dropped
	ForeignText                       // it is sent as text
)

// Where tool calls go.
const (
	CallsInPlace    CallsRule = iota
	CallsLast                 // after all other blocks of their step
	CallsLastToNext           // after the other blocks up to the next thinking, or to the end of the turn
)

// A trait is a bit for what a profile does with the content of messages.
type trait uint32

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
	sdkCleanUp
	emptyReasoning
	summaries
	citations
)

// traits returns the traits of the profile.
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
		{sdkCleanUp, p.SDKCleanUp},
		{emptyReasoning, p.EmptyReasoning},
		{summaries, p.Summaries},
		{citations, p.Citations},
	} {
		if t.has {
			all |= t.trait
		}
	}
	return all
}
