package rollout

import (
	"cmp"
	"strings"

	"mend/internal/jsonedit"
)

// kinds are the types of records that the program knows: it skips all others.
var kinds = map[string]bool{
	"session_meta": true, "response_item": true, "compacted": true, "event_msg": true, "turn_context": true, "world_state": true, "token_usage_record": true,
	"security_risk_score": true, "inter_agent_communication": true, "inter_agent_communication_metadata": true, "dynamic_tools_updated": true, "realtime_item": true,
	"id_allocation": true,
}

// itemKinds are the types of items that the program knows, and whether it sends one. It leaves out all others.
var itemKinds = map[string]bool{
	"message": true, "agent_message": true, "reasoning": true, "function_call": true, "function_call_output": true, "custom_tool_call": true,
	"custom_tool_call_output": true, "local_shell_call": true, "web_search_call": true, "tool_search_call": true, "tool_search_output": true,
	"image_generation_call": true, "compaction": true, "context_compaction": true,
	"additional_tools": true, "configuration_update": false, "compaction_trigger": false, "ghost_snapshot": false, "other": false,
}

// unknownKind returns the type of a record or of its item if the program does not know it, as one of a newer version; else "".
func (l *line) unknownKind() string {
	kind := l.value.TextAt("type")
	_, known := itemKinds[l.of]
	switch {
	case kind != "" && !kinds[kind] && l.payload.Kind() == '{':
		return kind
	case kind == "response_item" && !known:
		return l.of
	}
	return ""
}

// members are the kinds of values that the program accepts in a member of any record, and of the payloads of records and items by their
// types: those of [jsonedit.Value.Kind], with n for null and - for a member that is missing. It skips a record with another one.
var members = map[string]map[string]string{
	"record":        {"timestamp": `"`, "ordinal": `0-n`, "payload": `{`},
	"response_item": {"type": `"`, "id": `"-n`, "status": `"-n`, "namespace": `"-n`, "encrypted_content": `"-n`, "internal_chat_message_metadata_passthrough": `{-n`},

	"session_meta": {
		"id": `"`, "session_id": `"-`, "timestamp": `"`, "cwd": `"`, "originator": `"`, "cli_version": `"`, "source": `"{-`, "history_mode": `"-`, "git": `{-n`,
	},
	"compacted":               {"message": `"`, "replacement_history": `[-n`},
	"message":                 {"role": `"`, "content": `[`, "phase": `"-n`},
	"reasoning":               {"summary": `[`, "content": `[-n`},
	"function_call":           {"name": `"`, "arguments": `"`, "call_id": `"`},
	"function_call_output":    {"call_id": `"`, "output": `"[`},
	"custom_tool_call":        {"name": `"`, "input": `"`, "call_id": `"`},
	"custom_tool_call_output": {"call_id": `"`, "output": `"[`},
	"local_shell_call":        {"call_id": `"-n`, "status": `"`, "action": `{`},
	"web_search_call":         {"action": `{-n`},
	"compaction":              {"encrypted_content": `"`},
}

// isRead reports whether the program reads a record, by the kinds of its values.
func isRead(v jsonedit.Value) bool {
	payload, kind := v.Get("payload"), v.TextAt("type")
	return accepts("record", v) && accepts(kind, payload) && (kind != "response_item" || accepts(payload.TextAt("type"), payload))
}

func accepts(of string, v jsonedit.Value) bool {
	for name, kinds := range members[of] {
		if !acceptsIn(kinds, v.Get(name)) {
			return false
		}
	}
	return true
}

func acceptsIn(kinds string, v jsonedit.Value) bool {
	return strings.IndexByte(kinds, cmp.Or(byte(v.Kind()), '-')) >= 0
}
