package schema

import (
	"slices"

	"mend/agent/opencode/js"
	"mend/session"
)

// CheckPart returns why 1.18.33 cannot show a part with this id and this content, or ""
// if it can. The id is an argument because in a database it is a column.
func CheckPart(id string, v js.Value) string { return check(partID, id, partType, v) }

// partType is a part without its ids.
var partType = union{"type", map[string]object{
	session.TypeText: {
		required("text", text), optional("synthetic", boolean), optional("ignored", boolean),
		optional("time", spanType), optional("metadata", object{}),
	},
	session.TypeReasoning:  {required("text", text), optional("metadata", object{}), required("time", spanType)},
	session.TypeFile:       fileType,
	session.TypeTool:       {required("callID", text), required("tool", text), required("state", stateType), optional("metadata", object{})},
	session.TypeStepStart:  {optional("snapshot", text)},
	session.TypeStepFinish: {required("reason", text), optional("snapshot", text), required("cost", number), required("tokens", tokensType)},
	"snapshot":             {required("snapshot", text)},
	"patch":                {required("hash", text), required("files", list{text})},
	"agent":                {required("name", text), optional("source", object{required("value", text), required("start", count), required("end", count)})},
	"compaction":           {required("auto", boolean), optional("overflow", boolean), optional("tail_start_id", messageID)},
	"subtask": {
		required("prompt", text), required("description", text), required("agent", text), optional("command", text),
		optional("model", object{required("providerID", text), required("modelID", text)}),
	},
	"retry": {
		required("attempt", count), required("time", object{required("created", count)}),
		required("error", union{"name", map[string]object{"APIError": apiErrorType}}),
	},
}}

// spanType is the time of a part.
var spanType = object{required("start", count), optional("end", count)}

// stateType is the state of a tool call.
var stateType = union{"status", map[string]object{
	session.StatusPending: {required("input", object{}), required("raw", text)},
	session.StatusRunning: {
		required("input", object{}), optional("title", text), optional("metadata", object{}), required("time", object{required("start", count)}),
	},
	session.StatusCompleted: {
		required("input", object{}), required("output", text), required("title", text), required("metadata", object{}),
		required("time", doneType), optional("attachments", list{attachmentType}),
	},
	session.StatusError: {required("input", object{}), required("error", text), optional("metadata", object{}), required("time", doneType)},
}}

// doneType is the time of a tool call that has ended.
var doneType = object{required("start", count), required("end", count), optional("compacted", count)}

// attachmentType is a file part inside another part.
var attachmentType = union{"type", map[string]object{session.TypeFile: slices.Concat(
	object{required("id", partID), required("sessionID", sessionID), required("messageID", messageID)}, fileType,
)}}

var fileType = object{
	required("mime", text), optional("filename", text), required("url", text),
	optional("source", union{"type", map[string]object{
		"file":     {required("text", quoteType), required("path", text)},
		"resource": {required("text", quoteType), required("clientName", text), required("uri", text)},
		"symbol": {
			required("text", quoteType), required("path", text), required("name", text), required("kind", count),
			required("range", object{required("start", positionType), required("end", positionType)}),
		},
	}}),
}

// quoteType is the place of a file in the text of a prompt.
var quoteType = object{required("value", text), required("start", number), required("end", number)}

// positionType is a position in a source file.
var positionType = object{required("line", count), required("character", count)}
