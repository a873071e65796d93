package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mend/agent/claude/transcript"
	"mend/internal/request"
	"mend/repair"
)

// marksRewinds is the first version of Claude Code that records when the user goes back to an earlier prompt.
const marksRewinds = "v2.1.330"

// A branch has records that follow a record of the conversation but are not part of it.
type branch struct {
	root *transcript.Record // its first record
	all  []*transcript.Record
	leaf *transcript.Record // its last prompt or answer; its root if it has none
}

func (b *branch) add(r *transcript.Record) {
	b.all = append(b.all, r)
	if r.IsMessage() {
		b.leaf = r
	}
}

// findBranches reports branches with answers that are not in the request. If two programs wrote them, the fix joins
// both branches; a branch that the user may have left by going back to an earlier prompt stays unchanged.
func (c *State) findBranches() {
	if c.conv.Leaf == nil || c.conv.Hidden || c.conv.Agent != "" {
		return
	}
	path := c.conv.Path()
	next := make(map[string]*transcript.Record, len(path)) // the next record of the conversation, by record
	for i := 1; i < len(path); i++ {
		next[c.conv.Parent(path[i])] = path[i]
	}
	isSentPrompt := func(r *transcript.Record) bool { return r.IsPrompt() && c.anySent(r) }
	var left []*transcript.Record                  // in branches that the user may have left
	siblings := map[*transcript.Record][]*branch{} // other branches, by the record with which the conversation continues
	for _, b := range c.branches(path) {
		if c.isBeforeBoundary(b.root) || !c.hasAnswer(b) { // the user has replaced a prompt that has no answer
			continue
		}
		own := c.continuation(b, next)
		if own != nil && c.concurrent(b, own) && c.canEdit(own.UUID) && c.canEdit(b.root.UUID) {
			siblings[own] = append(siblings[own], b)
		} else if slices.ContainsFunc(b.all, isSentPrompt) {
			left = append(left, b.all...)
		}
	}
	for _, own := range path {
		if len(siblings[own]) > 0 {
			c.reportBranches(siblings[own], own)
		}
	}
	c.noteLeft(left)
}

// continuation returns the record with which the conversation continues where the branch leaves it, or nil. The
// result of a parallel call has no next record, so it searches a few ancestors, too.
func (c *State) continuation(b *branch, next map[string]*transcript.Record) *transcript.Record {
	const tries = 16
	parent := c.conv.Parent(b.root)
	for range tries {
		r := c.conv.Record(parent)
		if next[parent] != nil || r == nil || !c.conv.Contains(r) {
			return next[parent]
		}
		parent = c.conv.Parent(r)
	}
	return nil
}

// reportBranches reports branches beside the record with which the conversation continues.
func (c *State) reportBranches(branches []*branch, own *transcript.Record) {
	n := 0
	var all []*transcript.Record
	for _, b := range branches {
		n += transcript.Messages(b.all)
		all = append(all, b.all...)
	}
	f := c.recordFinding(ruleBranch, own.UUID)
	f.Detail, f.Text = branches[0].root.UUID, count(n)+" in another branch"
	f.Why = fmt.Sprintf("The conversation splits into %d branches, and Claude does not see %s%s.", len(branches)+1,
		count(n), c.fromPrompt(all))
	f.Fixes = []repair.Fix{c.joinBranches(branches, own, n)}
	c.report(f)
}

// findOmitted notes texts of the conversation that are not sent and that no other finding explains. It examines only
// the stored transcript, not drafts: if a repair leaves such texts, the next scan notes them.
func (c *State) findOmitted() {
	if c.conv.Leaf == nil || c.conv.Hidden || c.conv.Agent != "" || len(c.edits.set) > 0 || c.written != nil ||
		slices.ContainsFunc(c.faults, func(f repair.Finding) bool { return isHistory(f) || f.Code == ruleUnread }) {
		return
	}
	c.noteLeft(c.omittedRecords())
}

// omittedRecords returns the session's records with texts that are neither in the conversation nor in a branch.
func (c *State) omittedRecords() (all []*transcript.Record) {
	isText := func(b *transcript.Block) bool { return b.Type == request.Text }
	inBranch := map[*transcript.Record]bool{}
	for _, b := range c.branches(c.conv.Path()) {
		for _, r := range b.all {
			inBranch[r] = true
		}
	}
	for _, r := range c.conv.Records() {
		if !inBranch[r] && !c.conv.Contains(r) && !c.conv.IsDropped(r) && c.conv.Owns(r) &&
			!c.isBeforeBoundary(r) && !r.Summary && c.canEdit(r.UUID) && c.anySent(r) && slices.ContainsFunc(r.Blocks(), isText) {
			all = append(all, r)
		}
	}
	return all
}

// noteLeft notes records beside the conversation that stay unchanged. If the transcript shows that the user went
// back, it notes nothing.
func (c *State) noteLeft(all []*transcript.Record) {
	if len(all) == 0 || c.conv.Rewound {
		return
	}
	f := c.recordFinding(ruleBranch, all[0].UUID)
	messages := count(transcript.Messages(all))
	f.Severity, f.Detail, f.Text = repair.Note, "left", messages+" beside the conversation"
	f.Why = fmt.Sprintf("Beside the conversation there are messages that Claude does not see: %s%s.", messages,
		c.fromPrompt(all))
	f.Refusal = &repair.RefusalError{
		Helps: true, Final: true,
		Why: "You may have gone back to an earlier prompt yourself. The transcript does not show whether that is " +
			"damage, so it is left alone.",
	}
	c.report(f)
}

// joinBranches returns the fix that inserts branches, one after another, before the record with which the
// conversation continues. If that record is an answer, which stays after its prompt, the branches follow at the
// end.
func (c *State) joinBranches(branches []*branch, own *transcript.Record, n int) repair.Fix {
	parents := map[string]string{} // the new parents of records
	for i := 1; i < len(branches); i++ {
		parents[branches[i].root.UUID] = branches[i-1].leaf.UUID
	}
	leaf := branches[len(branches)-1].leaf.UUID
	if own.IsPrompt() || own.IsSynthetic() || !own.IsMessage() {
		parents[own.UUID] = leaf
		return repair.Fix{
			Text:  "The branch in use is joined to the end of the other one: " + sentAgain(n) + ".",
			Alike: true, Edit: func(d repair.Editor) error { return d.(*draft).setParents(parents) },
		}
	}
	parents[branches[0].root.UUID] = c.conv.Leaf.UUID
	return repair.Fix{
		Text:  "The other branch is joined to the end of the one in use: " + sentAgain(n) + ".",
		Whole: true,
		Edit: func(d repair.Editor) error {
			d.(*draft).setLeaf(leaf)
			return d.(*draft).setParents(parents)
		},
	}
}

func (d *draft) setParents(parents map[string]string) (err error) {
	for record, parent := range parents {
		err = errors.Join(err, d.setParent(record, parent))
	}
	return err
}

// branches returns the branches that follow a record of the path.
func (c *State) branches(path []*transcript.Record) (all []*branch) {
	byID, onPath, seen := map[string]*branch{}, make(map[string]bool, len(path)), map[string]bool{}
	for _, r := range path {
		onPath[r.UUID] = true
	}
	for _, r := range c.conv.Records() {
		var unseen []*transcript.Record // the record and its ancestors up to one that was already seen
		for ; r != nil && !onPath[r.UUID] && !seen[r.UUID] && !c.conv.IsDropped(r) &&
			!r.IsSidechain(); r = c.conv.Record(c.conv.Parent(r)) {
			seen[r.UUID] = true
			unseen = append(unseen, r)
		}
		if r == nil {
			continue
		}
		b := byID[r.UUID]
		for _, r := range slices.Backward(unseen) {
			switch {
			case b != nil:
				b.add(r)
			case onPath[c.conv.Parent(r)]:
				b = &branch{root: r, all: []*transcript.Record{r}, leaf: r}
				all = append(all, b)
			}
			byID[r.UUID] = b
		}
	}
	return all
}

// isBeforeBoundary reports whether a record is before the last compaction, or before the point where a new
// conversation begins. A record whose parent is after that point does not count, whatever its own time is.
func (c *State) isBeforeBoundary(r *transcript.Record) bool {
	b := cmp.Or(c.conv.Boundary, c.conv.NewStart())
	if b == nil || c.conv.Place(r) < c.conv.Place(b) {
		return b != nil
	}
	parent := c.conv.Record(r.Parent)
	follows := parent != nil && c.conv.Contains(parent) && !slices.Contains(c.conv.Preserved, parent.UUID)
	return r.Timed && b.Timed && r.Time < b.Time && !follows
}

// hasAnswer reports whether the branch has an answer.
func (c *State) hasAnswer(b *branch) bool {
	return slices.ContainsFunc(b.all, func(r *transcript.Record) bool {
		return r.Type == transcript.Assistant && c.anySent(r)
	})
}

// concurrent reports whether another process wrote the branch, because Claude Code would have recorded a rewind. Print
// mode and the SDK go back without a record (--resume-session-at): if they wrote the later branch, and it does not begin
// with an answer or a result, then the first message of the earlier branch after that beginning, by place or by time
// (two processes may write records out of order), must be an answer or a result.
func (c *State) concurrent(b *branch, own *transcript.Record) bool {
	if c.conv.Rewound || !versionRecordsRewinds(own) || !versionRecordsRewinds(b.root) {
		return false
	}
	earlier, later := b.all, own
	if c.conv.Place(b.root) > c.conv.Place(own) {
		earlier, later = c.conv.Chain[slices.Index(c.conv.Chain, own)+1:], b.root
	}
	if !strings.HasPrefix(later.Entrypoint, "sdk") || later.IsMessage() && !later.IsPrompt() {
		return true
	}
	next := slices.IndexFunc(earlier, func(r *transcript.Record) bool {
		return r.IsMessage() && (c.conv.Place(r) > c.conv.Place(later) || r.Timed && later.Timed && r.Time > later.Time)
	})
	return next >= 0 && !earlier[next].IsPrompt()
}

// versionRecordsRewinds reports whether the version that wrote the record also records when the user goes back to an
// earlier prompt.
func versionRecordsRewinds(r *transcript.Record) bool {
	return semver.Compare("v"+r.Version, marksRewinds) >= 0
}
