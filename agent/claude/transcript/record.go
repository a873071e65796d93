package transcript

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
)

// A Record is a record of a transcript. Missing fields are zero.
type Record struct {
	Raw  []byte // the JSON object
	UUID string
	Type string

	Parent      string
	parentValue jsonedit.Value
	Subtype     string
	Side        string // isSidechain as text; "" if it is missing
	AgentID     string
	Timestamp   string
	Time        int64 // Timestamp in milliseconds since 1970
	Timed       bool  // Timestamp is valid
	Version     string
	CWD         string
	Entrypoint  string // what started Claude Code: "cli" for its screen, "sdk-…" for print mode and for other programs

	Meta, Summary, APIError, Virtual bool

	// The fields of a last-prompt record: its leaf, whether the user chose that leaf, and whether the user went back to an
	// earlier prompt.
	leaf              string
	explicit, rewound bool

	value     jsonedit.Value // the record
	message   jsonedit.Value
	MessageID string
	Model     string
	content   jsonedit.Value

	blocks []*Block
	read   bool // blocks is set
}

// A Block is a block of a record's content.
type Block struct {
	request.Block
	Value jsonedit.Value
	// Kind is the stored type.
	Kind string
	// Unknown means that mend does not know the type.
	Unknown bool
	// NotText is the name of a field that must be a string but is not.
	NotText string
	Record  *Record
	Inner   []*Block // the elements of a result's content

	typed bool
}

// LacksData reports whether the block is a file that has neither data nor a link.
func (b *Block) LacksData() bool { return b.NotText == "source.data" }

// hasType reports whether the block is an object with a string as its type. Others are not sent.
func (b *Block) hasType() bool { return b.typed }

// The types of records in the chain.
const (
	User       = "user"
	Assistant  = "assistant"
	Attachment = "attachment"
	System     = "system"
	Progress   = "progress" // until 2.1.30 or so; skipped by later versions
)

// others are the types of records outside the chain that Claude Code [Version] knows, according to the strings in its
// binary. It skips unknown types.
var others = strings.Fields(`queue-operation api-request api-request-resumed api-request-shape api-request-blob
	frame-link observer-ref continued-in resume-head-vouch file-history-snapshot file-history-delta
	attribution-snapshot custom-title ai-title tag relocated agent-name agent-color agent-setting mode permission-mode
	session-owner isolation-latch dev-mods atis-latch worktree-state bridge-session tools-used data-flow-records
	data-flow-incomplete data-flow-handover derived-from summary pr-link history-suppression ended-by-model cost-state
	last-prompt content-replacement memory-mode artifact-comment-monitor artifact-autoreact-ledger fork-context-ref
	repl-mode hybrid-organization host-row`)

// UnknownType returns the type of the record if Claude Code does not know it, for example a type of a newer
// version; otherwise "".
func (r *Record) UnknownType() string {
	if r.Type == "" || r.InChain() || r.Type == Progress || slices.Contains(others, r.Type) {
		return ""
	}
	return r.Type
}

// InChain reports whether records of this type are joined by their parents.
func (r *Record) InChain() bool { return r.IsMessage() || r.Type == Attachment || r.Type == System }

// noID stands for the id of chain records that have none; Claude Code uses the last of them. No ref can name them, so
// they are not edited.
const noID = "\x00"

// IsMessage reports whether the record is part of a prompt or of an answer.
func (r *Record) IsMessage() bool { return r.Type == User || r.Type == Assistant }

// IsSidechain reports whether the record is a subagent's.
func (r *Record) IsSidechain() bool { return r.Side == "true" }

// IsBoundary reports whether the record begins a compaction.
func (r *Record) IsBoundary() bool { return r.Type == System && r.Subtype == "compact_boundary" }

// IsSynthetic reports whether Claude Code wrote the answer itself, for example to continue after a prompt without an
// answer.
func (r *Record) IsSynthetic() bool { return r.Type == Assistant && r.Model == synthetic }

// synthetic is the model of answers that Claude Code wrote. They are not sent.
const synthetic = "<synthetic>"

// IsPrompt reports whether the user typed the record.
func (r *Record) IsPrompt() bool {
	return r.Type == User && !r.Meta && !r.Summary && !r.hasBlock(request.ToolResult)
}

// newRecord returns the record of an object. If several members have the same name, the last one counts.
func newRecord(v jsonedit.Value) *Record {
	r := &Record{Raw: v.Raw(), value: v}
	for name, m := range v.Children() {
		r.set(string(name), m)
	}
	if r.UUID == "" && r.InChain() {
		r.UUID = noID
	}
	if r.Type == System {
		r.content = v.Get("content")
	}
	return r
}

func (r *Record) set(name string, v jsonedit.Value) {
	switch name {
	case "parentUuid":
		r.Parent, _ = v.Text()
		r.parentValue = v
	case "isSidechain":
		r.Side = string(v.Raw())
	case "agentId":
		r.AgentID, _ = v.Text()
	case "isMeta":
		r.Meta = isTrue(v)
	case "message":
		r.message = v
		r.MessageID, r.Model, r.content = v.TextAt("id"), v.TextAt("model"), v.Get("content")
	case "isVirtual":
		r.Virtual = isTrue(v)
	case "isApiErrorMessage":
		r.APIError = isTrue(v)
	case "isCompactSummary":
		r.Summary = isTrue(v)
	case "subtype":
		r.Subtype, _ = v.Text()
	case "type":
		r.Type, _ = v.Text()
	case "leafUuid":
		r.leaf, _ = v.Text()
	case "explicit":
		r.explicit = isTrue(v)
	case "rewound":
		r.rewound = isTrue(v)
	case "uuid":
		r.UUID, _ = v.Text()
	case "timestamp":
		r.Timestamp, _ = v.Text()
		t, err := time.Parse(time.RFC3339, r.Timestamp)
		r.Time, r.Timed = max(0, t.UnixMilli()), err == nil
	case "cwd":
		r.CWD, _ = v.Text()
	case "entrypoint":
		r.Entrypoint, _ = v.Text()
	case "version":
		r.Version, _ = v.Text()
	}
}

func isTrue(v jsonedit.Value) bool { return string(v.Raw()) == "true" }

// hasValidParent reports whether the parent is an id or null.
func (r *Record) hasValidParent() bool {
	return r.parentValue.Kind() == '"' || r.parentValue.Kind() == 'n'
}

// HasContent reports whether the content is a string or a list.
func (r *Record) HasContent() bool { return r.IsString() || r.content.Kind() == '[' }

// IsLoadable reports whether Claude Code loads the record as a prompt, an answer or context: its content is a string,
// an empty list, or a list with a block that has a type.
func (r *Record) IsLoadable() bool {
	if !r.IsMessage() {
		return r.Type == Attachment && r.value.Get("attachment").Kind() == '{'
	}
	blocks := r.Blocks()
	return r.HasContent() && (len(blocks) == 0 || r.IsString() || slices.ContainsFunc(blocks, (*Block).hasType))
}

// isSent reports whether the record is a prompt, an answer or the output of a command that Claude Code sends.
func (r *Record) isSent() bool {
	return r.isCommand() || r.IsMessage() && !r.Virtual && !r.IsSynthetic() && r.IsLoadable()
}

// isCommand reports whether the record is the output of a command of Claude Code.
func (r *Record) isCommand() bool {
	return r.Type == System && r.Subtype == "local_command" && r.IsString()
}

// reminder returns what Claude Code puts before the text of a record that it wrote itself, "" before any other: the
// report of a background task, the output of a hook, or a note such as the one after a stream that was cut.
func (r *Record) reminder() string {
	switch {
	case !r.IsString():
	case r.value.TextAt("origin", "kind") == "task-notification" && r.value.TextAt("origin", "subkind") == "":
		return notification
	case isTrue(r.value.Get("hookText")):
		return "<system-reminder>\n" + r.value.TextAt("hookTextLead") + "\n"
	case isTrue(r.value.Get("ownNote")):
		return "<system-reminder>\n"
	}
	return ""
}

// IsString reports whether the content is a string.
func (r *Record) IsString() bool { return r.content.Kind() == '"' }

// Content returns the text of the content.
func (r *Record) Content() []byte { return r.content.Raw() }

// noName is the name that Claude Code sends for a call whose name is not a string.
const noName = "tool_name_missing"

// Blocks returns the blocks of the content as they are sent. The caller must not change them, but may set a nil
// Source.
func (r *Record) Blocks() []*Block {
	if r.read {
		return r.blocks
	}
	r.read = true
	if text, ok := r.content.Text(); ok {
		r.blocks = []*Block{{Block: request.Block{Type: request.Text, Text: text}, Kind: "text", Value: r.content, Record: r}}
	}
	for v := range r.content.Elements() {
		b := newBlock(v)
		b.Index, b.Record = len(r.blocks), r
		if b.NotText == "name" && b.Type == request.ToolUse {
			b.ToolName = noName
		}
		r.blocks = append(r.blocks, b)
	}
	return r.blocks
}

func (r *Record) hasBlock(kind request.BlockType) bool {
	return slices.ContainsFunc(r.Blocks(), func(b *Block) bool { return b.Type == kind })
}

// toolIDs returns the ids in the record's calls, or in its results.
func (r *Record) toolIDs(kind request.BlockType) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, b := range r.Blocks() {
			if b.Type == kind && !yield(b.ToolID) {
				return
			}
		}
	}
}

func newBlock(v jsonedit.Value) *Block {
	b := &Block{Value: v}
	if b.Unknown = v.Kind() != '{'; b.Unknown {
		return b
	}
	member := func(name string) string {
		s, ok := v.Get(name).Text()
		if !ok {
			b.NotText = name
		}
		return s
	}
	b.Kind, b.typed = v.Get("type").Text()
	b.Type = request.BlockType(b.Kind)
	b.Unknown = BlockFields[b.Kind] == nil && !slices.Contains(otherBlockTypes, b.Kind)
	switch b.Type {
	case request.Text:
		b.Text = member("text")
	case request.Thinking:
		b.Text = member("thinking")
		if sign := v.Get("signature").Raw(); sign == nil || string(sign) == "null" {
			b.Unsigned = true
		} else {
			b.Signature = member("signature")
		}
	case request.Summary: // does not occur in a transcript
	case request.RedactedThinking:
		b.Signature = member("data")
	case request.ToolUse:
		b.ToolID, b.ToolName, b.Input = member("id"), member("name"), json.RawMessage(v.Get("input").Raw())
	case request.ToolResult:
		b.ToolID = member("tool_use_id")
		b.Error = string(v.Get("is_error").Raw()) == "true"
		b.readResult(v.Get("content"))
	case request.Image, request.Document:
		source := v.Get("source")
		b.Mime = source.TextAt("media_type")
		kind := source.TextAt("type")
		switch data, ok := source.Get("data").Bytes(); {
		case kind == "url" || kind == "file" || kind == "content":
			b.URL = source.TextAt("url")
		case !ok:
			b.NotText = "source.data"
		default:
			b.Data = data
		}
	}
	return b
}

func (b *Block) readResult(content jsonedit.Value) {
	switch content.Kind() {
	case '[':
	case 0, 'n', '"':
		b.Output = json.RawMessage(content.Raw())
	default: // sent as its text
		b.Output = jsonedit.Quote(string(content.Raw()))
	}
	for v := range content.Elements() {
		inner := newBlock(v)
		inner.Index = len(b.Content)
		b.Inner, b.Content = append(b.Inner, inner), append(b.Content, &inner.Block)
	}
}

// AttachedImages returns the images in the record of a file that the user mentioned in a prompt, or of a prompt that
// waited for the end of an answer. The index of such a prompt's image is its index in the prompt.
func (r *Record) AttachedImages() (images []*request.Block) {
	if r.Type != Attachment {
		return nil
	}
	attachment := r.value.Get("attachment")
	index := 0
	for v := range attachment.Get("prompt").Elements() {
		b := newBlock(v)
		b.Index = index
		if index++; b.Type == request.Image {
			images = append(images, &b.Block)
		}
	}
	content := attachment.Get("content")
	file := content.Get("file")
	if data, ok := file.Get("base64").Bytes(); ok && content.TextAt("type") == "image" {
		image := &request.Block{Type: request.Image}
		image.Mime, image.Data = file.TextAt("type"), data
		images = append(images, image)
	}
	return images
}

// Title returns the first line of the prompt's text.
func (r *Record) Title() string {
	for _, b := range r.Blocks() {
		if b.Type == request.Text {
			line, _, _ := bytes.Cut(bytes.TrimSpace([]byte(b.Text)), []byte("\n"))
			if len(line) > 0 {
				return string(line)
			}
		}
	}
	return ""
}

// Sendable returns how many blocks of the record Claude Code sends if the record is in the conversation and
// undamaged.
func (r *Record) Sendable() (n int) {
	if !r.IsMessage() || r.Virtual || r.IsSynthetic() {
		return 0
	}
	for _, b := range r.Blocks() {
		if b.Type != request.Text || len(bytes.TrimSpace([]byte(b.Text))) > 0 {
			n++
		}
	}
	return n
}

// preserved returns the ids of the records that a compaction preserves, and its anchor: the record after which they
// are linked. ok is false if it has no such list.
func (r *Record) preserved() (anchor string, ids []string, ok bool) {
	list := r.value.Get("compactMetadata").Get("preservedMessages")
	anchor, ok = list.Get("anchorUuid").Text()
	for v := range list.Get("uuids").Elements() {
		id, _ := v.Text()
		ids = append(ids, id)
	}
	return anchor, ids, ok && len(ids) > 0
}

// preservedSegment returns the anchor with the first and the last preserved record, as the first versions stored
// them.
func (r *Record) preservedSegment() (anchor, head, tail string, ok bool) {
	s := r.value.Get("compactMetadata").Get("preservedSegment")
	anchor, head = s.TextAt("anchorUuid"), s.TextAt("headUuid")
	tail, ok = s.Get("tailUuid").Text()
	return anchor, head, tail, ok
}

// HasMetadata reports whether the record of a compaction has any metadata.
func (r *Record) HasMetadata() bool {
	return r.value.Get("compactMetadata").Kind() == '{'
}

// namesPreserved reports whether the record names records that a compaction preserves.
func (r *Record) namesPreserved() bool {
	_, _, ok := r.preserved()
	_, _, _, segment := r.preservedSegment()
	return ok || segment
}

// Text returns the text in a member of the record, or "".
func (r *Record) Text(name string) string { return r.value.TextAt(name) }

// Role returns the role in the record's message, or "".
func (r *Record) Role() string { return r.message.TextAt("role") }

// role returns the role of the record's turn.
func (r *Record) role() string {
	if r.Type == Assistant {
		return change.RoleAssistant
	}
	return change.RoleUser
}
