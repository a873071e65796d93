package transcript

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
