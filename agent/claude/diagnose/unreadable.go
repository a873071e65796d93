package diagnose

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"mend/internal/jsonedit"
	"mend/internal/ownfile"
	"mend/repair"
)

// findNothing reports a transcript from which Claude Code loads no prompt and no answer, for example because it was
// emptied, or has only titles and settings; it is latent if there are notes or context. It does not report cases that
// another finding explains. It reports whether Claude Code finds no conversation.
func (c *State) findNothing() bool {
	isBroken := func(f repair.Finding) bool { return f.Severity == repair.Broken }
	if c.base.Agent != "" || c.conv.HasMessage() || slices.ContainsFunc(c.faults, isBroken) {
		return false
	}
	refusal := &repair.RefusalError{
		Helps: true, Final: true,
		Why: fmt.Sprintf("What was said is not in the file. If mend kept it: mend restore %[1]s. If nothing was "+
			"said in this session: mend clean sessions %[1]s.", c.base.Ref.Session),
	}
	f := repair.Finding{
		Code: ruleUnreadable, Ref: c.base.Ref, Refusal: refusal,
		Text: "No conversation found", // Claude Code's own words
	}
	data, found := c.base.Data, c.conv.Found()
	switch {
	case found:
		f.Severity = repair.Latent
		f.Why = "The transcript has no prompt and no answer that can be loaded, only notes and context. In the " +
			"session's folder Claude Code continues it without its history; elsewhere it finds no conversation."
	case jsonedit.IsForeign(data):
		f.Why = "Claude Code does not list the session: of the transcript, " + jsonedit.Foreign + "."
		refusal.Why = fmt.Sprintf("mend reads UTF-8 only. If the file has text, a text editor can save it as UTF-8. If "+
			"mend kept the session: mend restore %s.", c.base.Ref.Session)
	default:
		f.Why = "The transcript has no prompt and no answer that can be loaded, so Claude Code does not list the session."
	}
	c.report(f)
	return !found
}

// findFolder notes that Claude Code lists the session nowhere, because the session's folder does not exist.
func (c *State) findFolder() {
	gone := c.base.Gone
	if gone == "" {
		return
	}
	c.report(repair.Finding{
		Code: ruleFolder, Severity: repair.Note, Ref: c.base.Ref,
		Why: fmt.Sprintf("The session's folder %s does not exist. Claude Code lists a session, and finds it for "+
			"--continue, only in its folder; --resume with its id finds it.", gone),
		Refusal: &repair.RefusalError{
			Helps: true, Final: true,
			Why: fmt.Sprintf("If the folder was moved or renamed: mend move %s NEW. If it was deleted, create it: mkdir "+
				"-p -- %[1]s.", ownfile.Quote(gone)),
		},
	})
}

// findTorn reports lines without any record, and prompts and answers without a message. A line that was part of a
// prompt, an answer or a result is lost content; any other line is a note.
func (c *State) findTorn() {
	var lost, others []string
	for i := range c.lines {
		l := &c.lines[i]
		switch {
		case l.Record != nil && c.conv.Owns(l.Record) && l.Record.IsMessage() && !l.Record.IsLoadable() &&
			c.conv.Record(l.Record.UUID) == l.Record:
			lost = append(lost, strconv.Itoa(i+1))
		case l.Record != nil || len(bytes.TrimSpace(l.Raw)) == 0 || len(completeRecords(l, false)) > 0:
		case isMessagePart(l.Raw) && i > c.lastBoundary():
			lost = append(lost, strconv.Itoa(i+1))
		default:
			others = append(others, strconv.Itoa(i+1))
		}
	}
	c.reportTorn(lost, repair.Finding{Code: ruleTorn, Severity: repair.Lost},
		"A prompt, an answer or a result is incomplete there, as after a crash or on a full disk. Claude Code skips "+
			"it silently, and the model does not see it.",
		"The rest of the message is not in the file. If mend kept it: mend restore "+c.base.Ref.Session+".")
	c.reportTorn(others, repair.Finding{Code: ruleUnread, Severity: repair.Note},
		"The line is not a complete record, as after a crash or on a full disk. Claude Code skips it. As far as can be "+
			"seen, it was not a prompt, an answer or a result.", "It does no harm.")
}

func (c *State) reportTorn(lines []string, f repair.Finding, why, whyNot string) {
	if len(lines) == 0 {
		return
	}
	f.Ref, f.Text = c.base.Ref, fmt.Sprintf("line %s cannot be read", lines[0])
	if n := len(lines) - 1; n > 0 {
		f.Text = fmt.Sprintf("line %s and %d more cannot be read", lines[0], n)
	}
	f.Why, f.Refusal = why, &repair.RefusalError{Final: true, Why: whyNot}
	c.report(f)
}

// isMessagePart reports whether a torn line is part of a prompt, an answer or a result. It recognizes the part only if
// the type of the record is left.
func isMessagePart(raw []byte) bool {
	contains := func(member string) bool { return bytes.Contains(raw, []byte(member)) }
	switch {
	case contains(`"attachment":`), contains(`"type":"progress"`), contains(`"type":"system"`):
		return false
	case contains(`"message":{`), contains(`"type":"user"`), contains(`"type":"assistant"`):
		return true
	}
	return contains(`{"parentUuid":`)
}
