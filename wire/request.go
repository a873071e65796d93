package wire

import (
	"encoding/json"
	"time"

	"mend/session"
)

// Settings are what a request depends on besides the session.
type Settings struct {
	// Profile is the version of the agent; the zero Profile means the newest.
	Profile Profile
	// Model is the one that is asked. Where it is zero it is the one that the
	// agent takes: the newest prompt's, or else the newest answer's.
	Model Model
	// Now is when the prompt is typed. It decides one thing: whether the new
	// prompt is the newest message for the agent, by its time and by its id
	// (docs/opencode.md F3). The zero time means the moment after the
	// newest one that the session tells of, but no earlier than 2026-11-21.
	Now time.Time
	// Missing tells whether nothing is at a path that a prompt's file links to: some
	// versions end on that. nil means that every such file is there.
	Missing func(path string) bool
	// Reads tells whether a model takes files of that kind, "image" or "pdf": where it is
	// known not to, the agent sends a line of text for one in a prompt, and the file
	// where it is attached to a result. nil means that every model takes both.
	Reads func(m Model, kind string) (reads, known bool)
	// Standing renders the session as it stands, its tool loop open: no prompt is
	// added. It is the request that an error stored in the newest answer is about.
	Standing bool
}

// A Model is a model of a provider.
type Model struct{ ProviderID, ModelID string }

// A Request is what the agent will send, or why it will send nothing.
type Request struct {
	Model Model
	// Turns are the request's messages, numbered as in the provider's errors.
	Turns []Turn
	// Fatal lists what ends the agent before it sends anything. Turns then hold
	// what it would send without the records that it dies on.
	Fatal []Fatal
	// Unseen is a message that the agent takes for newer than the answer to this
	// request, the zero Ref for none: it does not see that it was answered, and asks
	// again with the answer at the end, which the provider refuses.
	Unseen session.Ref
}

// A Turn is what neighbouring messages of one role are to the provider.
type Turn struct {
	Role   string
	Blocks []*Block // shared by all requests that have them, so not to be changed
	// Messages are the stored messages that the turn came from, in order, whether
	// or not anything of them is left. That of the new prompt is not among them.
	Messages []session.Ref
}

// A BlockType is the type of a content block, as the provider names it.
type BlockType string

// The types of blocks.
const (
	Text             BlockType = "text"
	Thinking         BlockType = "thinking"
	RedactedThinking BlockType = "redacted_thinking"
	ToolUse          BlockType = "tool_use"
	ToolResult       BlockType = "tool_result"
	Image            BlockType = "image"
	Document         BlockType = "document"
)

// A Block is one content block. A field that its type does not have is zero.
type Block struct {
	Type BlockType
	Text string // of text and thinking

	// Signature is that of thinking; of redacted thinking it is the data. Unsigned
	// thinking has none at all. Render makes no such block: the agent leaves them
	// out.
	Signature string
	Unsigned  bool

	ToolID   string          // of a tool call, or of the one that is answered
	ToolName string          // of a tool call
	Input    json.RawMessage // of a tool call: the text of the stored value; nil for none
	Error    bool            // of a result: the tool failed
	Content  []*Block        // of a result: text, images, documents
	Output   json.RawMessage // of a result that has no Content but one text: that, as a JSON string

	Mime string // of an image or a document
	Data []byte // of an image or a document: base64, or text if Mime is text/plain
	URL  string // of an image or a document, where it is not sent itself
	Name string // of a document

	// Source is the record that the block came from; the zero Ref for the new
	// prompt. A result has the same source as its call.
	Source session.Ref
}

// PromptText stands for the prompt that the user will type.
const PromptText = "(the next prompt)"

// A Fatal is a record on which the agent ends, or for which it stays silent.
type Fatal struct {
	Code string // one of the Fatal codes
	Why  string // for a person: what was found
	Ref  session.Ref
}

// The codes of what is fatal.
const (
	FatalUnreadable = "unreadable" // the record is no JSON, or may not be read
	FatalField      = "field"      // a field that is needed is missing or has another type
	FatalMedia      = "media"      // a file that the model cannot be sent
	FatalClock      = "clock"      // ids from another turn of the id clock: the prompt is taken for answered
)

// At is the record behind messages.n.content.m of the provider's error, and
// whether there is one: the new prompt has none.
func (r Request) At(n, m int) (session.Ref, bool) {
	if n < 0 || n >= len(r.Turns) || m < 0 || m >= len(r.Turns[n].Blocks) {
		return session.Ref{}, false
	}
	ref := r.Turns[n].Blocks[m].Source
	return ref, ref.Kind != 0
}
