package diagnose

import (
	"bytes"
	"fmt"
	"slices"

	"mend/internal/ownfile"
	"mend/repair"
)

// notFound is what the program says of a transcript in which it finds no conversation.
const notFound = "No conversation found"

// findNothing reports a transcript of which the program loads no record, as one that was emptied, or of
// which only titles and settings are left; it is latent if there are notes or context. It does not report what another finding explains.
func (c *Case) findNothing() bool {
	isBroken := func(f repair.Finding) bool { return f.Severity == repair.Broken }
	if c.base.Agent != "" || c.conv.HasMessage() || slices.ContainsFunc(c.findings.All(), isBroken) {
		return false
	}
	refusal := &repair.RefusalError{Helps: true, Final: true, Why: fmt.Sprintf("What was said is not in the file. If mend has kept it: mend restore %s. Else put a copy in its place, from a backup or another machine; if nothing was said in this session, delete the file.", c.base.Ref.Session)}
	if c.conv.Found() {
		c.report(repair.Finding{Code: ruleUnreadable, Class: repair.UnreadableRecord, Severity: repair.Latent, Ref: c.base.Ref, Text: notFound}, found{
			why:     "The transcript has no prompt and no answer that can be loaded, only notes and context. In the session's folder Claude Code continues it without a past; elsewhere it finds no conversation.",
			refusal: refusal,
		})
		return false
	}
	why := "The transcript has no prompt and no answer that can be loaded"
	switch data := c.base.Data; {
	case isUTF16(data):
		why = "The transcript is stored as UTF-16, as some editors do"
		refusal.Why = "mend does not write it again. Save it as UTF-8 with an editor, then scan again."
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
func (c *Case) findFolder() {
	gone := c.base.Gone
	if gone == "" {
		return
	}
	c.report(repair.Finding{Code: ruleFolder, Class: repair.MissingFolder, Severity: repair.Note, Ref: c.base.Ref}, found{
		why:     fmt.Sprintf("The session's folder %s does not exist. Claude Code lists a session, and finds it for --continue, in its folder alone; --resume with its id finds it.", gone),
		refusal: &repair.RefusalError{Helps: true, Final: true, Why: fmt.Sprintf("If the folder was moved or renamed: mend move %s NEW. If it was deleted, create it: mkdir -p -- %[1]s.", ownfile.Quote(gone))},
	})
}

// isUTF16 reports whether a transcript begins as one in UTF-16.
func isUTF16(data []byte) bool {
	return slices.ContainsFunc([]string{"\xff\xfe", "\xfe\xff", "{\x00\"\x00", "\x00{\x00\""}, func(begin string) bool {
		return bytes.HasPrefix(data, []byte(begin))
	})
}

// findTorn notes lines that are no record and have none in them, and prompts and answers without a
// message: what they held is lost.
func (c *Case) findTorn() {
	first, n := 0, 0
	for i := range c.lines {
		l := &c.lines[i]
		empty := l.Record != nil && c.conv.Owns(l.Record) && l.Record.IsMessage() && !l.Record.Loads() && c.conv.Record(l.Record.UUID) == l.Record
		if !empty && (l.Record != nil || len(bytes.TrimSpace(l.Raw)) == 0 || len(salvage(l, false)) > 0) {
			continue
		}
		if n++; n == 1 {
			first = i + 1
		}
	}
	if n == 0 {
		return
	}
	text := fmt.Sprintf("line %d cannot be read", first)
	if n > 1 {
		text = fmt.Sprintf("line %d and %d more cannot be read", first, n-1)
	}
	c.report(repair.Finding{Code: ruleUnread, Class: repair.UnreadableRecord, Ref: c.base.Ref, Text: text, Severity: repair.Note}, found{
		why:     "It is not a complete message, as after a crash or on a full disk. Claude Code skips it: if it was a prompt or an answer, that does not reach the model.",
		refusal: &repair.RefusalError{Final: true, Why: "The rest of the message is not in the file."},
	})
}
