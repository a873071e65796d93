package rollout

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mend/internal/jsonedit"
)

// kinds are the types of records that Codex knows; it skips all others.
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
func isKnown(kind string) bool { return kind != "" && forms()[[2]string{"response_item", kind}] != nil }

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

// forms are the schemas of records, of payloads and of nested values. A key is a name and a type: for a payload, the
// type of its record and its own type; "" as the type stands for all values with the name. The text for a member
// lists its allowed kinds as [jsonedit.Value.Kind] returns them, with - for a missing member and n for null. After a
// space it has the name of the form of the object, or of the objects in a list, or a regular expression for texts and
// numbers.
//
// Source: docs/codex.md, "Records".
var forms = sync.OnceValue(func() map[[2]string][]form {
	const id = `~(?i)^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$`
	const path = `" ~^/root(/[a-z0-9_]+)*$`
	textForm, encryptedForm := map[string]string{"text": `"`}, map[string]string{"encrypted_content": `"`}
	imageForm := map[string]string{"image_url": `"`, "detail": `"-n ~^(auto|low|high|original)$`}
	all := map[[2]string][]form{}
	for name, members := range map[string]map[string]string{
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
		for member, text := range members {
			kinds, more, _ := strings.Cut(text, " ")
			f := form{name: member, kinds: kinds, elem: more}
			if expr, ok := strings.CutPrefix(more, "~"); ok {
				f.elem, f.text = "", regexp.MustCompile(expr)
			}
			key := [2]string{name, kind}
			all[key] = append(all[key], f)
		}
	}
	return all
})

// A form is the schema of a member.
type form struct {
	name  string
	kinds string
	elem  string         // the name of the form of nested values; "text" for a list of texts
	text  *regexp.Regexp // the pattern of a text or a number; nil for any
}

// accepts reports whether Codex reads the value of a member.
func (f *form) accepts(v jsonedit.Value) bool {
	kind := cmp.Or(byte(v.Kind()), '-')
	switch {
	case strings.IndexByte(f.kinds, kind) < 0:
		return false
	case kind == '0' && f.text != nil:
		return f.text.Match(v.Raw())
	case kind == '"' && f.text != nil:
		text, _ := v.Text()
		return f.text.MatchString(text)
	case kind == '{' && f.elem != "":
		return matchesSchema(f.elem, v)
	case kind == '[' && f.elem != "":
		for e := range v.Elements() {
			if f.elem == "text" && e.Kind() != '"' || f.elem != "text" && (e.Kind() != '{' || !matchesSchema(f.elem, e)) {
				return false
			}
		}
	}
	return true
}

// matchesSchema reports whether Codex accepts an object with the schema of that name.
func matchesSchema(name string, v jsonedit.Value) bool {
	kind, _ := v.Get("type").Bytes()
	isWrong := func(f form) bool { return !f.accepts(v.Get(f.name)) }
	return !slices.ContainsFunc(forms()[[2]string{name}], isWrong) &&
		(len(kind) == 0 || !slices.ContainsFunc(forms()[[2]string{name, string(kind)}], isWrong))
}
