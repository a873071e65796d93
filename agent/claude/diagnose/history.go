package diagnose

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"mend/agent/claude/transcript"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

// The rules about history.
const (
	ruleBreak   = "chain_broken"    // the conversation ends at a record before its beginning
	ruleUnread  = "line_unread"     // a line has a record that Claude Code does not read
	ruleTorn    = "line_torn"       // a line has an incomplete prompt, answer or result
	ruleUnknown = "unknown_type"    // records have types that mend does not know
	ruleHistory = "history_unread"  // messages are not sent for another reason, see [State.reportOnly]
	ruleBranch  = "branch_left_out" // a branch of the conversation is not in the request

	ruleFolder     = "folder_gone"      // the folder of the session does not exist
	ruleUnreadable = "nothing_readable" // the transcript has no prompt and no answer that can be loaded
	ruleSummary    = "summary_lost"     // a compaction has no summary
)

// findBreaks reports each break of the chain. The fix appends the record again with the right parent.
func (c *State) findBreaks() {
	if len(c.conv.Breaks) == 0 {
		return
	}
	linked := c.link()
	restored := make([][]*transcript.Record, len(c.conv.Breaks)) // by the fix of each break
	last := -1                                                   // the last break whose fix restores sent content
	for _, r := range linked.Chain {
		i := sort.Search(len(restored),
			func(i int) bool { return c.conv.Place(c.conv.Breaks[i].Record) <= c.conv.Place(r) }) - 1
		if i < 0 || c.conv.Contains(r) {
			continue
		}
		restored[i] = append(restored[i], r)
		if c.anySent(r) {
			last = max(last, i)
		}
	}
	all := transcript.Messages(linked.Chain)
	for i, b := range c.conv.Breaks[:last+1] {
		f := c.recordFinding(ruleBreak, b.Record.UUID)
		f.Unknown = c.followsUnknown(b.Record)
		n := transcript.Messages(restored[i])
		messages := fmt.Sprintf("%d of %s", n, count(max(all, n)))
		f.Text = messages + " not sent"
		f.Why = fmt.Sprintf("The message before this one is missing: its line was lost, torn or never written, or this line "+
			"does not name it. So Claude does not see %s%s.", messages, c.fromPrompt(restored[i]))
		if f.Fixes = []repair.Fix{link(b.Record, b.Next, n)}; !c.canEdit(b.Record.UUID) {
			f.Fixes, f.Refusal = nil, errNoLine
		}
		c.report(f)
	}
}

// followsUnknown reports whether a record follows one of an unknown type, which may be part of the conversation in a
// newer version.
func (c *State) followsUnknown(r *transcript.Record) bool {
	return slices.ContainsFunc(c.lines, func(l transcript.Line) bool {
		return l.Record != nil && l.Record.UUID == r.Parent && l.Record.UUID != "" && l.Record.UnknownType() != ""
	})
}

// link returns a fix that links a record to the one before it, so that n messages are sent again.
func link(r, before *transcript.Record, n int) repair.Fix {
	return repair.Fix{
		Text:  "The broken chain of messages is joined again: " + sentAgain(n) + ".",
		Alike: true,
		Edit:  func(d repair.Editor) error { return d.(*draft).setParent(r.UUID, before.UUID) },
	}
}

// findSkipped reports records that Claude Code skips because it replaces a missing parent with a record of nearly the
// same time.
func (c *State) findSkipped() {
	if c.conv.Hidden {
		return
	}
	for _, r := range c.conv.Chain {
		if !c.conv.HasGuessedParent(r) || !c.canEdit(r.UUID) {
			continue
		}
		before := c.conv.LastBefore(r)
		var skipped []*transcript.Record
		o := before
		for ; o != nil && !c.conv.Contains(o) && !c.conv.IsDropped(o) &&
			len(skipped) <= len(c.conv.Chain); o = c.conv.Record(c.conv.Parent(o)) {
			skipped = append(skipped, o)
		}
		n := transcript.Messages(skipped)
		if o == nil || !c.conv.Contains(o) || c.conv.Place(o) >= c.conv.Place(r) || !c.anySent(skipped...) {
			continue
		}
		f := c.recordFinding(ruleBreak, r.UUID)
		f.Detail, f.Text, f.Unknown = "skipped", count(n)+" not sent", c.followsUnknown(r)
		f.Why = fmt.Sprintf("The message before this one is missing, and Claude Code continues from an earlier one: "+
			"Claude does not see %s between them%s.", count(n), c.fromPrompt(skipped))
		f.Fixes = []repair.Fix{link(r, before, n)}
		c.report(f)
	}
}

func (d *draft) setParent(uuid, parent string) error {
	return d.setMember(uuid, jsonedit.Quote(parent), "parentUuid")
}

// fromPrompt names the first prompt among the records. It skips prompts that begin with "<": Claude Code wrote them.
func (c *State) fromPrompt(rs []*transcript.Record) string {
	var first *transcript.Record
	for _, r := range rs {
		if r.IsPrompt() && r.Title() != "" && !strings.HasPrefix(r.Title(), "<") &&
			(first == nil || c.conv.Place(r) < c.conv.Place(first)) {
			first = r
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf(", from the prompt \"%s\" on", request.Short(first.Title(), 60))
}

// findSidechain reports messages that are marked as a subagent's but name no subagent, if Claude Code therefore does not
// list the session.
func (c *State) findSidechain() {
	records := c.conv.Records()
	isMain := func(r *transcript.Record) bool { return r.IsMessage() && !r.IsSidechain() }
	marked := slices.IndexFunc(records, func(r *transcript.Record) bool {
		return r.IsMessage() && r.IsSidechain() && r.AgentID == ""
	})
	if c.conv.Agent != "" || marked < 0 || !c.conv.Hidden && slices.ContainsFunc(records, isMain) {
		return
	}
	c.reportOnly("marked_sidechain", records[marked], "the session is not listed", "Messages are marked as a subagent's, but "+
		"name no subagent, so Claude Code does not list the session.")
}
