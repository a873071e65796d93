package transcript

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"mend/internal/request"
)

// A Break is a record where the conversation ends although earlier records exist: its parent does not exist, was dropped,
// or is the record itself or a later one.
type Break struct {
	Record *Record
	Next   *Record // the record that should be its parent
}

// walk follows the chain from the leaf through the parents up to the root.
func (c *Conversation) walk() {
	for r := c.Leaf; r != nil; r = c.loadedParent(r) {
		c.walked[r.UUID] = true
		c.Chain = append(c.Chain, r)
	}
	slices.Reverse(c.Chain)
}

// loadedParent returns the record that Claude Code uses as the parent, nil if it stops. Records before a compaction
// are not sent.
func (c *Conversation) loadedParent(r *Record) *Record {
	if r.IsBoundary() {
		return nil
	}
	if parent := c.parent[r.UUID]; parent != "" {
		if c.IsLoaded(parent) && !c.walked[parent] {
			return c.Record(parent)
		}
	} else if r.parentValue.Kind() == 0 || r.hasValidParent() {
		return nil
	}
	return c.fallback(r)
}

// fallback returns the latest record on r's side that the walk has not visited, and that is not newer and at most
// maxOlder older than r; or nil. If several records have that time, it returns the first in the file.
func (c *Conversation) fallback(r *Record) *Record {
	if !r.Timed {
		return nil
	}
	all := c.side(r.Side)
	i := sort.Search(len(all), func(i int) bool { return all[i].Time > r.Time }) - 1
	for ; i >= 0 && r.Time-all[i].Time <= maxOlder; i-- {
		if o := all[i]; !c.walked[o.UUID] {
			c.guessed[r.UUID] = true
			return o
		}
	}
	return nil
}

// side returns the records of one side, sorted by time.
func (c *Conversation) side(text string) []*Record {
	if byTime, ok := c.sides[text]; ok {
		return byTime
	}
	var byTime []*Record
	for _, o := range slices.Backward(c.order) {
		if o.Side == text && o.Timed && !c.dropped[o.UUID] && o.Subtype != "file_snapshot" {
			byTime = append(byTime, o)
		}
	}
	slices.SortStableFunc(byTime, func(a, b *Record) int { return cmp.Compare(a.Time, b.Time) })
	c.sides[text] = byTime
	return byTime
}

// A group has the records of an answer, and of the results of its calls, that the walk did not visit. It also has the
// range of the chain in which they are inserted.
type group struct {
	start, end int // range of the chain; its first record stays first
	found      []*Record
}

// regroup inserts the records of each answer that the walk did not visit, and the results of its calls, beside the
// answer's records in the chain.
func (c *Conversation) regroup() {
	r := regrouper{
		Conversation: c, answers: map[string][]*Record{}, children: map[string][]*Record{}, calls: map[string]*Record{},
		answered: map[string]bool{}, last: map[string]int{}, late: map[*Record]float64{},
	}
	r.index()
	var groups []group
	done := map[string]bool{}
	for i, o := range c.Chain {
		if o.Type != Assistant || o.MessageID == "" || done[o.MessageID] {
			continue
		}
		done[o.MessageID] = true
		g := group{start: i, end: r.last[o.MessageID] + 1, found: r.find(o.MessageID)}
		for g.end < len(c.Chain) && c.isPartOf(c.Chain[g.end], o.MessageID) {
			g.end++
		}
		switch n := len(groups) - 1; {
		case len(g.found) == 0:
		case n >= 0 && g.start < groups[n].end:
			groups[n].end = max(groups[n].end, g.end)
			groups[n].found = append(groups[n].found, g.found...)
		default:
			groups = append(groups, g)
		}
	}
	c.Chain = r.insert(groups)
}

// A regrouper has the indices for regroup.
type regrouper struct {
	*Conversation
	answers  map[string][]*Record // by message id
	children map[string][]*Record // results by parent, and by the record with their call
	calls    map[string]*Record   // by the id of a call; nil if several answers have it
	answered map[string]bool      // the calls with a result in the chain
	last     map[string]int       // the last record of each answer in the chain
	late     map[*Record]float64  // position of a result that was found by its call
}

type callKey struct {
	record *Record
	id     string
}

func (r *regrouper) index() {
	called := map[callKey]bool{} // the calls in each record
	for _, o := range r.order {
		if r.dropped[o.UUID] || o.Type != Assistant || o.MessageID == "" {
			continue
		}
		r.answers[o.MessageID] = append(r.answers[o.MessageID], o)
		for id := range o.toolIDs(request.ToolUse) {
			called[callKey{o, id}] = true
			if other, ok := r.calls[id]; ok && (other == nil || other.MessageID != o.MessageID) {
				r.calls[id] = nil
			} else {
				r.calls[id] = o
			}
		}
	}
	for _, o := range r.order {
		if r.dropped[o.UUID] || o.Type != User || !o.hasBlock(request.ToolResult) {
			continue
		}
		parent := r.parent[o.UUID]
		r.children[parent] = append(r.children[parent], o)
		for id := range o.toolIDs(request.ToolResult) {
			if p := r.calls[id]; p != nil && p.UUID != parent && !called[callKey{r.Record(parent), id}] &&
				p.Side == o.Side && p.AgentID == o.AgentID {
				r.children[p.UUID] = append(r.children[p.UUID], o)
			}
		}
	}
	for i, o := range r.Chain {
		for id := range o.toolIDs(request.ToolResult) {
			r.answered[id] = true
		}
		if o.Type == Assistant {
			r.last[o.MessageID] = i
		}
	}
}

// find returns the records of an answer that the walk did not visit, and results of its calls: results with a parent
// in the answer, and results of a call that has no result yet.
func (r *regrouper) find(answer string) (found []*Record) {
	take := func(o *Record) {
		if !r.walked[o.UUID] {
			r.walked[o.UUID] = true
			found = append(found, o)
		}
	}
	var named []*Record
	last, answered := 0.0, map[string]bool{}
	for _, o := range r.answers[answer] {
		last = max(last, float64(r.Place(o)))
		take(o)
	}
	for _, o := range r.answers[answer] {
		for _, res := range r.children[o.UUID] {
			if p := r.Record(r.parent[res.UUID]); p == nil || p.Type != Assistant || p.MessageID != answer {
				named = append(named, res)
				continue
			}
			for id := range res.toolIDs(request.ToolResult) {
				answered[id] = answered[id] || !r.walked[res.UUID]
			}
			take(res)
		}
	}
	slices.SortStableFunc(named, func(a, b *Record) int { return cmp.Compare(r.Place(a), r.Place(b)) })
	for _, o := range named {
		open := false
		for id := range o.toolIDs(request.ToolResult) {
			p := r.calls[id]
			open = open || !answered[id] && !r.answered[id] && p != nil && p.MessageID == answer
		}
		if !open || r.walked[o.UUID] {
			continue
		}
		for id := range o.toolIDs(request.ToolResult) {
			answered[id] = true
		}
		r.late[o] = max(float64(r.Place(o)), last+0.5)
		take(o)
	}
	return found
}

// insert returns the chain with the records of the groups in the order of the file.
func (r *regrouper) insert(groups []group) (chain []*Record) {
	place := func(o *Record) float64 {
		if at, ok := r.late[o]; ok {
			return at
		}
		return float64(r.Place(o))
	}
	at := 0
	for _, g := range groups {
		slices.SortStableFunc(g.found, func(a, b *Record) int { return cmp.Compare(place(a), place(b)) })
		chain = append(chain, r.Chain[at:g.start+1]...)
		for _, o := range r.Chain[g.start+1 : g.end] {
			for len(g.found) > 0 && place(g.found[0]) < float64(r.Place(o)) {
				chain, g.found = append(chain, g.found[0]), g.found[1:]
			}
			chain = append(chain, o)
		}
		chain, at = append(chain, g.found...), g.end
	}
	return append(chain, r.Chain[at:]...)
}

// isPartOf reports whether a record after an answer is part of it.
func (c *Conversation) isPartOf(r *Record, answer string) bool {
	switch r.Type {
	case Assistant:
		return r.MessageID == answer
	case User:
		return r.Meta || r.hasBlock(request.ToolResult)
	case System:
		return !r.IsBoundary()
	}
	return r.Type == Attachment
}

// findBreaks finds where the chain breaks, and continues the walk at the record before each break as if it were the
// parent.
func (c *Conversation) findBreaks() {
	if len(c.Chain) == 0 {
		return
	}
	v := *c
	v.walked, v.guessed = maps.Clone(c.walked), map[string]bool{}
	for r := c.Chain[0]; !c.mayBegin(r); {
		b := Break{Record: r, Next: v.previousFree(r)}
		if b.Next == nil || c.IsLoaded(c.parent[r.UUID]) && !c.InCycle(r) {
			return
		}
		for next := b.Next; next != nil; next = v.loadedParent(next) {
			v.walked[next.UUID], r = true, next
		}
		c.Breaks = append(c.Breaks, b)
	}
}

// previousFree returns the last record before r in the file that the walk has not visited and that can be its parent,
// or nil.
func (c *Conversation) previousFree(r *Record) *Record {
	for _, o := range slices.Backward(c.order[:c.Place(r)]) {
		if c.walked[o.UUID] || c.dropped[o.UUID] || o.Subtype == "file_snapshot" || o.UUID == noID ||
			o.IsSidechain() != r.IsSidechain() || o.AgentID != r.AgentID {
			continue
		}
		return o
	}
	return nil
}

// mayBegin reports whether a conversation may begin with the record. Claude Code writes a null parent to begin a new
// conversation on purpose, for example for a plan after the context was cleared, or if the parent is the first
// progress record. An answer and a result always have a parent.
func (c *Conversation) mayBegin(r *Record) bool {
	isFirst := c.parent[r.UUID] == "" && r.hasValidParent() &&
		r.Type != Assistant && !r.hasBlock(request.ToolResult)
	return r.IsBoundary() || r.Summary || isFirst || c.Place(r) == 0
}

// NewStart returns the first record of the conversation if Claude Code began it on purpose and left earlier records
// in the file; otherwise nil.
func (c *Conversation) NewStart() *Record {
	if len(c.Chain) == 0 || !c.mayBegin(c.Chain[0]) || c.Place(c.Chain[0]) == 0 {
		return nil
	}
	return c.Chain[0]
}

// InCycle reports whether a record is its own ancestor.
func (c *Conversation) InCycle(r *Record) bool {
	if c.cycles == nil {
		c.cycles = map[string]bool{}
		seen := map[string]*Record{} // for each record, the descendant that it was first reached from
		for _, start := range c.order {
			id := start.UUID
			for c.Record(id) != nil && seen[id] == nil {
				seen[id] = start
				id = c.parent[id]
			}
			for seen[id] == start && !c.cycles[id] {
				c.cycles[id] = true
				id = c.parent[id]
			}
		}
	}
	return c.cycles[r.UUID]
}

// Messages returns the number of messages of the records that Claude Code sends in part or in full: the records of one
// answer are one message.
func Messages(records []*Record) (n int) {
	answers := map[string]bool{}
	for _, r := range records {
		if r.Sendable() == 0 || r.MessageID != "" && answers[r.MessageID] {
			continue
		}
		answers[r.MessageID] = true
		n++
	}
	return n
}

// Path returns the records of the conversation, and the notes after its leaf.
func (c *Conversation) Path() []*Record {
	var notes []*Record
	for r := c.Record(c.End); r != nil && !r.IsMessage(); r = c.Record(c.Parent(r)) {
		notes = append(notes, r)
	}
	slices.Reverse(notes)
	if len(notes) == 0 || c.Parent(notes[0]) != c.Leaf.UUID {
		return c.Chain
	}
	return slices.Concat(c.Chain, notes)
}

// HasGuessedParent reports whether the record's parent does not exist, and Claude Code uses a record of nearly the
// same time instead.
func (c *Conversation) HasGuessedParent(r *Record) bool { return c.guessed[r.UUID] }

// LastBefore returns the last record of the conversation before r in the file, or nil.
func (c *Conversation) LastBefore(r *Record) *Record {
	if c.before == nil {
		c.before = make([]*Record, len(c.order))
		var last *Record
		for i, o := range c.order {
			c.before[i] = last
			if c.Owns(o) && o.Subtype != "file_snapshot" && o.UUID != noID {
				last = o
			}
		}
	}
	return c.before[c.place[r.UUID]]
}
