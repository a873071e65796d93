package diagnose

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"mend/internal/ownfile"
	"mend/repair"
)

// notFound is what the program says of a transcript in which it finds no conversation.
const notFound = "No conversation found"

// findNothing reports a transcript of which the program loads no record, as one that was emptied, or of which only
// titles and settings are left; it is latent if there are notes or context. It does not report what another finding
// explains.
func (c *State) findNothing() bool {
	isBroken := func(f repair.Finding) bool { return f.Severity == repair.Broken }
	if c.base.Agent != "" || c.conv.HasMessage() || slices.ContainsFunc(c.faults, isBroken) {
		return false
	}
	refusal := &repair.RefusalError{
		Helps: true, Final: true,
		Why: fmt.Sprintf("What was said is not in the file. If mend has kept it: mend restore %[1]s. If nothing was "+
			"said in this session: mend clean sessions %[1]s.", c.base.Ref.Session),
	}
	if c.conv.Found() {
		c.report(repair.Finding{
			Code: ruleUnreadable, Class: repair.UnreadableRecord, Severity: repair.Latent,
			Ref:  c.base.Ref,
			Text: notFound,
		}, found{
			why: "The transcript has no prompt and no answer that can be loaded, only notes and context. In the " +
				"session's folder Claude Code continues it without a past; elsewhere it finds no conversation.",
			refusal: refusal,
		})
		return false
	}
	why := "The transcript has no prompt and no answer that can be loaded"
	switch data := c.base.Data; {
	case isUTF16(data):
		why = "The transcript is stored as UTF-16, as some editors do"
		refusal.Why = fmt.Sprintf("mend does not convert it. If mend has kept it: mend restore %s.", c.base.Ref.Session)
	case len(data) == 0:
		why = "The transcript is empty"
	case len(bytes.Trim(data, "\x00")) == 0:
		why = "The transcript has nothing but NUL bytes, as after a crash of the machine"
	}
	c.report(repair.Finding{Code: ruleUnreadable, Class: repair.UnreadableRecord, Ref: c.base.Ref, Text: notFound}, found{
		why:     why + ", so Claude Code does not list the session.",
		refusal: refusal,
	})
	return true
}

// findFolder notes that no list of the program has the session, because its folder is gone.
func (c *State) findFolder() {
	gone := c.base.Gone
	if gone == "" {
		return
	}
	c.report(repair.Finding{Code: ruleFolder, Class: repair.MissingFolder, Severity: repair.Note, Ref: c.base.Ref}, found{
		why: fmt.Sprintf("The session's folder %s does not exist. Claude Code lists a session, and finds it for "+
			"--continue, in its folder alone; --resume with its id finds it.", gone),
		refusal: &repair.RefusalError{
			Helps: true, Final: true,
			Why: fmt.Sprintf("If the folder was moved or renamed: mend move %s NEW. If it was deleted, create it: mkdir "+
				"-p -- %[1]s.", ownfile.Quote(gone)),
		},
	})
}

// isUTF16 reports whether a transcript begins as one in UTF-16.
func isUTF16(data []byte) bool {
	return slices.ContainsFunc([]string{"\xff\xfe", "\xfe\xff", "{\x00\"\x00", "\x00{\x00\""}, func(begin string) bool {
		return bytes.HasPrefix(data, []byte(begin))
	})
}

// findTorn reports lines that are no record and have none in them, and prompts and answers without a
// message. What a prompt, an answer or a result held is lost; other lines are a note.
func (c *State) findTorn() {
	var lost, others []string
	for i := range c.lines {
		l := &c.lines[i]
		switch {
		case l.Record != nil && c.conv.Owns(l.Record) && l.Record.IsMessage() && !l.Record.Loads() &&
			c.conv.Record(l.Record.UUID) == l.Record:
			lost = append(lost, strconv.Itoa(i+1))
		case l.Record != nil || len(bytes.TrimSpace(l.Raw)) == 0 || len(salvage(l, false)) > 0:
		case isMessagePart(l.Raw) && i > c.lastBoundary():
			lost = append(lost, strconv.Itoa(i+1))
		default:
			others = append(others, strconv.Itoa(i+1))
		}
	}
	c.reportTorn(lost, repair.Finding{Code: ruleTorn, Class: repair.LostContent, Severity: repair.Lost},
		"A prompt, an answer or a result is not complete there, as after a crash or on a full disk. Claude Code skips "+
			"it without a word, and the model does not see it.",
		"The rest of the message is not in the file. If mend has kept it: mend restore "+c.base.Ref.Session+".")
	c.reportTorn(others, repair.Finding{Code: ruleUnread, Class: repair.UnreadableRecord, Severity: repair.Note},
		"It is no complete record, as after a crash or on a full disk. Claude Code skips it. As far as can be seen, "+
			"it was no prompt, no answer and no result.", "It does no harm.")
}

func (c *State) reportTorn(lines []string, f repair.Finding, why, whyNot string) {
	if len(lines) == 0 {
		return
	}
	f.Ref, f.Text = c.base.Ref, fmt.Sprintf("line %s cannot be read", lines[0])
	if n := len(lines) - 1; n > 0 {
		f.Text = fmt.Sprintf("line %s and %d more cannot be read", lines[0], n)
	}
	c.report(f, found{why: why, refusal: &repair.RefusalError{Final: true, Why: whyNot}})
}

// isMessagePart reports whether a torn line is a part of a prompt, an answer or a result, as far as its type is there.
func isMessagePart(raw []byte) bool {
	has := func(member string) bool { return bytes.Contains(raw, []byte(member)) }
	switch {
	case has(`"attachment":`), has(`"type":"progress"`), has(`"type":"system"`):
		return false
	case has(`"message":{`), has(`"type":"user"`), has(`"type":"assistant"`):
		return true
	}
	return has(`{"parentUuid":`)
}
