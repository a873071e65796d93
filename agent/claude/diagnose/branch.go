package diagnose

import (
	"fmt"

	"golang.org/x/mod/semver"

	"mend/agent/claude/transcript"
	"mend/repair"
)

// marksRewinds is the version from which the transcript tells when the user goes back to an
// earlier prompt.
const marksRewinds = "v2.1.330"

// A branch is what hangs on a record of the conversation and is not in it.
type branch struct {
	root *transcript.Record // its first record
	all  []*transcript.Record
	leaf *transcript.Record // its last record
}

// findBranches reports branches with prompts and answers that are not in the request. If two
// programs wrote them, the conversation gets both; a branch that the user left by going back
// to an earlier prompt stays as it is.
func (c *Case) findBranches() {
	if c.conv.Leaf == nil || c.conv.Hidden {
		return
	}
	next := map[string]*transcript.Record{} // the record of the conversation behind a record of it
	for i := 1; i < len(c.conv.Chain); i++ {
		next[c.conv.Parent(c.conv.Chain[i])] = c.conv.Chain[i]
	}
	for _, b := range c.branches() {
		own := next[c.conv.Parent(b.root)]
		if own == nil || !b.answered() {
			continue
		}
		n := transcript.Sendable(b.all)
		f := c.recordFinding(ruleBranch, MissingHistory, own.UUID)
		f.Which, f.Says = b.root.UUID, fmt.Sprintf("%d blocks are in another branch", n)
		d := found{why: fmt.Sprintf("Two branches hang on one record: %d blocks of the other one do not reach the model%s.", n, promptsIn(b.all))}
		if !c.concurrent(b, own) || !c.canEdit(own.UUID) || !c.canEdit(b.root.UUID) {
			continue
		}
		d.fixes = []repair.Fix{c.joinBranches(b, own, n)}
		c.report(f, d)
	}
}

// joinBranches returns the fix that puts one branch behind the other: this one, if it begins with
// a prompt; else it is an answer, which stays behind its prompt, and the other branch follows.
func (c *Case) joinBranches(b *branch, own *transcript.Record, n int) repair.Fix {
	if own.IsPrompt() || own.IsSynthetic() {
		up := b.leaf.UUID
		return repair.Fix{
			Text:  fmt.Sprintf("This branch is hung on the end of the other one: %d blocks come back.", n),
			Alike: true,
			Edit:  func(d repair.Draft) error { return d.(*draft).setParent(own.UUID, up) },
		}
	}
	up, leaf := c.conv.Leaf.UUID, b.leaf.UUID
	return repair.Fix{
		Text:  fmt.Sprintf("The other branch is hung on the end of this one: %d blocks come back.", n),
		Whole: true,
		Edit: func(d repair.Draft) error {
			d.(*draft).setLeaf(leaf)
			return d.(*draft).setParent(b.root.UUID, up)
		},
	}
}

// branches returns the branches that hang on a record of the conversation.
func (c *Case) branches() (all []*branch) {
	of := map[string]*branch{}
	for _, r := range c.conv.Records() {
		if c.conv.Has(r) || c.conv.Dropped(r) || r.IsSidechain() {
			continue
		}
		up := c.conv.Record(c.conv.Parent(r))
		switch {
		case up == nil:
		case c.conv.Has(up):
			if r.IsMessage() {
				b := &branch{root: r, all: []*transcript.Record{r}, leaf: r}
				of[r.UUID] = b
				all = append(all, b)
			}
		case of[up.UUID] != nil:
			b := of[up.UUID]
			of[r.UUID] = b
			b.all = append(b.all, r)
			if r.IsMessage() {
				b.leaf = r
			}
		}
	}
	return all
}

// answered reports whether the branch has an answer.
func (b *branch) answered() bool {
	for _, r := range b.all {
		if r.Type == transcript.Assistant && r.Sendable() > 0 {
			return true
		}
	}
	return false
}

// concurrent reports whether another process wrote the branch: the transcript would tell if
// the user had gone back.
func (c *Case) concurrent(b *branch, own *transcript.Record) bool {
	if c.conv.Rewound {
		return false
	}
	return semver.Compare("v"+own.Version, marksRewinds) >= 0 && semver.Compare("v"+b.root.Version, marksRewinds) >= 0
}
