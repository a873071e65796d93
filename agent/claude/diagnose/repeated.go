package diagnose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"mend/agent/claude/transcript"
	"mend/internal/jsonedit"
	"mend/repair"
)

// findRepeated reports ids that two different records have: the later one takes the place of
// the earlier one. A record that is stored again has the time of the first. What is before a
// compaction counts where that may preserve it.
func (c *Case) findRepeated() {
	if !c.conv.Repeats() {
		return
	}
	first, boundary := map[string]int{}, c.lastBoundary()
	for i := range c.lines {
		r := c.lines[i].Record
		if r == nil || !r.InChain() || r.Sendable() == 0 {
			continue
		}
		at, ok := first[r.UUID]
		if !ok {
			first[r.UUID] = i
			continue
		}
		if was := c.lines[at].Record; was.Timestamp != r.Timestamp && was.Sendable() > 0 && !bytes.Equal(was.Content(), r.Content()) && c.lines[i].Start >= 0 && i > boundary {
			c.reportRepeated(at, i)
		}
	}
}

func (c *Case) reportRepeated(first, second int) {
	r := c.lines[second].Record
	f := c.recordFinding(ruleRepeated, repair.MissingHistory, r.UUID)
	d := found{why: fmt.Sprintf("The messages in the lines %d and %d have the same id, so Claude Code has only one of them, and what is before the other one is lost.", first+1, second+1)}
	id := newID(c.lines[second].Raw)
	d.fixes = []repair.Fix{{
		Text:  "The second message gets an id of its own, and what follows it is joined to that.",
		Whole: true,
		Edit:  func(d repair.Editor) error { return d.(*draft).splitRepeated(first, second, id) },
	}}
	if c.written != nil {
		d.fixes = nil // one rewritten transcript at a time
	}
	c.report(f, d)
}

// newID returns an id that follows from the bytes of a record.
func newID(raw []byte) string {
	sum := sha256.Sum256(raw)
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

// splitRepeated gives the second record another id. The records that follow it in the file
// and name its id are its children.
func (d *draft) splitRepeated(first, second int, id string) error {
	lines := d.c.base.lines
	old := lines[second].Record.UUID
	set := func(i int, name string) error {
		raw, err := jsonedit.Set(lines[i].Raw, jsonedit.Quote(id), name)
		if err == nil {
			d.setLine(i, raw)
		}
		return err
	}
	if err := set(second, "uuid"); err != nil {
		return err
	}
	for i := second + 1; i < len(lines); i++ {
		r := lines[i].Record
		if r == nil || r.Parent != old || belongsTo(r, lines[first].Record) {
			continue
		}
		if err := set(i, "parentUuid"); err != nil {
			return err
		}
	}
	return nil
}

// belongsTo reports whether a record is part of the same answer as another one.
func belongsTo(r, other *transcript.Record) bool {
	return r.MessageID != "" && r.MessageID == other.MessageID
}
