// Package request has the neutral form of an agent's request to a model: turns of blocks, each with the record of the
// session that it came from. An agent makes a [Request] of a session; a provider reports each [Violation] of its rules.
//
// It does no I/O. It may import change, internal/jsonedit and internal/media. Read [Request] and [Block] first.
package request

import (
	"encoding/json"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/media"
)

// A Model is a model of a provider.
type Model struct{ ProviderID, ModelID string }

// A Request is an agent's request to a model.
type Request struct {
	Model Model
	// Turns are the messages of the request, numbered as in the provider's errors.
	Turns []Turn
	// Then is the next request if this one is for a compaction that the agent makes first; otherwise nil. It has the
	// whole conversation, which this request may send differently.
	Then *Request
	// Bound defines what happens to thinking after a change of the conversation before it.
	Bound Binding
}

// Whole returns the request with the whole conversation: Then, or else the request itself.
func (r Request) Whole() Request {
	if r.Then != nil {
		return *r.Then
	}
	return r
}

// Blocks calls yield for each block.
func (r Request) Blocks(yield func(*Block) bool) {
	for _, t := range r.Turns {
		for _, b := range t.Blocks {
			if !yield(b) {
				return
			}
		}
	}
}

// BlockAt returns block m of turn n, or nil.
func (r Request) BlockAt(n, m int) *Block {
	if n < 0 || n >= len(r.Turns) || m < 0 || m >= len(r.Turns[n].Blocks) {
		return nil
	}
	return r.Turns[n].Blocks[m]
}

// A Turn is a message of the request, made of neighbouring messages of one role.
type Turn struct {
	Role   string
	Blocks []*Block // may be shared between requests: read only
	// Messages are the stored messages of the turn in order, including those that add nothing to the request.
	Messages []change.Ref
	Summary  bool // it is the summary of a compaction
	Unknown  bool // content that mend does not know is stored in it, or beside it
}

// The roles that turns have in addition to messages.
const (
	RoleSystem = "system" // a system prompt that is numbered with the others; without blocks if it is not stored
	RoleTool   = "tool"   // the result of a tool if it is a turn of its own
)

// A BlockType is the type of a content block, as Anthropic names it.
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
	Summary          BlockType = "compaction" // a summary of the conversation before it, made by the API
)

// A Block is one content block. Fields that its type does not have are zero.
type Block struct {
	Type BlockType
	Text string // for text, thinking and a summary

	Citations json.RawMessage // of a text; may be nil

	// Signature is the signature of thinking, or the data of redacted thinking. For other providers it is the signature
	// or the encrypted content of any block.
	Signature string
	Details   json.RawMessage // a list of reasoning details (OpenRouter); may be nil

	// For an item of OpenAI's Responses API:
	ItemID      string // the id given by the provider, or ""
	Reference   bool   // only the id is sent
	Reasoned    bool   // its response had reasoning
	Interrupted bool   // for reasoning: the user interrupted the response, which ended with this block

	Unsigned bool // for thinking: it has no signature, not even an empty one
	HalfPair bool // the agent sends half of a surrogate pair in it unchanged
	Error    bool // for a result, or a stored call with its own result: the tool failed

	ToolID   string          // the id of a tool call, or of the call that a result answers
	ToolName string          // for a tool call and its result
	Input    json.RawMessage // for a tool call: the text of the stored value; may be nil
	Content  []*Block        // for a result: text, images, documents
	// Output is set for a result that is one text without Content, and for a stored call with its own result. It is a
	// JSON string, or a value whose JSON is the text.
	Output json.RawMessage

	File // for an image or a document

	// Source is the block's record; nil for the prompt that is not stored yet. A result has the same source as its
	// call.
	Source *change.Ref
	// Index is the position of the block in its record, for agents that store several blocks in one record.
	Index int
}

// A File is the content of an image or a document.
type File struct {
	Mime string
	Data []byte // base64, or text if Mime is text/plain
	// Media caches the inspection of an image's Data. If it is nil, each call of MediaInfo inspects the Data.
	Media *media.File
	URL   string // a link that is sent instead
	Name  string // name of a document
}

// Ref returns the record of the block; the zero Ref for the prompt that is not stored yet.
func (b *Block) Ref() change.Ref {
	if b.Source == nil {
		return change.Ref{}
	}
	return *b.Source
}

// IsThinking reports whether the block is thinking, redacted or not.
func (b *Block) IsThinking() bool { return b.Type == Thinking || b.Type == RedactedThinking }

// MediaInfo returns the inspection of an image's Data.
func (b *Block) MediaInfo() media.Info {
	if b.Media != nil {
		return b.Media.Info()
	}
	return media.Inspect(b.Data)
}

// InputText returns the block's Input as a text.
func (b *Block) InputText() string { return string(jsonedit.Minify(b.Input)) }

// OutputText returns the text in the block's Output.
func (b *Block) OutputText() string {
	if text, ok := jsonedit.Text(b.Output); ok {
		return text
	}
	return string(jsonedit.Minify(b.Output))
}

// Sizes in tokens are estimates: the tokenizers of most models are not public, and four bytes of text are about one
// token.
const (
	bytesPerToken = 4
	imageTokens   = 1600 // of the largest image that is not scaled down
)

// Tokens returns the estimated size of the request without the system prompt and the descriptions of tools.
func (r Request) Tokens() int {
	n := 0
	for b := range r.Blocks {
		n += b.Tokens()
	}
	return n
}

// Tokens returns the estimated size of the block.
func (b *Block) Tokens() int {
	n := (len(b.Text) + len(b.Input) + len(b.Output) + bytesPerToken - 1) / bytesPerToken
	switch b.Type {
	case Image:
		n += imageTokens
	case Document:
		n += len(b.Data) / bytesPerToken
	default:
	}
	for _, c := range b.Content {
		n += c.Tokens()
	}
	return n
}

// A Violation is a reason why a request fails: a violated rule of the provider, or a failure of the agent before it
// sends a request.
type Violation struct {
	Rule    string // the code of the rule or of the failure
	Message string // in the words of the provider, or of the agent
	// Refs are the violating records, the main one first; nil for a block of the next prompt, for example.
	Refs []change.Ref
	// N and M are the place messages.N.content.M. M is -1 for a whole turn; both are -1 for a failure of the agent.
	N, M int
	// Block is the violating block, which may be inside a result; nil for a whole turn.
	Block *Block
}

// Sources returns the records of the blocks, each once, without the zero Ref.
func Sources(blocks ...*Block) []change.Ref {
	var all []change.Ref
	seen := map[change.Ref]bool{{}: true}
	for _, b := range blocks {
		if ref := b.Ref(); !seen[ref] {
			seen[ref] = true
			all = append(all, ref)
		}
	}
	return all
}
