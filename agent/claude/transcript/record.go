package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"mend/jsonedit"
	"mend/request"
	"mend/session"
)

// A ParentKind says what a record has for its parent.
type ParentKind uint8

// The kinds of parents.
const (
	ParentMissing ParentKind = iota
	ParentNull
	ParentID
	ParentOther // of a wrong type
)

// A Record is a record of a transcript. Fields that it does not have are zero.
type Record struct {
	Raw  []byte // the JSON object
	UUID string
	Type string

	Parent     string
	ParentKind ParentKind
	Subtype    string
	Side       string // the text of isSidechain; "" if it is missing
	AgentID    string
	Timestamp  string
	Time       int64 // of Timestamp, in milliseconds since 1970
	Timed      bool  // Timestamp is a date
	SessionID  string
	Version    string
	CWD        string

	Meta, Summary, APIError, Virtual bool

	message   []byte // nil if it is no object
	MessageID string
	Model     string
	content   []byte

	blocks []*Block
	read   bool // blocks are those of content
}

// A Block is a block of a record's content.
type Block struct {
	request.Block
	Raw []byte
	// Kind is the type as it is stored.
	Kind string
	// NotText says that a field which must be a string is none.
	NotText string
	Record  *Record
}

// The types of records in the chain.
const (
	User       = "user"
	Assistant  = "assistant"
	Attachment = "attachment"
	System     = "system"
	Progress   = "progress" // until 2.1.30 or so; skipped by later versions
)

// InChain reports whether records of that type are joined by their parents.
func (r *Record) InChain() bool {
	return r.UUID != "" && (r.IsMessage() || r.Type == Attachment || r.Type == System)
}

// IsMessage reports whether the record is part of a prompt or of an answer.
func (r *Record) IsMessage() bool { return r.Type == User || r.Type == Assistant }

// IsSidechain reports whether the record is a subagent's.
func (r *Record) IsSidechain() bool { return r.Side == "true" }

// IsBoundary reports whether the record is the beginning of a compaction.
func (r *Record) IsBoundary() bool { return r.Type == System && r.Subtype == "compact_boundary" }

// IsSynthetic reports whether the program wrote the answer itself, such as when another process
// goes on behind a prompt without an answer.
func (r *Record) IsSynthetic() bool { return r.Type == Assistant && r.Model == synthetic }

// synthetic is the model of answers that no model gave. They are not sent.
const synthetic = "<synthetic>"

// IsPrompt reports whether the user typed the record.
func (r *Record) IsPrompt() bool {
	return r.Type == User && !r.Meta && !r.Summary && !r.has(request.ToolResult)
}

func newRecord(raw []byte) *Record {
	r := &Record{Raw: raw}
	v := jsonedit.Parse(raw)
	text := func(name string) string {
		s, _ := v.Get(name).Text()
		return s
	}
	r.UUID, r.Type, r.Subtype, r.AgentID = text("uuid"), text("type"), text("subtype"), text("agentId")
	r.SessionID, r.Version, r.CWD, r.Timestamp = text("sessionId"), text("version"), text("cwd"), text("timestamp")
	r.Side = string(v.Get("isSidechain").Raw())
	r.Meta = string(v.Get("isMeta").Raw()) == "true"
	r.Summary = string(v.Get("isCompactSummary").Raw()) == "true"
	r.APIError = string(v.Get("isApiErrorMessage").Raw()) == "true"
	r.Virtual = string(v.Get("isVirtual").Raw()) == "true"
	switch p := v.Get("parentUuid").Raw(); {
	case p == nil:
	case string(p) == "null":
		r.ParentKind = ParentNull
	default:
		var ok bool
		if r.Parent, ok = jsonedit.Text(p); ok {
			r.ParentKind = ParentID
		} else {
			r.ParentKind = ParentOther
		}
	}
	if t, err := time.Parse(time.RFC3339, r.Timestamp); err == nil {
		r.Time, r.Timed = t.UnixMilli(), true
	}
	if m := v.Get("message").Raw(); len(m) > 0 && m[0] == '{' {
		r.message = m
		mv := jsonedit.Parse(m)
		r.MessageID, _ = mv.Get("id").Text()
		r.Model, _ = mv.Get("model").Text()
		r.content = mv.Get("content").Raw()
	}
	return r
}

// HasContent reports whether the content is a string or a list.
func (r *Record) HasContent() bool {
	return len(r.content) > 0 && (r.content[0] == '"' || r.content[0] == '[')
}

// IsString reports whether the content is a string.
func (r *Record) IsString() bool { return len(r.content) > 0 && r.content[0] == '"' }

// Content returns the text of the content.
func (r *Record) Content() []byte { return r.content }

// Blocks returns the blocks of the content. They must not be changed.
func (r *Record) Blocks() []*Block {
	if r.read {
		return r.blocks
	}
	r.read = true
	switch {
	case r.IsString():
		text, _ := jsonedit.Text(r.content)
		r.blocks = []*Block{{Block: request.Block{Type: request.Text, Text: text}, Kind: "text", Raw: r.content, Record: r}}
	case r.HasContent():
		jsonedit.EachElement(r.content, func(raw []byte) bool {
			b := newBlock(raw)
			b.Index, b.Record = len(r.blocks), r
			r.blocks = append(r.blocks, b)
			return true
		})
	}
	return r.blocks
}

func (r *Record) has(kind request.BlockType) bool {
	return slices.ContainsFunc(r.Blocks(), func(b *Block) bool { return b.Type == kind })
}

func newBlock(raw []byte) *Block {
	b := &Block{Raw: raw}
	if len(raw) == 0 || raw[0] != '{' {
		return b
	}
	v := jsonedit.Parse(raw)
	text := func(name string) string {
		s, ok := v.Get(name).Text()
		if !ok {
			b.NotText = name
		}
		return s
	}
	b.Kind, _ = v.Get("type").Text()
	b.Type = request.BlockType(b.Kind)
	switch b.Type {
	case request.Text:
		b.Text = text("text")
	case request.Thinking:
		b.Text = text("thinking")
		if sign := v.Get("signature").Raw(); sign == nil || string(sign) == "null" {
			b.Unsigned = true
		} else {
			b.Signature = text("signature")
		}
	case request.RedactedThinking:
		b.Signature = text("data")
	case request.ToolUse:
		b.ToolID, b.ToolName, b.Input = text("id"), text("name"), json.RawMessage(v.Get("input").Raw())
	case request.ToolResult:
		b.ToolID = text("tool_use_id")
		b.Error = string(v.Get("is_error").Raw()) == "true"
		b.readResult(v.Get("content").Raw())
	case request.Image, request.Document:
		source := v.Get("source")
		b.Mime, _ = source.Get("media_type").Text()
		kind, _ := source.Get("type").Text()
		switch data, ok := source.Get("data").Text(); {
		case kind == "url" || kind == "file" || kind == "content":
			b.URL, _ = source.Get("url").Text()
		case !ok:
			b.NotText = "source.data"
		default:
			b.Data = []byte(data)
		}
	}
	return b
}

// readResult reads the content of a result.
func (b *Block) readResult(content []byte) {
	if len(content) == 0 || content[0] != '[' {
		b.Output = content
		return
	}
	jsonedit.EachElement(content, func(raw []byte) bool {
		in := newBlock(raw)
		in.Index = len(b.Content)
		b.Content = append(b.Content, &in.Block)
		return true
	})
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

// Sendable returns how many blocks of the record the program sends if the record is in the
// conversation and nothing in it is damaged.
func (r *Record) Sendable() (n int) {
	if !r.IsMessage() || r.APIError || r.Virtual || r.IsSynthetic() {
		return 0
	}
	for _, b := range r.Blocks() {
		if b.Type != request.Text || len(bytes.TrimSpace([]byte(b.Text))) > 0 {
			n++
		}
	}
	return n
}

// checkpoint returns the leaf that a last-prompt record names, whether the user has chosen
// it, and whether that was to go back in the conversation.
func (r *Record) checkpoint() (leaf string, explicit, rewound bool) {
	v := jsonedit.Parse(r.Raw)
	leaf, _ = v.Get("leafUuid").Text()
	rewound = string(v.Get("rewound").Raw()) == "true"
	return leaf, rewound || string(v.Get("explicit").Raw()) == "true", rewound
}

// preserved returns the record behind which a compaction hangs the records that it
// preserves, and their ids. ok is false if it names none.
func (r *Record) preserved() (anchor string, ids []string, ok bool) {
	list := jsonedit.Parse(r.Raw).Get("compactMetadata").Get("preservedMessages")
	anchor, ok = list.Get("anchorUuid").Text()
	jsonedit.EachElement(list.Get("uuids").Raw(), func(raw []byte) bool {
		ids = append(ids, jsonedit.Unquote(raw))
		return true
	})
	return anchor, ids, ok && len(ids) > 0
}

// LogicalParent returns the leaf before a compaction.
func (r *Record) LogicalParent() string {
	id, _ := jsonedit.Parse(r.Raw).Get("logicalParentUuid").Text()
	return id
}

// role returns the role of the record's turn.
func (r *Record) role() string {
	if r.Type == Assistant {
		return session.RoleAssistant
	}
	return session.RoleUser
}
