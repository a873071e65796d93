package rollout

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mend/internal/jsonedit"
)

// kinds has the types of records that Codex knows. It skips all others.
var kinds = map[string]bool{
	"session_meta": true, "response_item": true, "compacted": true, "event_msg": true, "turn_context": true,
	"world_state": true, "token_usage_record": true,
	"security_risk_score": true, "inter_agent_communication": true, "inter_agent_communication_metadata": true,
	"dynamic_tools_updated": true, "realtime_item": true,
	"id_allocation": true,
}

// unsentTypes are the types of items that Codex knows, but does not send.
var unsentTypes = []string{"configuration_update", "compaction_trigger", "ghost_snapshot", "other"}

// isKnown reports whether Codex sends items of a type.
func isKnown(kind string) bool {
	return kind != "" && schemas()[[2]string{"response_item", kind}] != nil
}

// unknownKind returns the type of a record or of its item if Codex does not know it, for example a type of
// a newer version; otherwise "".
func (l *line) unknownKind() string {
	kind := l.value.TextAt("type")
	switch {
	case kind != "" && !kinds[kind] && l.payload.Kind() == '{':
		return kind
	case kind == "response_item" && !isKnown(l.subtype) && !slices.Contains(unsentTypes, l.subtype):
		return l.subtype
	}
	return ""
}

// schemas has the schemas of records, of payloads and of nested values. A key is a name and a type: for a payload, the
// type of its record and its own type; the type "" stands for all values with that name. The text for a member lists
// its allowed kinds as [jsonedit.Value.Kind] returns them, with - for a missing member and n for null. After a space it
// has the name of the schema of the object, or of the objects in a list, or ~ and a regular expression for texts and
// numbers.
//
// Source: docs/codex.md, "Records".
var schemas = sync.OnceValue(func() map[[2]string][]member {
	const id = `~(?i)^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$`
	const path = `" ~^/root(/[a-z0-9_]+)*$`
	textForm, encryptedForm := map[string]string{"text": `"`}, map[string]string{"encrypted_content": `"`}
	imageForm := map[string]string{"image_url": `"`, "detail": `"-n ~^(auto|low|high|original)$`}
	all := map[[2]string][]member{}
	for name, fields := range map[string]map[string]string{
		"record": {"timestamp": `"`, "ordinal": `0-n ~^\d+$`, "metadata": `{-n`, "payload": `{`},

		"session_meta": {
			"id": `"`, "session_id": `"- ` + id, "forked_from_id": `"-n ` + id, "parent_thread_id": `"-n ` + id,
			"timestamp": `"`, "cwd": `"`,
			"originator": `"`, "cli_version": `"`, "source": `"{- source`, "thread_source": `"-n`,
			"history_mode": `"- ~^(legacy|paginated)$`, "git": `{-n git`,
			"model_provider": `"-n`, "base_instructions": `{-n texts`, "account_scoped": `tf-`, "context_window": `{-n window`,
			"runtime_workspace_roots": `[-n text`, "agent_nickname": `"-n`, "agent_role": `"-n`, "agent_path": `"-n`,
			"agent_type":    `"-n`,
			"dynamic_tools": `[-n any`, "memory_mode": `"-n`,
		},
		"source": {"subagent": `"{-`, "custom": `"-`},
		"git":    {"branch": `"-n`, "commit_hash": `"-n`, "repository_url": `"-n`},
		"texts":  textForm,
		"window": {"window_id": `"`},
		"compacted": {
			"message": `"`, "replacement_history": `[-n response_item`, "replacement_history_metadata": `[-n any`,
			"window_number": `0-n ~^\d+$`, "first_window_id": `"-n`,
			"previous_window_id": `"-n`,
		},
		"inter_agent_communication": {
			"author": path, "recipient": path, "content": `"`, "trigger_turn": `tf`,
			"other_recipients": `[- text`,
		},

		"event_msg thread_rolled_back": {"num_turns": `0 ~^\d+$`},

		"response_item": {
			"type": `"`, "id": `"-n`, "encrypted_content": `"-n`,
			"internal_chat_message_metadata_passthrough": `{-n turn`,
		},
		"turn": {"turn_id": `"-n`, "create_time": `0-n`},
		"response_item message": {
			"role": `"`, "content": `[ part`,
			"phase": `"-n ~^(commentary|final_answer)$`, "status": `"-n`,
		},
		"response_item agent_message": {"author": `"`, "recipient": `"`, "content": `[ output`},
		"response_item reasoning":     {"summary": `[ summary`, "content": `[-n thought`},
		"response_item function_call": {
			"name": `"`, "namespace": `"-n`, "arguments": `"`, "call_id": `"`,
			"status": `"-n`,
		},
		"response_item function_call_output":    {"call_id": `"`, "name": `"-n`, "output": `"[ output`},
		"response_item custom_tool_call":        {"name": `"`, "input": `"`, "call_id": `"`, "status": `"-n`},
		"response_item custom_tool_call_output": {"call_id": `"`, "name": `"-n`, "output": `"[ output`},
		"response_item local_shell_call": {
			"call_id": `"-n`, "status": `" ~^(completed|in_progress|incomplete)$`,
			"action": `{ shell`,
		},
		"shell": {
			"type": `" ~^exec$`, "command": `[ text`, "timeout_ms": `0-n ~^\d+$`,
			"working_directory": `"-n`, "env": `{-n`, "user": `"-n`,
		},
		"response_item web_search_call": {"status": `"-n`, "action": `{-n search`},
		"search": {
			"type": `"`, "query": `"-n`, "queries": `[-n text`, "url": `"-n`,
			"pattern": `"-n`,
		},
		"response_item image_generation_call": {"status": `"`, "result": `"`, "revised_prompt": `"-n`},
		"response_item tool_search_call": {
			"status": `"-n`, "call_id": `"-n`, "execution": `"`,
			"arguments": `{["0tfn`,
		},
		"response_item tool_search_output": {"call_id": `"-n`, "status": `"`, "execution": `"`, "tools": `[`},
		"response_item additional_tools":   {"role": `"`, "tools": `[`},
		"response_item compaction":         encryptedForm,
		"response_item compaction_summary": encryptedForm,
		"response_item context_compaction": {"encrypted_content": `"-n`},

		"part":                     {"type": `" ~^(input_text|output_text|input_image)$`},
		"part input_text":          textForm,
		"part output_text":         {"text": `"`, "annotations": `[-n`, "logprobs": `[-n`},
		"part input_image":         imageForm,
		"output":                   {"type": `" ~^(input_text|input_image|encrypted_content)$`},
		"output input_text":        textForm,
		"output input_image":       imageForm,
		"output encrypted_content": encryptedForm,
		"summary":                  {"type": `" ~^summary_text$`, "text": `"`},
		"thought":                  {"type": `" ~^(reasoning_text|text)$`, "text": `"`},
	} {
		name, kind, _ := strings.Cut(name, " ")
		for field, text := range fields {
			kinds, more, _ := strings.Cut(text, " ")
			m := member{name: field, kinds: kinds, elem: more}
			if expr, ok := strings.CutPrefix(more, "~"); ok {
				m.elem, m.text = "", regexp.MustCompile(expr)
			}
			key := [2]string{name, kind}
			all[key] = append(all[key], m)
		}
	}
	return all
})

// A member is the schema of a member of an object.
type member struct {
	name  string
	kinds string
	elem  string         // the name of the schema of nested values; "text" for a list of texts
	text  *regexp.Regexp // the pattern of a text or a number; nil for any
}

// accepts reports whether Codex reads the value of a member.
func (m *member) accepts(v jsonedit.Value) bool {
	kind := cmp.Or(byte(v.Kind()), '-')
	switch {
	case strings.IndexByte(m.kinds, kind) < 0:
		return false
	case kind == '0' && m.text != nil:
		return m.text.Match(v.Raw())
	case kind == '"' && m.text != nil:
		text, _ := v.Text()
		return m.text.MatchString(text)
	case kind == '{' && m.elem != "":
		return matchesSchema(m.elem, v)
	case kind == '[' && m.elem != "":
		for e := range v.Elements() {
			if m.elem == "text" && e.Kind() != '"' || m.elem != "text" && (e.Kind() != '{' || !matchesSchema(m.elem, e)) {
				return false
			}
		}
	}
	return true
}

// matchesSchema reports whether Codex accepts an object with the schema of that name.
func matchesSchema(name string, v jsonedit.Value) bool {
	kind, _ := v.Get("type").Bytes()
	isWrong := func(m member) bool { return !m.accepts(v.Get(m.name)) }
	return !slices.ContainsFunc(schemas()[[2]string{name}], isWrong) &&
		(len(kind) == 0 || !slices.ContainsFunc(schemas()[[2]string{name, string(kind)}], isWrong))
}
