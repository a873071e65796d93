package rollout

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

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
func unknownKind(v jsonedit.Value) string {
	kind := text(v, "type")
	item := text(v, "payload", "type")
	_, known := itemKinds[item]
	switch {
	case kind != "" && !kinds[kind] && isObject(v.Get("payload")):
		return kind
	case kind == "response_item" && !known:
		return item
	}
	return ""
}

// A form reports whether the program can read a value in a place. The zero value is a member that is missing.
type form func(v jsonedit.Value) bool

func isText(v jsonedit.Value) bool   { return v.Kind() == '"' }
func isObject(v jsonedit.Value) bool { return v.Kind() == '{' }

func isNumber(v jsonedit.Value) bool {
	return v.Kind() == '0' && len(bytes.Trim(v.Raw(), "0123456789")) == 0
}

func isUUID(v jsonedit.Value) bool { return uuid.MatchString(text(v)) }

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// optional accepts a value that is missing, or null.
func optional(f form) form {
	return func(v jsonedit.Value) bool { return v.Kind() == 0 || v.Kind() == 'n' || f(v) }
}

// missing accepts a value that is missing, and no null.
func missing(f form) form {
	return func(v jsonedit.Value) bool { return v.Kind() == 0 || f(v) }
}

// isMetadata accepts all but the source of an item without its revision.
func isMetadata(v jsonedit.Value) bool {
	from := v.Get("retained_source")
	return !isObject(from) || isText(from.Get("revision"))
}

func oneOf(texts ...string) form {
	return func(v jsonedit.Value) bool { return isText(v) && slices.Contains(texts, text(v)) }
}

func either(f, g form) form { return func(v jsonedit.Value) bool { return f(v) || g(v) } }

// listOf accepts a list of values that a form accepts.
func listOf(f form) form {
	return func(v jsonedit.Value) bool {
		if v.Kind() != '[' {
			return false
		}
		for e := range v.Elements() {
			if !f(e) {
				return false
			}
		}
		return true
	}
}

// isPart reports whether the program can read a part of an item's content.
func isPart(v jsonedit.Value) bool {
	switch text(v, "type") {
	case "input_text", "output_text", "summary_text", "reasoning_text", "text":
		return isText(v.Get("text"))
	case "input_image":
		return isText(v.Get("image_url")) && optional(oneOf("auto", "low", "high", "original"))(v.Get("detail"))
	case "input_audio", "encrypted_content":
		return true
	}
	return false
}

// The forms of members: of each record, of each item, and of records and items by their types, as far as one was seen in another form. They
// were found with the real program, a value at a time.
var (
	anyRecord = map[string]form{"timestamp": isText, "ordinal": optional(isNumber), "metadata": isMetadata, "payload": isObject}
	anyItem   = map[string]form{
		"type": isText, "id": optional(isText), "status": optional(isText), "namespace": optional(isText), "encrypted_content": optional(isText),
		"internal_chat_message_metadata_passthrough": optional(isObject),
	}
	content   = listOf(isPart)
	itemForms = map[string]map[string]form{
		"message":                 {"role": isText, "content": content, "phase": optional(oneOf("commentary", "final_answer"))},
		"reasoning":               {"summary": content, "content": optional(content)},
		"function_call":           {"name": isText, "arguments": isText, "call_id": isText},
		"function_call_output":    {"call_id": isText, "output": either(isText, content)},
		"custom_tool_call":        {"name": isText, "input": isText, "call_id": isText},
		"custom_tool_call_output": {"call_id": isText, "output": either(isText, content)},
		"local_shell_call":        {"call_id": optional(isText), "status": oneOf("completed", "in_progress", "incomplete"), "action": isObject},
		"web_search_call":         {"action": optional(isObject)},
		"compaction":              {"encrypted_content": isText},
	}
	recordForms = map[string]map[string]form{
		"session_meta": {
			"id": isUUID, "session_id": missing(isUUID), "timestamp": isText, "cwd": isText, "originator": isText, "cli_version": isText,
			"source": missing(either(isText, isObject)), "history_mode": missing(oneOf("legacy", "paginated")), "git": optional(isObject),
		},
		"compacted": {"message": isText, "replacement_history": optional(listOf(isItem))},
	}
)

// isItem reports whether the program can read an item. One of an unknown type is read, and dropped.
func isItem(v jsonedit.Value) bool { return len(wrongIn(v, anyItem, itemForms[text(v, "type")])) == 0 }

// wrongMembers returns the members of a record for which the program skips it.
func wrongMembers(v jsonedit.Value) (wrong [][]string) {
	for _, name := range wrongIn(v, anyRecord) {
		wrong = append(wrong, []string{name})
	}
	payload := v.Get("payload")
	in := []map[string]form{recordForms[text(v, "type")]}
	if text(v, "type") == "response_item" {
		in = []map[string]form{anyItem, itemForms[text(payload, "type")]}
	}
	for _, name := range wrongIn(payload, in...) {
		wrong = append(wrong, []string{"payload", name})
	}
	return wrong
}

func wrongIn(v jsonedit.Value, all ...map[string]form) (wrong []string) {
	for _, of := range all {
		for name, accepts := range of {
			if !accepts(v.Get(name)) {
				wrong = append(wrong, name)
			}
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// withoutWrong returns a record without the members for which the program skips it, nil if it needs one of them. Its time and its ordinal
// follow those of the record before.
func withoutWrong(v, before jsonedit.Value) []byte {
	raw := bytes.Clone(v.Raw())
	wrong := wrongMembers(v)
	if len(wrong) == 0 || !isMissed(text(v, "type")) {
		return nil
	}
	for _, path := range wrong {
		name := path[len(path)-1]
		var err error
		switch {
		case len(path) == 1 && name == "timestamp":
			raw, err = jsonedit.Set(raw, jsonedit.Quote(text(before, name)), path...)
		case len(path) == 1 && name == "ordinal":
			n, _ := before.Get(name).Int()
			raw, err = jsonedit.Set(raw, fmt.Append(nil, n+1), path...)
		case name == "summary":
			raw, err = jsonedit.Set(raw, []byte("[]"), path...)
		default:
			raw, err = jsonedit.Remove(raw, path...)
		}
		if err != nil {
			return nil
		}
	}
	if l := newLine(0, raw); l.kind == "" {
		return nil
	}
	return raw
}
