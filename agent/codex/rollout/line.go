package rollout

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"mend/internal/jsonedit"
)

// Version is the newest version of the program that was observed.
const Version = "0.171.0"

// A line is one of a rollout.
type line struct {
	n       int // that it had in the file, from 1; 0 for a new one
	raw     []byte
	kind    string         // of the record; "" if the program does not read the line
	value   jsonedit.Value // the record
	payload jsonedit.Value
	of      string // the type of the payload: of an item or an event
	gone    bool   // a draft has removed it
	role
}

// A role is what the lines around it make of a line.
type role struct {
	first       int  // the line with which the message begins that the record is part of; 0 for none
	reasoned    bool // the response had reasoning before it
	interrupted bool // the response ended with this reasoning, when the user interrupted it
	again       bool // a session_meta after which the program forgets what is before it
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
		l.of = l.payload.TextAt("type")
		if kind := v.TextAt("type"); kinds[kind] && isOf("record", v) && isOf(kind, l.payload) {
			l.kind = kind
		}
	}
	return l
}

// marked returns a line with a mark in place of what is not UTF-8, nil for one that is.
func marked(raw []byte) [][]byte {
	if utf8.Valid(raw) {
		return nil
	}
	return [][]byte{bytes.ToValidUTF8(raw, []byte("\ufffd"))}
}

// isBlank reports whether the program skips the line as it skips an empty one.
func (l *line) isBlank() bool { return len(bytes.TrimSpace(l.raw)) == 0 }

func (l *line) ordinal() (int64, bool) { return l.value.Get("ordinal").Int() }

// isModels reports whether an item is part of an answer of the model.
func isModels(v jsonedit.Value) bool {
	kind := v.TextAt("type")
	return kind == "reasoning" || strings.HasSuffix(kind, "_call") || kind == "message" && v.TextAt("role") == "assistant"
}

// A response is what is known of the newest one of the model.
type response struct {
	open     bool  // more of it may come
	first    int   // the line with which the group of its next item begins; 0 for that item
	reasoned bool  // it has reasoning
	later    []int // the places of its items after the first reasoning
	sure     bool  // all others are calls that have outputs, of which none was read
}

// assignGroups finds out which items are of one response: those between records that are none of the model's. The
// program writes one about the use of tokens after each response. If the item that followed reasoning is lost,
// those after it are another group: the provider does not take them for that.
func assignGroups(lines []line) {
	known, called, answers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range lines {
		if l := &lines[i]; l.kind == "response_item" {
			known[l.payload.TextAt("id")] = true
			called[calls[l.of].output+l.payload.TextAt("call_id")] = true
			answers[l.of+l.payload.TextAt("call_id")] = isOutput(l.of)
		}
	}
	var r response
	// alone is the line with reasoning after which nothing of the model is yet
	begun, paginated, alone := false, isPaginated(lines), -1
	for i := range lines {
		l := &lines[i]
		reasoning, lost := l.lost(known)
		isItem := l.kind == "response_item"
		begun = begun || isItem || l.kind == "compacted"
		switch {
		case isItem && isModels(l.payload), l.kind == "compacted", l.of == "task_started":
			alone = -1
			if l.of == "reasoning" {
				alone = i
			}
		case l.of == "turn_aborted" && alone >= 0:
			lines[alone].interrupted = true
		}
		switch {
		case l.kind == "session_meta":
			l.again = begun && paginated // Codex Desktop writes the record again during a session, which is not paginated
		case isItem && isModels(l.payload):
			r.begin()
			if r.first = cmp.Or(r.first, l.n); r.reasoned {
				r.later = append(r.later, i)
			}
			l.first, l.reasoned = r.first, r.reasoned
			r.reasoned = r.reasoned || l.of == "reasoning"
			r.sure = r.sure && (l.of == "reasoning" || answers[calls[l.of].output+l.payload.TextAt("call_id")])
		case lost && (r.open || reasoning):
			if r.begin(); len(r.later) == 0 {
				r.first, r.reasoned = 0, r.reasoned || reasoning
			}
		case isItem && isOutput(l.of):
			l.first, r.open = l.n, false
			if !called[l.of+l.payload.TextAt("call_id")] && r.reasoned && r.sure { // that call followed the reasoning
				for _, j := range r.later {
					lines[j].first = lines[r.later[0]].n
				}
			}
			r.sure = false
		case isItem, l.kind == "compacted":
			l.first, r = l.n, response{}
		case l.kind == "token_usage_record", l.kind == "event_msg" && l.of == "token_count":
			r.open = false
		}
	}
}

func (r *response) begin() {
	if !r.open {
		*r = response{open: true, sure: true}
	}
}

// lost reports whether a line is about an item of the model, or the rest of one, that is none of those that are
// known; and whether that is reasoning.
func (l *line) lost(known map[string]bool) (reasoning, lost bool) {
	if kind := l.payload.TextAt("item", "type"); l.kind == "event_msg" && l.of == "item_completed" &&
		(kind == "Reasoning" || kind == "AgentMessage") {
		return kind == "Reasoning", !known[l.payload.TextAt("item", "id")]
	}
	if l.kind != "" || !bytes.Contains(l.raw, []byte(`"response_item"`)) {
		return false, false
	}
	return bytes.Contains(l.raw, []byte(`"type":"reasoning"`)), true
}

func (l *line) group() string { return lineGroup(l.first) }

// lineGroup names a message by the line that it begins with.
func lineGroup(n int) string { return "line-" + strconv.Itoa(n) }
