package schema

// The sources of missing values.
const (
	Role      Source = "role"
	Created   Source = "created"
	Agent     Source = "agent"
	Provider  Source = "provider"
	Model     Source = "model"
	Parent    Source = "parent"
	Folder    Source = "folder"
	CallID    Source = "call id"
	SessionID Source = "session id"
	MessageID Source = "message id"
	FileID    Source = "file id" // of a file inside a call
	Status    Source = "status"  // of a call
	MIME      Source = "mime"    // of a file
	Updated   Source = "updated"
	Project   Source = "project"
)

// LostResult is the error of a call whose result is lost.
const LostResult = "[The stored record of this call was damaged; its result is lost]"

// noOutput is the output of a completed call whose record has none: some providers refuse
// an empty output.
const noOutput = "[no output recorded]"

// ProviderExecuted is the member of a call's metadata that marks a call that the provider
// ran itself. It is the only member that is not an object. Versions before 1.14 crash on
// it.
const ProviderExecuted = "providerExecuted"

// The simple types.
var (
	anything = Type{}
	text     = Type{Kind: String}
	exact    = Type{Kind: String, Exact: true}
	name     = Type{Kind: Name}
	number   = Type{Kind: Number}
	count    = Type{Kind: Count}
	moment   = Type{Kind: Time}
	truth    = Type{Kind: Bool}
	object   = Type{Kind: Object}
)

func words(all ...string) Type       { return Type{Kind: String, Words: all} }
func id(prefix string) Type          { return Type{Kind: ID, Prefix: prefix} }
func list(elem Type) Type            { return Type{Kind: List, Elem: &elem} }
func mapOf(elem Type) Type           { return Type{Kind: Map, Elem: &elem} }
func fields(all ...Field) Type       { return Type{Kind: Object, Fields: all} }
func exactly(t Type) Type            { t.Exact = true; return t }
func need(name string, t Type) Field { return Field{Name: name, Type: t, Need: Always} }
func may(name string, t Type) Field  { return Field{Name: name, Type: t} }

// screen returns a field that OpenCode needs only to show the session.
func screen(name string, t Type, from Source) Field {
	return Field{Name: name, Type: t, Need: Screen, From: from}
}

func (f Field) from(s Source) Field  { f.From = s; return f }
func (f Field) or(json string) Field { f.Default = json; return f }
func (f Field) shown(t Type) Field   { f.Shown = &t; return f }

// ids has the fields with the ids of a file's record; in a row they are columns.
var ids = []Field{may("id", anything), may("sessionID", anything), may("messageID", anything)}

// Message is the type of a message of either role.
var Message = Type{Kind: Union, Fields: ids, By: &Field{Name: "role", Type: words("user", "assistant"), Need: Always, From: Role}, Cases: map[string][]Field{
	"user": {
		need("time", fields(need("created", moment).from(Created))).or("{}"),
		screen("agent", text, Agent),
		need("model", fields(
			screen("providerID", name, Provider).shown(text),
			screen("modelID", name, Model).shown(text),
			may("variant", text),
		)).or("{}"),
		may("summary", fields(may("title", text), may("body", text), need("diffs", list(fields(
			may("file", text), may("patch", text), need("additions", number).or("0"), need("deletions", number).or("0"), may("status", text),
			may("before", anything), may("after", anything),
		))).or("[]"))),
		may("format", exactly(Type{Kind: Union, By: &Field{Name: "type", Type: words("text", "json_schema"), Need: Always}, Cases: map[string][]Field{
			"text": nil, "json_schema": {need("schema", object)},
		}})),
		may("system", text),
		may("tools", mapOf(truth)),
	},
	"assistant": append([]Field{
		need("time", fields(need("created", count).from(Created), may("completed", count))).or("{}"),
		{Name: "error", Type: failure, Convert: convertError},
		screen("parentID", id("msg"), Parent),
		screen("modelID", text, Model),
		screen("providerID", text, Provider),
		screen("agent", text, Agent),
		screen("mode", text, Agent),
		need("path", fields(screen("cwd", text, Folder).or(`""`), screen("root", text, Folder).or(`""`))).or("{}"),
		may("summary", truth),
		need("cost", number).or("0"),
		may("variant", text),
		may("finish", text),
	}, tokens),
}}

var tokens = need("tokens", fields(
	may("total", number), spent("input"), spent("output"), spent("reasoning"),
	need("cache", fields(spent("read"), spent("write"))).or("{}"),
)).or("{}")

// spent returns a field with a count of tokens.
func spent(name string) Field { return need(name, number).or("0") }

// failure is the type of the error of an assistant message.
var failure = Type{Kind: Union, By: &Field{Name: "name", Type: text, Need: Always}, Cases: failures}

var failures = func() map[string][]Field {
	data := func(all ...Field) []Field { return []Field{need("data", fields(all...)).or("{}")} }
	message := need("message", text).or(`""`)
	return map[string][]Field{
		"ProviderAuthError":        data(message, need("providerID", text).from(Provider)),
		"UnknownError":             data(message, may("ref", text)),
		"MessageOutputLengthError": {need("data", object).or("{}")},
		"MessageAbortedError":      data(message),
		"StructuredOutputError":    data(message, need("retries", count).or("0")),
		"ContextOverflowError":     data(message, may("responseBody", text)),
		"ContentFilterError":       data(message),
		"APIError":                 data(append([]Field{message}, apiError...)...),
	}
}()

var apiError = []Field{
	may("statusCode", count), need("isRetryable", truth).or("false"), may("responseHeaders", mapOf(text)),
	may("responseBody", text), may("metadata", mapOf(text)),
}

// span returns the field with the start and the end of a part.
func span(need Need) Field {
	t := fields(Field{Name: "start", Type: count, Need: Always, From: Created}, may("end", count))
	return Field{Name: "time", Type: t, Need: need, Default: "{}"}
}

// metadata returns the field with an object for each provider.
func metadata(except string) Field {
	t := mapOf(object)
	t.Except = except
	return may("metadata", t).shown(object)
}

// Part is the type of a part. A missing text becomes empty; thinking without its text cannot
// be completed.
var Part = Type{Kind: Union, Fields: ids, By: &Field{Name: "type", Type: text}, Cases: map[string][]Field{
	"text": {
		span(Optional), need("text", text).or(`""`), may("synthetic", truth), may("ignored", truth), metadata(""),
	},
	"reasoning": {span(Always), need("text", exact), metadata("")},
	"file":      file(need("mime", exact).from(MIME)),
	"tool": {
		need("callID", exact).from(CallID), need("tool", text).or(`"invalid"`),
		metadata(ProviderExecuted), need("state", state).or("{}"),
	},
	"step-start":  {may("snapshot", text)},
	"step-finish": {tokens, need("reason", text).or(`"unknown"`), may("snapshot", text), need("cost", number).or("0")},
	"snapshot":    {need("snapshot", text)},
	"patch":       {need("hash", exact), need("files", list(exact)).or("[]")},
	"agent":       {need("name", text), may("source", exactly(quote(count)))},
	"compaction":  {need("auto", truth).or("false"), may("overflow", truth), may("tail_start_id", id("msg"))},
	"subtask": {
		need("prompt", text).or(`""`), need("description", text).or(`""`), need("agent", text).from(Agent), may("command", text),
		may("model", exactly(fields(need("providerID", text), need("modelID", text)))),
	},
	"retry": {
		need("attempt", count).or("1"), need("time", fields(need("created", count).from(Created))).or("{}"),
		Field{Name: "error", Type: Type{Kind: Union, By: failure.By, Cases: map[string][]Field{"APIError": failures["APIError"]}}, Need: Always, Convert: convertRetried},
	},
}}

// state is the type of the state of a call.
var state = Type{
	Kind:   Union,
	By:     &Field{Name: "status", Type: words("pending", "running", "completed", "error"), Need: Always, From: Status},
	Fields: []Field{{Name: "input", Type: object, Need: Always, Default: "{}", Convert: ConvertInput}},
	Cases: map[string][]Field{
		"pending": {need("raw", text).or(`""`)},
		"running": {may("title", text), may("metadata", object), need("time", fields(need("start", count).from(Created))).or("{}")},
		"completed": {
			need("output", text).or(`"` + noOutput + `"`), need("title", text).or(`""`), need("metadata", object).or("{}"),
			done(may("compacted", count)), may("attachments", list(attachment)),
		},
		"error": {need("error", text).or(`"` + LostResult + `"`), may("metadata", object), done()},
	},
}

// done returns the field with the start and the end of a call.
func done(also ...Field) Field {
	return need("time", fields(append([]Field{
		need("start", count).from(Created), need("end", count).from(Created),
	}, also...)...)).or("{}")
}

// attachment is the type of a file in a call.
var attachment = fields(append([]Field{
	need("id", id("prt")).from(FileID), need("sessionID", id("ses")).from(SessionID), need("messageID", id("msg")).from(MessageID),
	need("type", words("file")).or(`"file"`),
}, file(need("mime", exact))...)...)

func file(mime Field) []Field {
	return []Field{mime, may("filename", text), need("url", exact), may("source", exactly(source))}
}

// source is the type of the text in a prompt that names a file.
var source = Type{
	Kind: Union, By: &Field{Name: "type", Type: words("file", "resource", "symbol"), Need: Always}, Fields: []Field{need("text", quote(number))},
	Cases: map[string][]Field{
		"file":     {need("path", exact)},
		"resource": {need("clientName", exact), need("uri", exact)},
		"symbol":   {need("path", exact), need("name", exact), need("kind", count), need("range", fields(need("start", point), need("end", point)))},
	},
}

func quote(place Type) Type {
	return fields(need("value", exact), need("start", place), need("end", place))
}

var point = fields(need("line", count), need("character", count))
