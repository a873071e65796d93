package rollout

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"mend/internal/jsonedit"
	"mend/internal/request"
)

// A Summary is the list entry of a session.
type Summary struct {
	ID, Title, Directory, Version string
	Base                          string // the id of the rollout with the beginning of a fork, see [NameIDs]; "" for none
	Created                       int64  // milliseconds since 1970
}

// ReadSummary reads the beginning of a rollout.
func ReadSummary(head []byte) (s Summary) {
	begun := false
	for raw := range bytes.Lines(head) {
		l := newLine(1, bytes.TrimSuffix(raw, []byte("\n")))
		if !begun && !l.isBlank() {
			_, s.ID = metaOf([]line{l})
			s.Base, _, _ = baseOf([]line{l})
			begun = true
		}
		switch {
		case l.kind == "session_meta" && s.Version == "":
			s.Directory, s.Version = l.payload.TextAt("cwd"), l.payload.TextAt("cli_version")
		case l.kind == "turn_context" && s.Directory == "":
			s.Directory = l.payload.TextAt("cwd")
		case s.Title == "":
			first, _, _ := strings.Cut(l.prompt(), "\n")
			s.Title = request.Short(first, 80)
		}
		if t, err := time.Parse(time.RFC3339, l.value.TextAt("timestamp")); s.Created == 0 && err == nil {
			s.Created = t.UnixMilli()
		}
		if s.Title != "" && s.Directory != "" && s.Version != "" && s.Created != 0 {
			break
		}
	}
	return s
}

// CountMessages counts the prompts and answers of a rollout, and returns the id of the first.
func CountMessages(data []byte) (n int, first string) {
	lines, _ := parseLines(data)
	for i := range lines {
		if lines[i].isMessage() {
			if n++; n == 1 {
				first = lines[i].payload.TextAt("id")
			}
		}
	}
	return n, first
}

// isMessage reports whether a line is a prompt or an answer.
func (l *line) isMessage() bool {
	return l.kind == "response_item" && (isPrompt(l.payload) || l.payload.TextAt("role") == "assistant")
}

// CountMissing counts the records of an older rollout that a rollout has lost, in full or in part, and the prompts
// and answers among them. After an edit by mend only texts of messages count. unnamed means that the rollout lacks
// its session id, which a repair may restore.
func CountMissing(data, old []byte, edited bool) (records, messages int, unnamed bool) {
	at := map[string][]*line{}
	lines, _ := parseLines(data)
	for i := range lines {
		at[lines[i].key()] = append(at[lines[i].key()], &lines[i])
	}
	wanted, _ := parseLines(old)
	for i := range wanted {
		l := &wanted[i]
		if l.isUnique(edited) && !slices.ContainsFunc(at[l.key()], l.isContained) {
			records++
			if l.isMessage() {
				messages++
			}
		}
	}
	_, id := metaOf(lines)
	_, oldID := metaOf(wanted)
	return records, messages, id == "" && oldID != ""
}

// isUnique reports whether the line has content that Codex cannot rebuild. Content that only the provider can
// read does not count.
func (l *line) isUnique(edited bool) bool {
	isItem := l.kind == "response_item" && l.subtype != "reasoning" && l.subtype != "compaction" &&
		l.subtype != "compaction_summary"
	return isItem && l.subtype == "message" || !edited && (isItem || l.kind == "compacted")
}

// contents are the members of a payload that Codex cannot rebuild. Ids are not among them, because repairs change
// ids.
var contents = []string{
	"role", "name", "arguments", "input", "action", "output", "result", "content", "message",
	"replacement_history",
}

// isContained reports whether a later state of the line has all its texts.
func (l *line) isContained(later *line) bool {
	return later.subtype == l.subtype && !slices.ContainsFunc(contents,
		func(name string) bool { return jsonedit.HasLostText(later.payload.Get(name), l.payload.Get(name)) })
}

// Join returns a kept rollout, followed by the lines of data after the last line that is in both. If data has a
// record of another session, Join adds nothing.
func Join(kept, data []byte, session string) []byte {
	lines, _ := parseLines(kept)
	known := map[string]bool{}
	for i := range lines {
		known[lines[i].key()] = true
	}
	current, _ := parseLines(data)
	gained := current
	for i := range current {
		l := &current[i]
		if l.kind == "session_meta" && l.payload.TextAt("id") != session {
			return kept
		}
		if known[l.key()] {
			gained = current[i+1:]
		}
	}
	gained = slices.DeleteFunc(gained, func(l line) bool {
		return l.value.TextAt("type") == "" || l.kind == "session_meta"
	})
	if len(gained) == 0 {
		return kept
	}
	d := draft{content: content{lines: append(lines, gained...)}}
	if _, known := d.newOrdinals(); known {
		_ = d.setOrdinals() // all are objects
	}
	return d.data()
}

// key returns the time and the type of a line, by which it is found in another rollout.
func (l *line) key() string { return l.value.TextAt("timestamp") + " " + l.value.TextAt("type") }
