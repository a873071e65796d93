package schema

import (
	"mend/agent/opencode/js"
	"mend/session"
)

// CheckMessage returns why 1.18.33 cannot show a message with this id and this content,
// or "" if it can. The id is an argument because in a database it is a column.
func CheckMessage(id string, v js.Value) string { return check(messageID, id, messageType, v) }

// messageType is a message without its id.
var messageType = union{"role", map[string]object{
	session.RoleUser: {
		required("time", object{required("created", time)}),
		required("agent", text),
		required("model", object{required("providerID", text), required("modelID", text), optional("variant", text)}),
		optional("summary", object{optional("title", text), optional("body", text), required("diffs", list{diffType})}),
		optional("format", union{"type", map[string]object{"text": {}, "json_schema": {required("schema", object{})}}}),
		optional("system", text),
		optional("tools", dictionary{boolean}),
	},
	session.RoleAssistant: {
		required("time", object{required("created", count), optional("completed", count)}),
		optional("error", union{"name", errorTypes}),
		required("parentID", messageID),
		required("modelID", text),
		required("providerID", text),
		required("mode", text),
		required("agent", text),
		required("path", object{required("cwd", text), required("root", text)}),
		optional("summary", boolean),
		required("cost", number),
		required("tokens", tokensType),
		optional("variant", text),
		optional("finish", text),
	},
}}

var diffType = object{
	optional("file", text), optional("patch", text), required("additions", number), required("deletions", number), optional("status", text),
}

var tokensType = object{
	optional("total", number), required("input", number), required("output", number), required("reasoning", number),
	required("cache", object{required("read", number), required("write", number)}),
}

// errorTypes are the errors of a message, by name.
var errorTypes = map[string]object{
	"ProviderAuthError":        errorType(required("providerID", text), required("message", text)),
	"UnknownError":             errorType(required("message", text), optional("ref", text)),
	"MessageOutputLengthError": errorType(),
	"MessageAbortedError":      errorType(required("message", text)),
	"StructuredOutputError":    errorType(required("message", text), required("retries", count)),
	"ContextOverflowError":     errorType(required("message", text), optional("responseBody", text)),
	"ContentFilterError":       errorType(required("message", text)),
	"APIError":                 apiErrorType,
}

var apiErrorType = errorType(
	required("message", text), optional("statusCode", count), required("isRetryable", boolean),
	optional("responseHeaders", dictionary{text}), optional("responseBody", text), optional("metadata", dictionary{text}),
)

func errorType(data ...field) object { return object{required("data", object(data))} }
