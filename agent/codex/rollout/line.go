package rollout

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mend/internal/jsonedit"
)

// Version is the newest version of Codex that was observed.
const Version = "0.171.0"

type line struct {
	n       int // its number in the file, from 1; 0 for a new line
	raw     []byte
	kind    string         // type of the record; "" if Codex does not read the line
	value   jsonedit.Value // the record
	payload jsonedit.Value
	subtype string // type of the payload, which is an item or an event
	gone    bool   // removed by a draft
	role
}

// A role has the facts about a line that follow from the lines around it.
type role struct {
	first       int  // first line of the message that contains the record; 0 for none
	reasoned    bool // the response had reasoning before the line
	interrupted bool // the response ended with this reasoning: the user, an error or a crash interrupted it
	again       bool // a session_meta after which Codex forgets everything before it
}

// parseLines returns the lines of a file, and whether the last one has no newline.
func parseLines(data []byte) (lines []line, torn bool) {
	torn = len(data) > 0 && data[len(data)-1] != '\n'
	for raw := range bytes.Lines(data) {
		lines = append(lines, newLine(len(lines)+1, bytes.TrimSuffix(raw, []byte("\n"))))
	}
	assignGroups(lines)
	return lines, torn
}

func newLine(n int, raw []byte) line {
	l := line{n: n, raw: raw}
	if v := jsonedit.Parse(bytes.TrimSpace(raw)); v.Kind() == '{' && utf8.Valid(raw) {
		l.value, l.payload = v, v.Get("payload")
		l.subtype = l.payload.TextAt("type")
		if kind := v.TextAt("type"); kinds[kind] && matchesSchema("record", v) && matchesSchema(kind, l.payload) {
			l.kind = kind
		}
	}
	return l
}

// markInvalid returns a line with U+FFFD in place of bytes that are not UTF-8; nil if the line is UTF-8.
func markInvalid(raw []byte) [][]byte {
	if utf8.Valid(raw) {
		return nil
	}
	return [][]byte{bytes.ToValidUTF8(raw, []byte("\ufffd"))}
}

// isBlank reports whether Codex skips the line like an empty one.
func (l *line) isBlank() bool { return len(bytes.TrimSpace(l.raw)) == 0 }

func (l *line) ordinal() (int64, bool) { return l.value.Get("ordinal").Int() }

func (l *line) hasOrdinal() bool { _, ok := l.ordinal(); return ok }

// isFromModel reports whether the model wrote an item.
func isFromModel(v jsonedit.Value) bool {
	kind := v.TextAt("type")
	return kind == "reasoning" || strings.HasSuffix(kind, "_call") || kind == "message" && v.TextAt("role") == "assistant"
}

// A response has the known facts about the model's newest response.
type response struct {
	open     bool  // more of it may come
	first    int   // first line of its current message; 0 if the next item begins a message
	reasoned bool  // it has reasoning
	later    []int // the indexes of its items after the first reasoning
	calls    bool  // apart from reasoning it has only calls, and each has an output
}

// assignGroups sets the roles of the lines. The items of one response form a message: those between two records that
// the model did not write, such as the token counts that Codex writes after each response. If the item that followed
// reasoning is lost, the next items form another message, because the provider does not accept them in its place.
func assignGroups(lines []line) {
	known, called, answers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range lines {
		if l := &lines[i]; l.kind == "response_item" {
			known[l.payload.TextAt("id")] = true
			called[calls[l.subtype].output+l.payload.TextAt("call_id")] = true
			answers[l.subtype+l.payload.TextAt("call_id")] = isOutput(l.subtype)
		}
	}
	var r response
	begun, paginated := false, isPaginated(lines)
	last, older := &line{}, isOlder(lines)
	for i := range lines {
		l := &lines[i]
		reasoning, lost := l.lost(known)
		isItem := l.kind == "response_item"
		begun = begun || isItem || l.kind == "compacted"
		last = l.checkReasoning(last, lost, older)
		switch {
		case l.kind == "session_meta":
			l.again = begun && paginated // Codex Desktop repeats the record during a session, which is not paginated
		case isItem && isFromModel(l.payload):
			r.begin()
			if r.first = cmp.Or(r.first, l.n); r.reasoned {
				r.later = append(r.later, i)
			}
			l.first, l.reasoned = r.first, r.reasoned
			r.reasoned = r.reasoned || l.subtype == "reasoning"
			r.calls = r.calls && (l.subtype == "reasoning" || answers[calls[l.subtype].output+l.payload.TextAt("call_id")])
		case lost && (r.open || reasoning):
			if r.begin(); len(r.later) == 0 {
				r.first, r.reasoned = 0, r.reasoned || reasoning
			}
		case isItem && isOutput(l.subtype):
			l.first, r.open = l.n, false
			if !called[l.subtype+l.payload.TextAt("call_id")] && r.reasoned && r.calls { // its call is lost: it followed the reasoning
				for _, j := range r.later {
					lines[j].first = lines[r.later[0]].n
				}
			}
			r.calls = false
		case isItem, l.kind == "compacted":
			l.first, r = l.n, response{}
		case l.kind == "token_usage_record", l.kind == "event_msg" && l.subtype == "token_count":
			r.open = false
		}
	}
	last.interrupted = last.interrupted || !older
}

// isOlder reports whether a version wrote the lines that stores no token_usage_record after a complete response.
func isOlder(lines []line) bool {
	return slices.ContainsFunc(lines, func(l line) bool {
		return l.subtype == "token_count" && l.payload.Get("info").Kind() == '{'
	}) && !slices.ContainsFunc(lines, func(l line) bool { return l.kind == "token_usage_record" })
}

// checkReasoning marks last as interrupted if l shows that its response was incomplete. last is the newest item of the
// model, if that is reasoning. The provider accepts such reasoning without a following item: Codex sends it again when it
// repeats a request whose stream ended early. In older versions only an interruption by the user shows it.
// checkReasoning returns the next last.
func (l *line) checkReasoning(last *line, lost, older bool) *line {
	isItem := l.kind == "response_item" && isFromModel(l.payload)
	switch {
	case isItem && l.subtype == "reasoning":
		return l
	case isItem, lost, l.kind == "compacted", l.kind == "token_usage_record", older && l.subtype == "task_started":
		return &line{}
	case l.subtype == "turn_aborted", !older && (l.subtype == "token_count" || l.subtype == "task_started"):
		last.interrupted = true
	}
	return last
}

func (r *response) begin() {
	if !r.open {
		*r = response{open: true, calls: true}
	}
}

// lost reports whether a line contains, or is part of, an item of the model that was not read, and whether the item
// is reasoning.
func (l *line) lost(known map[string]bool) (reasoning, lost bool) {
	if kind := l.payload.TextAt("item", "type"); l.kind == "event_msg" && l.subtype == "item_completed" &&
		(kind == "Reasoning" || kind == "AgentMessage") {
		return kind == "Reasoning", !known[l.payload.TextAt("item", "id")]
	}
	if l.kind != "" || !bytes.Contains(l.raw, []byte(`"response_item"`)) {
		return false, false
	}
	return bytes.Contains(l.raw, []byte(`"type":"reasoning"`)), true
}

func (l *line) group() string { return lineGroup(l.first) }

// lineGroup names a message after its first line.
func lineGroup(n int) string { return "line-" + strconv.Itoa(n) }
