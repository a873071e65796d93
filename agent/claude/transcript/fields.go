package transcript

import (
	"time"

	"mend/internal/jsonedit"
)

// set sets the field of a member of a record. Of members with equal names the last counts.
func (r *Record) set(name []byte, v jsonedit.Value) {
	switch string(name) {
	case "parentUuid":
		r.setParent(v)
	case "isSidechain":
		r.Side = string(v.Raw())
	case "agentId":
		r.AgentID, _ = v.Text()
	case "isMeta":
		r.Meta = isTrue(v)
	case "message":
		r.setMessage(v)
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
		r.setTime(v)
	case "cwd":
		r.CWD, _ = v.Text()
	case "version":
		r.Version, _ = v.Text()
	}
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
