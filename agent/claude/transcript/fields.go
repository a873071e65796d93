package transcript

import (
	"time"

	"mend/internal/jsonedit"
)

// set sets the field for a member of a record. If several members have the same name, the last one counts. before is
// the record of an earlier line; most records share strings with it.
func (r *Record) set(name []byte, v jsonedit.Value, before *Record) {
	switch string(name) {
	case "parentUuid":
		r.setParent(v, before)
	case "isSidechain":
		r.Side = text(v.Raw(), before.Side)
	case "agentId":
		r.AgentID, _ = textOf(v, before.AgentID)
	case "isMeta":
		r.Meta = isTrue(v)
	case "message":
		r.setMessage(v, before)
	case "isVirtual":
		r.Virtual = isTrue(v)
	case "isApiErrorMessage":
		r.APIError = isTrue(v)
	case "isCompactSummary":
		r.Summary = isTrue(v)
	case "subtype":
		r.Subtype, _ = v.Text()
	case "type":
		r.Type, _ = textOf(v, before.Type)
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
		r.CWD, _ = textOf(v, before.CWD)
	case "entrypoint":
		r.Entrypoint, _ = textOf(v, before.Entrypoint)
	case "version":
		r.Version, _ = textOf(v, before.Version)
	}
}

// textOf is [jsonedit.Value.Text], without a copy if the text is one of the known texts.
func textOf(v jsonedit.Value, known ...string) (string, bool) {
	b, ok := v.Bytes()
	return text(b, known...), ok
}

func text(b []byte, known ...string) string {
	for _, s := range known {
		if string(b) == s {
			return s
		}
	}
	return string(b)
}

func (r *Record) setTime(v jsonedit.Value) {
	r.Timestamp, _ = v.Text()
	r.Time, r.Timed = 0, false
	if t, err := time.Parse(time.RFC3339, r.Timestamp); err == nil {
		r.Time, r.Timed = t.UnixMilli(), true
	}
}

// BlockFields has, by block type, the members that the provider accepts in a block, with the possible first bytes of
// their JSON values; "" if their values are checked elsewhere. Blocks of other types are not checked.
var BlockFields = map[string]map[string]string{
	"text":              {"type": "", "text": `"`, "citations": `[n`, "cache_control": `{n`},
	"thinking":          {"type": "", "thinking": `"`, "signature": `"n`},
	"redacted_thinking": {"type": "", "data": `"`},
	"tool_use":          {"type": "", "id": "", "name": "", "input": "", "cache_control": `{n`, "caller": `{n`},
	"tool_result":       {"type": "", "tool_use_id": "", "content": `"[n`, "is_error": `tfn`, "cache_control": `{n`},
	"image":             {"type": "", "source": `{`, "cache_control": `{n`},
	"document": {
		"type": "", "source": `{`, "title": `"n`, "context": `"n`, "citations": `{n`,
		"cache_control": `{n`,
	},
}

// otherBlockTypes are the types of blocks that the provider accepts in addition to [BlockFields].
var otherBlockTypes = []string{
	"server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
	"bash_code_execution_tool_result",
	"text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result", "container_upload", "search_result",
	"tool_reference",
	"tool_search_tool_result", "advisor_tool_result", "fallback", "compaction",
}

// InnerTypes are the types of blocks that the provider accepts in a result.
var InnerTypes = []string{"text", "image", "document", "search_result", "tool_reference"}

func isTrue(v jsonedit.Value) bool { return string(v.Raw()) == "true" }
