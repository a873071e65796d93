package diagnose

import (
	"bytes"

	"mend/agent/claude/transcript"
	"mend/repair"
)

// findUnreadable reports a transcript in which the program finds no record at all. A transcript
// in UTF-16 is written again as UTF-8.
func (c *Case) findUnreadable() bool {
	if c.edits.recode || len(c.base.Data) == 0 {
		return false
	}
	for i := range c.lines {
		if c.lines[i].Record != nil {
			return false
		}
	}
	f := repair.Finding{Code: ruleUnreadable, Class: repair.UnreadableRecord, Ref: c.base.Ref, Text: "No conversation found"}
	d := found{why: "Claude Code finds no record in the transcript, so it does not list the session."}
	switch {
	case c.base.recoded != nil:
		d.why = "The transcript is stored as UTF-16, as some editors do. Claude Code finds no record in it, so it does not list the session."
		d.fixes = []repair.Fix{{
			Text: "The transcript is written again as UTF-8.", Whole: true,
			Edit: func(d repair.Draft) error { d.(*draft).edits.recode = true; return nil },
		}}
	case c.salvageable():
		return false
	case len(bytes.Trim(c.base.Data, "\x00")) == 0:
		d.refusal = &repair.RefusalError{Helps: true, Final: true, Why: "The file has nothing but NUL bytes, as after a crash of the machine: its text is lost. Only a backup has it."}
	default:
		d.refusal = &repair.RefusalError{Helps: true, Final: true, Why: "No line of the file is a complete record."}
	}
	c.report(f, d)
	return true
}

// salvageable reports whether a line has a complete record that is not read.
func (c *Case) salvageable() bool {
	for i := range c.lines {
		for _, raw := range salvage(&c.lines[i], true) {
			if r := transcript.NewLine(raw).Record; r != nil && r.UUID != "" {
				return true
			}
		}
	}
	return false
}
