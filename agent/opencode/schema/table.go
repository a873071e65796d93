package schema

import "strings"

// The sources of missing values.
const (
	Role      Source = "role"
	Created   Source = "created"
	Agent     Source = "agent"
	Mode      Source = "mode"
	Provider  Source = "provider"
	Model     Source = "model"
	Prompt    Source = "prompt" // the id of the one that is answered
	Cwd       Source = "cwd"
	Root      Source = "root"
	Cost      Source = "cost"
	Reason    Source = "reason" // why a step ended
	Start     Source = "start"
	End       Source = "end"
	MIME      Source = "mime"
	CallID    Source = "call id"
	Status    Source = "status"     // of a call
	FileID    Source = "file id"    // of a file inside a call
	SessionID Source = "session id" // of the record
	MessageID Source = "message id" // of the record
	Tokens    Source = "tokens."    // with the path of a count behind it
)

// LostResult is the error of a call whose result cannot be told.
const LostResult = "[The stored record of this call was damaged; its result is lost]"

// NoOutput stands for the output of a completed call that has none on record: some
// providers refuse an empty one.
const NoOutput = "[no output recorded]"

// ProviderExecuted is a mark in the metadata of a call that the provider ran itself: the
// one member that is no object. Versions before 1.14 end on it.
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

// screen is a field that only the screen needs.
func screen(name string, t Type, from Source) Field {
	return Field{Name: name, Type: t, Need: Screen, From: from}
}

func (f Field) from(s Source) Field              { f.From = s; return f }
func (f Field) or(json string) Field             { f.Default = json; return f }
func (f Field) at(place int) Field               { f.Place = place; return f }
func (f Field) shown(t Type) Field               { f.Shown = &t; return f }
func (f Field) unusual() Field                   { f.Unusual = true; return f }
func (f Field) usual(is func([]byte) bool) Field { f.Usual = is; return f }
func (f Field) usually(t Type) Field             { f.UsualType = &t; return f }

// ids are where a file has the ids of its record; in a row they are columns.
var ids = []Field{may("id", anything).at(PlaceID).usually(text), may("sessionID", anything).usually(text), may("messageID", anything).usually(text)}

// Message is a message, of either role.
var Message = Type{Kind: Union, Fields: ids, By: &Field{Name: "role", Type: words("user", "assistant"), Need: Always, From: Role, Place: PlaceRole}, Cases: map[string][]Field{
	"user": {
		need("time", fields(need("created", moment).from(Created).at(PlaceCreated))).or("{}"),
		screen("agent", text, Agent),
		need("model", fields(
			screen("providerID", name, Provider).shown(text).at(PlaceProvider),
			screen("modelID", name, Model).shown(text).at(PlaceModel),
			may("variant", text),
		)).or("{}"),
		may("summary", fields(may("title", text), may("body", text), need("diffs", list(fields(
			may("file", text), may("patch", text), need("additions", number).or("0"), need("deletions", number).or("0"), may("status", text),
			may("before", anything), may("after", anything),
		))).or("[]"))),
		may("format", exactly(Type{Kind: Union, By: &Field{Name: "type", Type: words("text", "json_schema"), Need: Always}, Cases: map[string][]Field{
			"text": nil, "json_schema": {need("schema", object)},
		}})).unusual(),
		may("system", text),
		may("tools", mapOf(truth)).unusual(),
	},
	"assistant": append([]Field{
		need("time", fields(need("created", count).from(Created).at(PlaceCreated), may("completed", count).at(PlaceCompleted))).or("{}"),
		Field{Name: "error", Type: failure, Convert: convertError}.at(PlaceError),
		screen("parentID", id("msg"), Prompt).at(PlaceParent),
		screen("modelID", text, Model).at(PlaceModel),
		screen("providerID", text, Provider).at(PlaceProvider),
		screen("agent", text, Agent),
		screen("mode", text, Mode),
		need("path", fields(screen("cwd", text, Cwd), screen("root", text, Root))).or("{}"),
		may("summary", truth).at(PlaceSummary),
		need("cost", number).from(Cost),
		may("variant", text),
		may("finish", text).at(PlaceFinish),
	}, tokens),
}}

var tokens = need("tokens", fields(
	may("total", number), spent("input"), spent("output"), spent("reasoning"),
	need("cache", fields(spent("cache.read"), spent("cache.write"))).or("{}"),
)).or("{}")

// spent is a count of tokens.
func spent(path string) Field {
	name := path[strings.LastIndexByte(path, '.')+1:]
	return need(name, number).from(Tokens + Source(path))
}

// failure is why an answer failed.
var failure = Type{Kind: Union, By: &Field{Name: "name", Type: text, Need: Always, Place: PlaceErrorName}, Cases: failures}

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

// span is when a part began and ended.
func span(need Need) Field {
	t := fields(Field{Name: "start", Type: count, Need: Always, From: Start, Place: PlaceStart}, may("end", count).at(PlaceEnd))
	return Field{Name: "time", Type: t, Need: need, Default: "{}"}
}

// metadata is what a provider told of a part, by its name.
func metadata(except string) Field {
	t := mapOf(object)
	t.Except = except
	return may("metadata", t).shown(object)
}

// signed is what Anthropic tells of thinking.
var signed = fields(need("signature", exact).usual(isSaid))

// Part is a part of a message. A text that is missing is blank; thinking without its text
// is nothing.
var Part = Type{Kind: Union, Fields: ids, By: &Field{Name: "type", Type: text, Place: PlaceType}, Cases: map[string][]Field{
	"text": {
		span(Optional), need("text", text).or(`""`).usual(isSeen), may("synthetic", truth), may("ignored", truth).unusual(), metadata("").unusual(),
	},
	"reasoning": {span(Always), need("text", exact).usual(isSeen), metadata("").at(PlaceMetadata).usually(fields(need("anthropic", signed)))},
	"file":      file(need("mime", exact).from(MIME)),
	"tool": {
		need("callID", exact).from(CallID).at(PlaceCallID), need("tool", text).or(`"invalid"`).at(PlaceTool),
		metadata(ProviderExecuted).unusual(), need("state", state).or("{}"),
	},
	"step-start":  {may("snapshot", text)},
	"step-finish": {tokens, need("reason", text).from(Reason), may("snapshot", text), need("cost", number).or("0")},
	"snapshot":    {need("snapshot", text)},
	"patch":       {need("hash", exact), need("files", list(exact)).or("[]")},
	"agent":       {need("name", text), may("source", exactly(quote(count)))},
	"compaction":  {need("auto", truth).or("false"), may("overflow", truth), may("tail_start_id", id("msg")).unusual()},
	"subtask": {
		need("prompt", text).or(`""`), need("description", text).or(`""`), need("agent", text).from(Agent), may("command", text),
		may("model", exactly(fields(need("providerID", text), need("modelID", text)))),
	},
	"retry": {
		need("attempt", count).or("1"), need("time", fields(need("created", count).from(Start))).or("{}"),
		Field{Name: "error", Type: Type{Kind: Union, By: failure.By, Cases: map[string][]Field{"APIError": failures["APIError"]}}, Need: Always, Convert: convertRetried},
	},
}}

// state is what became of a call.
var state = Type{
	Kind:   Union,
	By:     &Field{Name: "status", Type: words("pending", "running", "completed", "error"), Need: Always, From: Status, Place: PlaceStatus},
	Fields: []Field{{Name: "input", Type: object, Need: Always, Default: "{}", Convert: ConvertInput}},
	Cases: map[string][]Field{
		"pending": {need("raw", text).or(`""`)},
		"running": {may("title", text), may("metadata", object), need("time", fields(need("start", count).from(Start))).or("{}")},
		"completed": {
			need("output", text).or(`"` + NoOutput + `"`), need("title", text).or(`""`), need("metadata", object).or("{}"),
			done(may("compacted", count)), may("attachments", list(attachment)).at(PlaceFiles),
		},
		"error": {need("error", text).or(`"` + LostResult + `"`), may("metadata", object), done()},
	},
}

// done is when a call began and ended.
func done(also ...Field) Field {
	return need("time", fields(append([]Field{
		need("start", count).from(Start).at(PlaceStart), need("end", count).from(End).at(PlaceEnd),
	}, also...)...)).or("{}")
}

// attachment is a file inside a call.
var attachment = fields(append([]Field{
	need("id", id("prt")).from(FileID), need("sessionID", id("ses")).from(SessionID), need("messageID", id("msg")).from(MessageID),
	need("type", words("file")).or(`"file"`),
}, file(need("mime", exact))...)...)

func file(mime Field) []Field {
	return []Field{mime.at(PlaceMIME), may("filename", text), need("url", exact).at(PlaceURL), may("source", exactly(source))}
}

// source is where the words of a prompt are that brought a file along.
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
