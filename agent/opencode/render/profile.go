package render

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
