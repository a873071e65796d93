package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mend/agent/claude/transcript"
	"mend/internal/jsonedit"
	"mend/repair"
)

// An unread is a complete record that Claude Code does not read.
type unread struct {
	line   int
	raw    []byte
	record *transcript.Record
}

// findUnread reports lines with a record that Claude Code does not read because NUL bytes, a byte order mark, a torn
// record or another record are before it on the line. The fix writes the record on a line of its own. A record that
// would not be sent anyway is no loss.
func (c *State) findUnread() {
	all := c.unread()
	if len(all) == 0 {
		return
	}
	d := c.edit()
	for _, u := range all {
		d.add(u.record.UUID, u.raw)
	}
	read, end := load(c.base, d.edits), ""
	if leaf := read.conv.Leaf; leaf != nil && slices.ContainsFunc(all,
		func(u unread) bool { return u.record.UUID == leaf.UUID }) {
		end = leaf.UUID // the conversation continues at this record once it is read
		read.edits.leaf = end
	}
	read.keepLeaf(read.edits.leafOf(c.base))
	gains := read.countBlocks() > c.countBlocks()
	for _, u := range all {
		f := c.recordFinding(ruleUnread, u.record.UUID)
		f.Text = fmt.Sprintf("line %d cannot be read", u.line+1)
		f.Why = fmt.Sprintf("Line %d of the transcript has a complete message that Claude Code does not read, because of "+
			"the bytes before it.", u.line+1)
		if c.written != nil {
			f.Refusal = &repair.RefusalError{Why: "Other lines change first. Then repair the session again."}
		} else if gains {
			f.Fixes = []repair.Fix{{
				Text: "The message is written on a line of its own, so it is read again.", Alike: true,
				Edit: func(d repair.Editor) error {
					d.(*draft).add(u.record.UUID, u.raw)
					if u.record.UUID == end {
						d.(*draft).setLeaf(end)
					}
					return nil
				},
			}}
		} else {
			f.Severity = repair.Note
			f.Refusal = &repair.RefusalError{
				Final: true,
				Why:   "It would not be sent: it is not part of the conversation, or has nothing but thinking.",
			}
		}
		c.report(f)
	}
}

// findUnknown reports records of types that mend does not know: mend skips them, as the newest observed version does.
// A newer version may use them. If the version is known, only records with a message are reported.
func (c *State) findUnknown() {
	var types []string
	isNewer := c.base.isNewer()
	for i := range c.lines {
		if r := c.lines[i].Record; r != nil && r.UnknownType() != "" && i > c.lastBoundary() && (isNewer ||
			r.Role() != "") && !slices.Contains(types, r.UnknownType()) {
			types = append(types, r.UnknownType())
		}
	}
	if len(types) == 0 {
		return
	}
	text := fmt.Sprintf("records of types that mend does not know: %.200s", strings.Join(types, ", "))
	why := fmt.Sprintf("Claude Code %.20s wrote %s. It may send them, or leave out others because of them. "+
		"mend judges the rest as Claude Code %s loads it.", c.base.Version, text, transcript.Version)
	if !isNewer {
		why = "There are " + text + ". Claude Code skips them, and the model does not see their content."
	}
	c.report(repair.Finding{
		Code: ruleUnknown, Ref: c.base.Ref, Text: text, Severity: repair.Lost,
		Unknown: true, Why: why,
		Refusal: &repair.RefusalError{Helps: true, Final: true, Why: "mend leaves them as they are."},
	})
}

// unread returns the records of the conversation that Claude Code does not read.
func (c *State) unread() (all []unread) {
	known := map[string]bool{}
	boundary := c.lastBoundary()
	for i := range c.lines {
		l := &c.lines[i]
		for _, raw := range completeRecords(l, true) {
			r := transcript.NewLine(raw).Record
			if r == nil || !r.InChain() || !c.conv.Owns(r) || r.Sendable() == 0 || known[r.UUID] ||
				c.conv.Record(r.UUID) != nil || i < boundary || !c.canEdit(r.UUID) {
				continue
			}
			known[r.UUID] = true
			all = append(all, unread{i, raw, r})
		}
	}
	return all
}

// lastBoundary returns the line of the last compaction, or -1.
func (c *State) lastBoundary() int {
	for i := len(c.lines) - 1; i >= 0; i-- {
		if r := c.lines[i].Record; r != nil && r.IsBoundary() {
			return i
		}
	}
	return -1
}

// completeRecords returns the complete records in a line; with skipRead, without the one that Claude Code reads.
func completeRecords(l *transcript.Line, skipRead bool) (records [][]byte) {
	if skipRead && l.Record != nil && len(l.Rest) == 0 {
		return nil
	}
	rest := l.Rest
	if l.Record == nil || !skipRead {
		rest = l.Raw
	}
	for _, part := range jsonedit.Split(rest, []byte(`{"parentUuid":`)) {
		var line bytes.Buffer
		if part[0] == '{' && json.Compact(&line, part) == nil {
			records = append(records, line.Bytes())
		}
	}
	return records
}
