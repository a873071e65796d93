package transcript

import (
	"time"

	"mend/internal/jsonedit"
)

// recordSetters set the fields of a record by the names of its members. [newRecord] reads no others.
var recordSetters = map[string]func(r *Record, v jsonedit.Value){
	"parentUuid":        (*Record).setParent,
	"isSidechain":       func(r *Record, v jsonedit.Value) { r.Side = string(v.Raw()) },
	"agentId":           func(r *Record, v jsonedit.Value) { r.AgentID, _ = v.Text() },
	"isMeta":            func(r *Record, v jsonedit.Value) { r.Meta = isTrue(v) },
	"message":           (*Record).setMessage,
	"isVirtual":         func(r *Record, v jsonedit.Value) { r.Virtual = isTrue(v) },
	"isApiErrorMessage": func(r *Record, v jsonedit.Value) { r.APIError = isTrue(v) },
	"isCompactSummary":  func(r *Record, v jsonedit.Value) { r.Summary = isTrue(v) },
	"subtype":           func(r *Record, v jsonedit.Value) { r.Subtype, _ = v.Text() },
	"type":              func(r *Record, v jsonedit.Value) { r.Type, _ = v.Text() },
	"leafUuid":          func(r *Record, v jsonedit.Value) { r.leaf, _ = v.Text() },
	"explicit":          func(r *Record, v jsonedit.Value) { r.explicit = isTrue(v) },
	"rewound":           func(r *Record, v jsonedit.Value) { r.rewound = isTrue(v) },
	"uuid":              func(r *Record, v jsonedit.Value) { r.UUID, _ = v.Text() },
	"timestamp":         (*Record).setTime,
	"cwd":               func(r *Record, v jsonedit.Value) { r.CWD, _ = v.Text() },
	"version":           func(r *Record, v jsonedit.Value) { r.Version, _ = v.Text() },
}

func (r *Record) setTime(v jsonedit.Value) {
	r.Timestamp, _ = v.Text()
	r.Time, r.Timed = 0, false
	if t, err := time.Parse(time.RFC3339, r.Timestamp); err == nil {
		r.Time, r.Timed = t.UnixMilli(), true
	}
}

// A BlockField is a member that the provider takes in a block.
type BlockField struct {
	Name string
	// First are the first bytes of the JSON values that it may be, "" for what is checked
	// elsewhere.
	First string
}

var (
	blockType    = BlockField{Name: "type"}
	cacheControl = BlockField{Name: "cache_control", First: `{n`}
)

// BlockFields are the members of blocks by their type. Blocks of other types are not checked.
var BlockFields = map[string][]BlockField{
	"text": {blockType, {Name: "text", First: `"`}, {Name: "citations", First: `[n`}, cacheControl},
	"thinking": {
		blockType,
		{Name: "thinking", First: `"`},
		{Name: "signature", First: `"n`},
	},
	"redacted_thinking": {blockType, {Name: "data", First: `"`}},
	"tool_use": {
		blockType,
		{Name: "id"},
		{Name: "name"},
		{Name: "input"},
		cacheControl,
		{Name: "caller", First: `{n`},
	},
	"tool_result": {
		{Name: "tool_use_id"},
		blockType,
		{Name: "content", First: `"[n`},
		{Name: "is_error", First: `tfn`},
		cacheControl,
	},
	"image": {blockType, {Name: "source", First: `{`}, cacheControl},
	"document": {
		blockType,
		{Name: "source", First: `{`},
		{Name: "title", First: `"n`},
		{Name: "context", First: `"n`},
		{Name: "citations", First: `{n`},
		cacheControl,
	},
}

// InnerTypes are the types of blocks that the provider takes in a result.
var InnerTypes = []string{"text", "image", "document", "search_result", "tool_reference"}

func isTrue(v jsonedit.Value) bool { return string(v.Raw()) == "true" }
