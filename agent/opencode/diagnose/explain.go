package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"mend/agent/opencode/render"
	"mend/provider"
	"mend/provider/anthropic"
	"mend/provider/bedrock"
	"mend/provider/chat"
	"mend/provider/gemini"
	"mend/provider/openai"
	"mend/repair"
)

// Explanations explains all rules: those of [Rules], and those of the providers, by the
// row of each, and by the words of the provider's errors. A rule without a row in
// explanations is explained by its class.
func Explanations() []repair.Explanation {
	var all []repair.Explanation
	index := map[string]int{}
	add := func(e repair.Explanation) {
		if i, ok := index[e.Code]; ok {
			all[i] = merge(all[i], e)
			return
		}
		index[e.Code] = len(all)
		all = append(all, e)
	}
	for _, texts := range allErrorTexts() {
		for _, p := range providers() {
			if p.Name() == texts.API {
				for _, r := range p.Rules() {
					add(repair.Explanation{Code: r.Code, Provider: p.Name(), Meaning: sentence(r.Text)})
				}
			}
		}
		for _, r := range texts.Rules {
			add(repair.Explanation{Code: r.Code, Provider: texts.API, Class: classOfWords(r.Words), Words: strings.Join(r.Words, " … ")})
		}
	}
	for _, r := range Rules {
		add(repair.Explanation{Code: r.Code, Class: r.Class})
	}
	for i, e := range all {
		e = merge(explanations[e.Code], e)
		class := ExplainClass(e.Class)
		e.Meaning = cmp.Or(e.Meaning, class.Meaning, "The provider rejects requests with this error.")
		class.Fix = cmp.Or(class.Fix, "mend knows no fix in the store. Continue in a new session, or fork this one before the message that the error names.")
		if e.Fix == "" {
			e.Fix, e.Loses = class.Fix, cmp.Or(e.Loses, class.Loses)
		}
		all[i] = e
	}
	slices.SortStableFunc(all, func(a, b repair.Explanation) int {
		switch {
		case a.Provider == b.Provider && a.Provider == "":
			return 0 // words keep the order of the rules, behind those of the providers
		case a.Provider == "":
			return 1
		case b.Provider == "":
			return -1
		}
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), compareCodes(a.Code, b.Code))
	})
	return all
}

// merge fills the empty fields of a from b.
func merge(a, b repair.Explanation) repair.Explanation {
	a.Code, a.Provider, a.Class = cmp.Or(a.Code, b.Code), cmp.Or(a.Provider, b.Provider), cmp.Or(a.Class, b.Class)
	a.Meaning, a.Words, a.Example = cmp.Or(a.Meaning, b.Meaning), cmp.Or(a.Words, b.Words), cmp.Or(a.Example, b.Example)
	a.Fix, a.Loses = cmp.Or(a.Fix, b.Fix), cmp.Or(a.Loses, b.Loses)
	return a
}

// classOfWords returns the class of errors that consist of the words, "" for none.
func classOfWords(words provider.Words) repair.Class {
	return ParseAPIError([]byte(strings.Join(words, " "))).Class
}

// sentence returns the text of a rule as a sentence, unless it begins with a name.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if strings.HasPrefix(text, "tool_use") {
		return strings.TrimSuffix(text, ".") + "."
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// prefix returns the letters of a code: R of R11.
func prefix(code string) string { return strings.TrimRight(code, "0123456789") }

// compareCodes compares codes of one prefix by their number.
func compareCodes(a, b string) int {
	return cmp.Or(cmp.Compare(prefix(a), prefix(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// explanations has what the rows of the rules do not say, by the code of the rule.
var explanations = map[string]repair.Explanation{
	"R1": {
		Words:   "messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: ID. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		Example: "A bash call whose state is still \"running\", because OpenCode was closed; or a text part between two tool calls of one step.",
		Fix:     "An unfinished call is marked as failed and keeps its input. Before a text after a call a step-start marker is inserted, so that it is sent after the result.",
		Loses:   "Nothing.",
	},
	"R2": {
		Words:   "messages.N.content.M: unexpected `tool_use_id` found in `tool_result` blocks: ID. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
		Example: "A compaction whose kept part begins between a call and its result.",
		Fix:     "Nothing stored is broken: OpenCode keeps a call and its result in one record. Fork the session before the compaction.",
	},
	"R3": {
		Words:   "messages.N.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
		Example: "The newest assistant message ended in a tool call and its thinking is lost or comes later.",
		Fix:     "The thinking moves to the front, or a text closes the tool loop.",
		Loses:   "Nothing.",
	},
	"R4": {
		Words:   "messages.N.content.M: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.",
		Example: "A tool loop that began with thinking on, continued with thinking off.",
		Fix:     "A text closes the tool loop, or the thinking of that message is removed.",
		Loses:   "The thinking, if it is removed.",
	},
	"R5": {
		Words:   "messages: text content blocks must be non-empty",
		Example: `{"type": "text", "text": ""}`,
	},
	"R6": {
		Words:   "messages.N: all messages must have non-empty content except for the optional final assistant message",
		Example: "An assistant message that holds only unsigned thinking, which is not sent.",
	},
	"R7": {
		Meaning: "The signature of a thinking block fits its text. Nothing in the store shows whether it does.",
		Words:   "messages.N.content.M: Invalid `signature` in `thinking` block",
		Example: "A session that was edited, or copied from another account.",
	},
	"R8": {
		Meaning: "Thinking blocks of the latest assistant message come back unchanged.",
		Words:   "messages.N.content.M: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
		Example: "Thinking that was edited by hand or by a plugin.",
	},
	"R9": {
		Words:   "messages.N.content.M.thinking.signature: Field required",
		Example: "A thinking block whose metadata lost the signature.",
		Fix:     "The block is removed.", Loses: "That thinking block.",
	},
	"R10": {
		Words:   "messages.N: The final block in an assistant message cannot be `thinking`.",
		Example: "OpenCode was stopped right after the model had thought.",
	},
	"R11": {
		Words:   "messages: text content blocks must contain non-whitespace text",
		Example: `{"type": "text", "text": " \n"}`,
	},
	"R12": {
		Words:   "This model does not support assistant message prefill. The conversation must end with a user message.",
		Example: "An assistant message that was written while the clock was wrong, dated a year ahead: every new prompt sorts before it.",
	},
	"R13": {
		Words:   "messages.N.content.M.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
		Example: `{"type": "tool", "callID": "call:1"}`,
		Fix:     "The call gets a new id.", Loses: "The former id.",
	},
	"R14": {
		Words:   "messages.N.content.M.tool_use.input: Input should be a valid dictionary",
		Example: `{"state": {"input": "ls -l"}}`,
		Fix:     "The input is parsed, or wrapped in an object.", Loses: "Nothing.",
	},
	"R15": {
		Words:   "messages.N.content.M.image.source.base64: image exceeds 5 MB maximum: X bytes > 5242880 bytes",
		Example: "A screenshot of 6 MB in a prompt or a tool result.",
	},
	"R16": {
		Words:   `messages: first message must use the "user" role`,
		Example: "The record of the first prompt was deleted.",
	},
	"R17": {
		Words:   "messages.N: `tool_use` ids must be unique",
		Example: "A message that was copied by a sync program.",
		Fix:     "The later call gets a new id.", Loses: "Its former id.",
	},

	"O1": {
		Meaning: "Each function call has its output.",
		Words:   "No tool output found for function call ID.",
	},
	"O2": {
		Meaning: "Each output has its function call before it.",
		Words:   "No tool call found for function call output with call_id ID.",
	},
	"O3": {
		Meaning: "Items with ids that belong to one response stay together: reasoning comes right before what followed it.",
		Words:   "Item 'rs_…' of type 'reasoning' was provided without its required following item.",
	},
	"O4": {
		Meaning: "No item id occurs twice.",
		Words:   "Duplicate item found with id ID. Remove duplicate items from your input and try again.",
	},
	"O5": {
		Meaning: "The name of a tool has only letters, digits, _ and -.",
		Words:   "Invalid 'input[N].name': string does not match pattern.",
	},
	"O6": {
		Meaning: "The id of a call has 1 to 64 characters.",
		Words:   "Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64, but got a string with length M instead.",
	},
	"O8": {
		Meaning: "Encrypted reasoning was created under this account.",
		Words:   "The encrypted content gAAA...xxxx could not be verified.",
	},
	"O9": {
		Meaning: "Images are PNG, JPEG, GIF or WebP, and can be decoded.",
		Words:   "The image data you provided does not represent a valid image.",
	},
	"O10": {
		Meaning: "An item that is named by its id exists under this account.",
		Words:   "Item with id 'rs_…' not found. Items are not persisted when `store` is set to false.",
	},
	"O11": {
		Meaning: "The id of an item has the prefix of its type.",
		Words:   "Invalid 'input[N].id': 'X'. Expected an ID that begins with 'msg'.",
	},
	"O12": {
		Meaning: "A text has at most 10,485,760 characters.",
		Words:   "Invalid 'input[N].output': string too long. Expected a string with maximum length 10485760",
	},
	"O13": {
		Meaning: "Reasoning that the provider does not store has its encrypted content.",
		Words:   "Missing required parameter: 'input[N].encrypted_content'.",
	},
	"O14": {
		Meaning: "Reasoning is sent in its encrypted form only.",
		Words:   "Invalid 'input[N].content': array too long.",
	},
	"C1": {
		Meaning: "Each tool call is answered by a tool message right after it.",
		Words:   "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
	},
	"C2": {
		Meaning: "Each tool message answers a tool call before it.",
		Words:   "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
	},
	"C3": {
		Meaning: "Within one step each call has its own id.",
		Words:   "Invalid parameter: Duplicate value for 'tool_call_id' of 'ID'",
	},
	"C4": {
		Meaning: "The id of a call has 1 to 64 characters; older models accept 40.",
		Words:   "Invalid 'messages[N].tool_calls[0].id': string too long.",
	},
	"C5": {
		Meaning: "The name of a tool has only letters, digits, _ and -.",
		Words:   "Invalid 'messages[N].tool_calls[0].function.name': string does not match pattern.",
	},
	"C6": {
		Meaning: "An assistant message has content or tool calls.",
		Words:   "Invalid value for 'content': expected a string, got null.",
	},
	"C8": {
		Meaning: "Images can be decoded.",
		Words:   "You uploaded an unsupported image.",
	},
	"C9": {
		Meaning: "A text has at most 10,485,760 characters.",
	},
	"V1": {
		Meaning: "An assistant message is not empty (Moonshot, Kimi, DeepSeek and others).",
		Words:   "Invalid request: the message at position N with role 'assistant' must not be empty",
	},
	"V2": {
		Meaning: "The input of a call is a JSON object (Qwen and vLLM).",
		Words:   "The \"function.arguments\" parameter of the code model must be in JSON format.",
	},
	"V3": {
		Meaning: "Each tool call comes with its reasoning (DeepSeek, Moonshot).",
		Words:   "thinking is enabled but reasoning_content is missing in assistant tool call message at index N",
	},
	"V4": {
		Meaning: "The id of a call is unique in the whole request (DeepSeek).",
		Words:   "Duplicate value for 'tool_call_id' of ID in message[N]",
	},
	"G0": {
		Meaning: "A request has contents.",
		Words:   "contents is not specified",
	},
	"G1": {
		Meaning: "The role of each message is user or model.",
		Words:   "Please use a valid role: user, model.",
	},
	"G2": {
		Meaning: "Each message has parts.",
		Words:   "GenerateContentRequest.contents[N].parts: contents.parts must not be empty.",
	},
	"G3": {
		Meaning: "Each part has data.",
		Words:   "required oneof field 'data' must have one initialized field",
	},
	"G4": {
		Meaning: "A tool call follows a prompt or a tool result.",
		Words:   "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
	},
	"G5": {
		Meaning: "A tool result follows its call.",
		Words:   "function response turn comes immediately after a function call turn.",
	},
	"G6": {
		Meaning: "There are as many tool results as calls.",
		Words:   "number of function response parts is equal to the number of function call parts",
	},
	"G7": {
		Meaning: "In Gemini 3 the first call of each step of the current turn has a thought signature.",
		Words:   "Function call is missing a thought_signature in functionCall parts.",
	},
	"G8": {
		Meaning: "A thought signature that is sent is valid for this key and model.",
		Words:   "Corrupted thought signature.",
	},
	"G9": {
		Meaning: "The input of a call is an object, and its name is not empty.",
		Words:   "Invalid value at 'contents[N].parts[M].function_call.args'",
	},
	"G10": {
		Meaning: "Images can be decoded.",
		Words:   "Unable to process input image.",
	},
	"G12": {
		Meaning: "The conversation ends with a user turn.",
		Words:   "Please ensure that multiturn requests end with a user role or a function response.",
		Example: "An assistant message that was written while the clock was wrong, dated a year ahead: every new prompt sorts before it.",
	},
	"B1": {
		Meaning: "A conversation starts with a prompt.",
		Words:   "A conversation must start with a user message.",
	},
	"B3": {
		Meaning: "Each message has content.",
		Words:   "The content field in the Message object at messages.N is empty.",
	},
	"B4": {
		Meaning: "A text is not blank.",
		Words:   "The text field in the ContentBlock object at messages.N.content.M is blank. Add text to the text field, and try again.",
	},
	"B5": {
		Meaning: "The id of a call has 1 to 64 letters, digits, _ and -.",
	},
	"B7": {
		Meaning: "The ids of calls are unique.",
	},
	"B8": {
		Meaning: "Each tool call has its result right after it.",
	},
	"B9": {
		Meaning: "The signature of a thinking block fits its text.",
	},
	"B10": {
		Meaning: "An image is at most 3.75 MB, can be decoded, and has the media type of its data.",
	},
	"B11": {
		Words:   "messages.N: The final block in an assistant message cannot be `thinking`.",
		Meaning: "No assistant message ends with thinking.",
	},

	render.FailureUnreadable: {
		Meaning: "A record is not JSON, is empty, or cannot be opened. OpenCode fails to read the session.",
		Words:   "Unexpected end of JSON input",
		Example: "A file of zero bytes after a full disk or a power cut.",
	},
	render.FailureField: {
		Meaning: "A field that OpenCode needs to build the request is missing or has the wrong type. OpenCode crashes on it.",
		Words:   `Missing key at [0]["info"]["agent"]`,
		Example: `A completed tool call without "output".`,
	},
	render.FailureMedia: {
		Meaning: "A file cannot be sent to the model, and OpenCode fails on it.",
		Example: "A link to a file that no longer exists.",
	},
	render.FailureClock: {
		Meaning: "An id from before the id clock wrapped on 2026-08-14, or a date in the future. OpenCode considers every new prompt answered and stays silent.",
		Example: "A session of July 2026, opened in OpenCode 1.1 today.",
	},
	render.FailureEndless: {
		Meaning: "An assistant message that sorts after every new prompt, usually because of a date in the future. OpenCode does not see its own answer and asks the model again without end. Providers that refuse a request ending with an assistant message stop it.",
		Example: "A session written while the clock was a year ahead, continued with a GPT model.",
	},
	render.FailureSubtask: {
		Meaning: "A subtask was not run, because OpenCode was stopped or the subtask's agent or model does not exist. OpenCode runs it before it answers the next prompt. It fails if the agent or the model does not exist, and a provider that requires thinking before a call refuses the next request.",
		Example: "A slash command for an agent that was removed.",
		Fix:     "A text with the subtask's prompt replaces it.",
		Loses:   "The subtask, which is not run.",
	},
	render.FailureScreen: {
		Meaning: "A record works in requests, but newer versions of OpenCode cannot show the session.",
		Example: `A tool call whose "state.input" is a text.`,
	},
	render.FailureSession: {
		Meaning: "The session's own record is damaged. OpenCode fails on it, or cannot list any session.",
		Example: "A session row whose permission column is not JSON.",
	},
	"no-session": {
		Meaning: "The session's own record does not exist, only its messages do. OpenCode does not list the session, and answers no prompt in it.",
		Fix:     "Nothing is changed. Restore the record from a backup.",
		Example: "session/PROJECT/ses_….json or the row of the session was deleted, and its messages were not.",
	},
	render.FailureProject: {
		Meaning: "The session belongs to a project that is not in the database, so OpenCode does not list it.",
		Fix:     "The session is moved to the project that has its directory.",
		Loses:   "The id of its former project.",
	},
	render.FailureProjectRow: {
		Meaning: "The row or file of the session's project is damaged, so OpenCode does not start in its folders.",
		Fix:     "The damaged columns are rebuilt.",
	},
	"events": {
		Meaning: "OpenCode 1.18 numbers the events of a session, and the session's counter is lost, damaged, or behind its events. The number of a new event is then taken, and each prompt ends with HTTP 500.",
		Words:   "Unexpected server error. Check server logs for details.",
		Example: "A database that was merged or restored table by table, without event_sequence.",
		Fix:     "The counter is set to the number of the last event.",
		Loses:   "The former value of the counter.",
	},
	"index": {
		Meaning: "A part of the database is damaged that is not of the session, whose rows are whole: an index with which OpenCode reads them, so it stops with an error or shows a part of the session, or an index or a table into which it writes for each prompt, so it answers none.",
		Words:   "SQLiteError: database disk image is malformed",
		Example: "Pages of the database were overwritten, by a disk that failed or a copy made while OpenCode was writing.",
	},
	folderRule: {
		Meaning: "The folder of the session does not exist on this machine, or a file is in its place. OpenCode 1.17.9 and later answer no prompt in the session; older versions do.",
		Words:   "Unexpected server error. Check server logs for details.",
		Example: "A project that was deleted, renamed, or is on a disk that is not mounted; a database that was copied to a machine with another user name.",
	},
	"time": {
		Meaning: "The time in a message's row is not a number, so OpenCode reads the message at the wrong place.",
		Fix:     "The row gets the time stored in the message itself.",
		Loses:   "The former value.",
	},
	"late-prompt": {
		Meaning: "A prompt without an answer sorts after every new prompt, usually because of a date in the future. OpenCode works on that prompt instead of the new one, and begins again after each step that calls a tool, maybe without end.",
		Example: "A prompt sent while the clock was a day ahead, whose turn failed.",
	},
	"unfinished": {
		Meaning: "A tool call is still marked as running or pending, although OpenCode was stopped. It shows as still running.",
		Example: `{"state": {"status": "running"}}`,
	},
	"no-result": {
		Meaning: "A tool call in the format of an older tool has no result anywhere in the session.",
		Fix:     "A result that says that the call was cancelled is added.",
		Loses:   "Nothing.",
	},
	"link": {
		Meaning: "A file in a prompt is a link to the web. For each request the provider loads it, or OpenCode does where the provider follows no such link. mend does not try that, so it does not know whether the next prompt works.",
		Words:   "AI_DownloadError: Failed to download https://…",
		Example: `{"type": "file", "mime": "application/pdf", "url": "https://example.com/x.pdf"}`,
		Fix:     "A line of text with the address replaces the file. Only with --latent.",
		Loses:   "The file. The model sees its address, without a password and a query.",
	},
	"tool-name": {
		Meaning: "The name of a tool contains characters that some providers reject.",
		Example: `{"tool": "web search"}`,
		Fix:     "The tool is renamed; rejected characters become _.",
		Loses:   "The name that the model used.",
	},
	"order": {
		Meaning: "Thinking is not first in its step. In an open tool loop the provider requires it to be first.",
	},
	"nothing": {
		Meaning: "A message has no content that OpenCode would send. It is not sent at all.",
		Example: "An assistant message with only a step-start marker.",
	},
	"name": {
		Meaning: "A record is stored under another id than the one inside it, or under no usable id.",
		Fix:     "Nothing is changed: OpenCode reads the record anyway.",
	},
	"unlisted": {
		Meaning: "OpenCode does not list the session: it is archived, or its folder is of another project now. OpenCode 1.1 then answers no prompt in it either.",
		Fix:     "OpenCode 1.1: the session's record is moved to the project of its folder. Else nothing is changed.",
		Loses:   "The id of its former project.",
	},
	"beside": {
		Meaning: "A file that is not a record is among the records. OpenCode 1.1 reads it as one, and fails or reads one too many.",
		Fix:     "Nothing is changed, since it may be your own file. scan prints the command that moves it away.",
		Example: "part/msg_…/prt_….json.bak, a backup of an editor.",
	},
	"stray": {
		Meaning: "An unexpected file or row is in the place of a record.",
		Fix:     "Nothing is changed. Move it out of the store if nothing needs it.",
	},
	"row": {
		Meaning: "A row of the session is of no form that OpenCode writes: its id is not text, its time is not an integer, or its data is a blob. The session is not examined.",
		Fix:     "Nothing is changed. Put the row right with SQL, then scan again.",
	},
	"listed": {
		Meaning: "The table of sessions has a row without a valid id, so OpenCode cannot list any session.",
		Fix:     "mend cannot change such a row. scan prints the SQL that finds it.",
	},
	"hidden": {
		Meaning: "A file or folder of the session cannot be opened, so its contents are unknown.",
		Fix:     "Nothing is changed. Make it readable, then scan again.",
	},
	"place": {
		Meaning: "Something else is in the place of a folder of records. OpenCode cannot store anything there, and answers no prompt.",
		Fix:     "Nothing is changed. Move it out of the store, and put the folder back if there is a copy of it.",
		Example: "A file message instead of the folder with all messages.",
	},
	"linked": {
		Meaning: "A folder of the session's records is a symbolic link. OpenCode follows it and mend does not, so its contents are unknown.",
		Fix:     "Nothing is changed. Put the folder itself in the place of the link, then scan again.",
	},
	"thinking": {
		Meaning: "The session contains thinking. It is a fault only if the model does not support thinking, so mend looks for it only when asked.",
	},
	"encrypted": {
		Meaning: "Reasoning that was encrypted for another account or key. mend looks for it only when asked, or after the provider's error.",
		Words:   "reasoning `encrypted_content` was not issued to this caller",
	},
	"image": {
		Meaning: "An image that the provider's error names.",
	},
	"unavailable": {
		Meaning: "A call to a tool that does not exist, as the error says.",
		Words:   "Model tried to call unavailable tool 'NAME'",
	},
}

// providers returns the providers whose rules mend knows.
func providers() []provider.Provider {
	return []provider.Provider{anthropic.Provider{}, openai.Provider{}, chat.Provider{}, gemini.Provider{}, bedrock.Provider{}}
}
