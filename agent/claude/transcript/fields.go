package transcript

import (
	"bytes"
	"time"
	"unicode"
	"unicode/utf8"

	"mend/jsonedit"
)

// A recordField is a member of a record that counts.
type recordField struct {
	name string
	set  func(r *Record, v jsonedit.Value)
	// usual is the form of the values in which no rule finds anything. A quick check captures
	// them under an index, if that is not 0.
	usual   *jsonedit.Pattern
	capture int
}

// The indexes under which a quick check captures values.
const (
	_ = iota
	captureUUID
	captureParent
	captureType
	captureSubtype
	captureSide
	captureAgent
	captureTime
	captureVersion
	captureAPIError
	captureLeaf
	captureMessageID
	captureModel
	captureContent
	captureKind // of a block, as the next one
	captureToolID

	captures
)

// recordFields are all of them. [newRecord] and [IsUsual] read no others.
var recordFields = []recordField{
	{"parentUuid", (*Record).setParent, &jsonedit.Pattern{Accept: isPlainOrNull}, captureParent},
	{"isSidechain", func(r *Record, v jsonedit.Value) { r.Side = string(v.Raw()) }, &jsonedit.Pattern{Accept: isBool}, captureSide},
	{"agentId", func(r *Record, v jsonedit.Value) { r.AgentID, _ = v.Text() }, plain, captureAgent},
	{"isMeta", func(r *Record, v jsonedit.Value) { r.Meta = isTrue(v) }, nil, 0},
	{"message", (*Record).setMessage, nil, 0}, // the form of a message depends on the rules on blocks
	{"isVirtual", func(r *Record, v jsonedit.Value) { r.Virtual = isTrue(v) }, &jsonedit.Pattern{Accept: isFalse}, 0},
	{"isApiErrorMessage", func(r *Record, v jsonedit.Value) { r.APIError = isTrue(v) }, &jsonedit.Pattern{Accept: isBool}, captureAPIError},
	{"isCompactSummary", func(r *Record, v jsonedit.Value) { r.Summary = isTrue(v) }, &jsonedit.Pattern{Accept: isFalse}, 0},
	{"subtype", func(r *Record, v jsonedit.Value) { r.Subtype, _ = v.Text() }, plain, captureSubtype},
	{"type", func(r *Record, v jsonedit.Value) { r.Type, _ = v.Text() }, plain, captureType},
	{"leafUuid", func(r *Record, v jsonedit.Value) { r.leaf, _ = v.Text() }, plain, captureLeaf},
	{"explicit", func(r *Record, v jsonedit.Value) { r.explicit = isTrue(v) }, &jsonedit.Pattern{Accept: isFalse}, 0},
	{"rewound", func(r *Record, v jsonedit.Value) { r.rewound = isTrue(v) }, &jsonedit.Pattern{Accept: isFalse}, 0},
	{"uuid", func(r *Record, v jsonedit.Value) { r.UUID, _ = v.Text() }, plain, captureUUID},
	{"timestamp", (*Record).setTime, plain, captureTime},
	{"cwd", func(r *Record, v jsonedit.Value) { r.CWD, _ = v.Text() }, nil, 0},
	{"version", func(r *Record, v jsonedit.Value) { r.Version, _ = v.Text() }, plain, captureVersion},
}

// recordSetters are the functions that set the fields, by name.
var recordSetters = func() map[string]func(*Record, jsonedit.Value) {
	m := map[string]func(*Record, jsonedit.Value){}
	for _, f := range recordFields {
		m[f.name] = f.set
	}
	return m
}()

func (r *Record) setTime(v jsonedit.Value) {
	r.Timestamp, _ = v.Text()
	r.Time, r.Timed = 0, false
	if t, err := time.Parse(time.RFC3339, r.Timestamp); err == nil {
		r.Time, r.Timed = t.UnixMilli(), true
	}
}

// A BlockField is a member that the provider takes in a block.
type BlockField struct {
	Name string
	// First are the first bytes of the JSON values that it may be, "" for what is checked
	// elsewhere.
	First string

	// usual is the form of the values in which no rule finds anything; nil for all that First
	// allows. needed says that a block without the member is not usual.
	usual   *jsonedit.Pattern
	needed  bool
	capture int
}

var (
	blockType    = BlockField{Name: "type", usual: plain, capture: captureKind}
	cacheControl = BlockField{Name: "cache_control", First: `{n`}
)

// BlockFields are the members of blocks by their type. Blocks of other types are not checked.
var BlockFields = map[string][]BlockField{
	"text": {blockType, {Name: "text", First: `"`, usual: visible, needed: true}, {Name: "citations", First: `[n`}, cacheControl},
	"thinking": {
		blockType,
		{Name: "thinking", First: `"`, needed: true},
		{Name: "signature", First: `"n`, usual: anyText, needed: true},
	},
	"redacted_thinking": {blockType, {Name: "data", First: `"`, needed: true}},
	"tool_use": {
		blockType,
		{Name: "id", usual: toolID, needed: true, capture: captureToolID},
		{Name: "name", usual: toolName, needed: true},
		{Name: "input", usual: &jsonedit.Pattern{Accept: isObject}, needed: true},
		cacheControl,
		{Name: "caller", First: `{n`},
	},
	"tool_result": {
		{Name: "tool_use_id", usual: toolID, needed: true, capture: captureToolID},
		blockType,
		{Name: "content", First: `"[n`, usual: result},
		{Name: "is_error", First: `tfn`},
		cacheControl,
	},
	"image": {blockType, {Name: "source", First: `{`, usual: source, needed: true}, cacheControl},
	"document": {
		blockType,
		{Name: "source", First: `{`, usual: source, needed: true},
		{Name: "title", First: `"n`},
		{Name: "context", First: `"n`},
		{Name: "citations", First: `{n`},
		cacheControl,
	},
}

// InnerTypes are the types of blocks that the provider takes in a result.
var InnerTypes = []string{"text", "image", "document", "search_result", "tool_reference"}

var (
	plain    = &jsonedit.Pattern{Accept: isPlain}
	anyText  = &jsonedit.Pattern{Accept: func(raw []byte) bool { return raw[0] == '"' }}
	visible  = &jsonedit.Pattern{Accept: isVisible}
	toolID   = &jsonedit.Pattern{Accept: isToolName}
	toolName = &jsonedit.Pattern{Accept: func(raw []byte) bool { return isToolName(raw) && len(raw) <= len(`""`)+128 }}
	source   = &jsonedit.Pattern{
		Open: true, Fields: []jsonedit.PatternField{{Name: "data", Pattern: anyText, Required: true}},
		Accept: func(raw []byte) bool { return len(raw) <= largestImage },
	}
	// result is the form of a result's content.
	result = &jsonedit.Pattern{OrText: true, Elements: &jsonedit.Pattern{Open: true, By: "type", Cases: innerCases()}}
)

func innerCases() map[string][]jsonedit.PatternField {
	cases := map[string][]jsonedit.PatternField{}
	for _, kind := range InnerTypes {
		fields := []jsonedit.PatternField{{Name: "type", Pattern: plain}}
		switch kind {
		case "text":
			fields = append(fields, jsonedit.PatternField{Name: "text", Pattern: visible, Required: true})
		case "image", "document":
			fields = append(fields, jsonedit.PatternField{Name: "source", Pattern: source, Required: true})
		}
		cases[kind] = fields
	}
	return cases
}

// blockCases returns the forms of usual blocks.
func blockCases() map[string][]jsonedit.PatternField {
	cases := map[string][]jsonedit.PatternField{}
	for kind, fields := range BlockFields {
		for _, f := range fields {
			p := f.usual
			if p == nil {
				p = &jsonedit.Pattern{Accept: func(raw []byte) bool { return bytes.IndexByte([]byte(f.First), raw[0]) >= 0 }}
			}
			cases[kind] = append(cases[kind], jsonedit.PatternField{Name: f.Name, Pattern: p, Required: f.needed, Capture: f.capture})
		}
	}
	return cases
}

func isTrue(v jsonedit.Value) bool { return string(v.Raw()) == "true" }

func isFalse(raw []byte) bool { return raw[0] == 'f' }

func isBool(raw []byte) bool { return raw[0] == 't' || raw[0] == 'f' }

func isObject(raw []byte) bool { return raw[0] == '{' }

// isPlain reports whether raw is a string without escapes.
func isPlain(raw []byte) bool { return raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 }

func isPlainOrNull(raw []byte) bool { return raw[0] == 'n' || isPlain(raw) }

// isToolName reports whether raw is a string of the characters that ids and names of tools have.
func isToolName(raw []byte) bool {
	if raw[0] != '"' || len(raw) == len(`""`) {
		return false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// isVisible reports whether raw is a string with something besides white space. It may report
// false for one in which that follows an escape of white space.
func isVisible(raw []byte) bool {
	if raw[0] != '"' {
		return false
	}
	for text := raw[1 : len(raw)-1]; len(text) > 0; {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == '\\' && (text[1] == 'n' || text[1] == 'r' || text[1] == 't'):
			n = 2
		case c == '\\':
			return text[1] == '"' || text[1] == '\\' || text[1] == '/'
		case c != utf8.RuneError && !unicode.IsSpace(c):
			return true
		}
		text = text[n:]
	}
	return false
}
