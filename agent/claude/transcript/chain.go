package transcript

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"mend/request"
)

// A Break is a record at which the conversation ends although there is more before it.
type Break struct {
	Record *Record
	Why    Cause
	Next   *Record   // the record that should be its parent
	Found  []*Record // the records that come back with Next, up to the next break
}

// A Cause says why a chain breaks.
type Cause uint8

// The causes.
const (
	UnknownParent Cause = iota // the parent is not in the file, or not in the chain
	NoParent                   // null, missing or of a wrong type
	ParentCycle                // the parent is the record itself, or comes behind it
)

// maxBreaks is how many breaks are found at a time: each takes a look at all records.
const maxBreaks = 256

// walk finds the chain: from the leaf by parents up to the root.
func (c *Conversation) walk() {
	if c.Leaf = c.Tail; c.Leaf == nil {
		return
	}
	for r := c.Leaf; r != nil; r = c.above(r) {
		c.walked[r.UUID] = true
		c.Chain = append(c.Chain, r)
	}
	slices.Reverse(c.Chain)
}

// above returns the record that the program takes for the parent, nil where it stops.
func (c *Conversation) above(r *Record) *Record {
	if up := c.parent[r.UUID]; up != "" {
		if p := c.records[up]; p != nil && !c.walked[up] && !c.dropped[up] {
			return p
		}
	} else if r.ParentKind != ParentOther {
		return nil
	}
	return c.fallback(r)
}

// fallback returns the latest record of the same side that is not much older, nil if there is
// none. Of records of one time it is the first in the file.
func (c *Conversation) fallback(r *Record) *Record {
	if c.Profile.Fallback == 0 || !r.Timed {
		return nil
	}
	side := c.side(r.Side)
	i := sort.Search(len(side.byTime), func(i int) bool { return side.byTime[i].Time > r.Time }) - 1
	found := side.latest(i, func(o *Record) bool { return !c.walked[o.UUID] })
	if found == nil || r.Time-found.Time > c.Profile.Fallback {
		return nil
	}
	return found
}

// A timedSide has the records of one side by time.
type timedSide struct {
	byTime []*Record
	below  []int // where to look for one that is not walked: itself, or an earlier one
}

func (c *Conversation) side(text string) *timedSide {
	if s := c.sides[text]; s != nil {
		return s
	}
	s := &timedSide{}
	for _, o := range slices.Backward(c.order) {
		if o.Side == text && o.Timed && !c.dropped[o.UUID] && o.Subtype != "file_snapshot" {
			s.byTime = append(s.byTime, o)
		}
	}
	slices.SortStableFunc(s.byTime, func(a, b *Record) int { return cmp.Compare(a.Time, b.Time) })
	for i := range s.byTime {
		s.below = append(s.below, i)
	}
	c.sides[text] = s
	return s
}

// latest returns the last record up to i that may be taken. Those that may not once are
// skipped from then on.
func (s *timedSide) latest(i int, free func(*Record) bool) *Record {
	var passed []int
	for i >= 0 && (s.below[i] != i || !free(s.byTime[i])) {
		passed = append(passed, i)
		if s.below[i] == i {
			s.below[i] = i - 1
		}
		i = s.below[i]
	}
	for _, p := range passed {
		s.below[p] = i
	}
	if i < 0 {
		return nil
	}
	return s.byTime[i]
}

// regroup puts the other records of each answer, and the results of its calls, beside those
// that are in the chain.
func (c *Conversation) regroup() {
	answers, results, byCall := map[string][]*Record{}, map[string][]*Record{}, map[string]*Record{}
	for _, r := range c.order {
		switch {
		case c.dropped[r.UUID]:
		case r.Type == Assistant && r.MessageID != "":
			answers[r.MessageID] = append(answers[r.MessageID], r)
		case r.Type == User && r.has(request.ToolResult):
			results[c.parent[r.UUID]] = append(results[c.parent[r.UUID]], r)
			for _, b := range r.Blocks() {
				if b.Type == request.ToolResult && byCall[b.ToolID] == nil {
					byCall[b.ToolID] = r
				}
			}
		}
	}
	answered := map[string]bool{}
	for _, r := range c.Chain {
		for _, b := range r.Blocks() {
			answered[b.ToolID] = answered[b.ToolID] || b.Type == request.ToolResult
		}
	}
	done := map[string]bool{}
	for i := 0; i < len(c.Chain); i++ {
		r := c.Chain[i]
		if r.Type != Assistant || r.MessageID == "" || done[r.MessageID] {
			continue
		}
		done[r.MessageID] = true
		var found []*Record
		take := func(o *Record) {
			if o != nil && !c.walked[o.UUID] && o.Side == r.Side {
				c.walked[o.UUID] = true
				found = append(found, o)
			}
		}
		for _, o := range answers[r.MessageID] {
			take(o)
		}
		for _, o := range answers[r.MessageID] {
			for _, res := range results[o.UUID] {
				take(res)
			}
			for _, b := range o.Blocks() {
				if b.Type == request.ToolUse && !answered[b.ToolID] {
					take(byCall[b.ToolID])
				}
			}
		}
		if len(found) > 0 {
			c.insert(i, r.MessageID, found)
		}
	}
}

// insert puts records of the answer that begins at i where they are in the file, as far as the
// answer and what belongs to it reach.
func (c *Conversation) insert(i int, answer string, found []*Record) {
	end := i + 1
	for k := i + 1; k < len(c.Chain); k++ {
		if c.Chain[k].Type == Assistant && c.Chain[k].MessageID == answer {
			end = k + 1
		}
	}
	for end < len(c.Chain) && c.belongs(c.Chain[end], answer) {
		end++
	}
	slices.SortStableFunc(found, func(a, b *Record) int { return cmp.Compare(c.Place(a), c.Place(b)) })
	merged := append([]*Record{}, c.Chain[:i+1]...)
	for _, r := range c.Chain[i+1 : end] {
		for len(found) > 0 && c.Place(found[0]) < c.Place(r) {
			merged, found = append(merged, found[0]), found[1:]
		}
		merged = append(merged, r)
	}
	merged = append(merged, found...)
	c.Chain = append(merged, c.Chain[end:]...)
}

// belongs reports whether a record behind an answer is part of it.
func (c *Conversation) belongs(r *Record, answer string) bool {
	switch r.Type {
	case Assistant:
		return r.MessageID == answer
	case User:
		return r.Meta || r.has(request.ToolResult)
	case System:
		return !r.IsBoundary()
	}
	return r.Type == Attachment
}

// findBreaks finds where the chain breaks, and walks on behind each break as if it were
// repaired.
func (c *Conversation) findBreaks() {
	if len(c.Chain) == 0 {
		return
	}
	virtual := *c
	virtual.walked = map[string]bool{}
	for id := range c.walked {
		virtual.walked[id] = true
	}
	for r := c.Chain[0]; r != nil && len(c.Breaks) < maxBreaks; {
		b, ok := virtual.breakAt(r)
		if !ok {
			return
		}
		r = nil
		for next := b.Next; next != nil; next = virtual.above(next) {
			virtual.walked[next.UUID] = true
			b.Found = append(b.Found, next)
			r = next
		}
		b.Found = append(b.Found, virtual.beside(b.Found)...)
		c.Breaks = append(c.Breaks, b)
	}
}

// breakAt returns the break at the record at which the walk ended. ok is false if the
// conversation begins there.
func (c *Conversation) breakAt(r *Record) (b Break, ok bool) {
	if r.IsBoundary() || r.Summary {
		return b, false
	}
	b = Break{Record: r, Next: c.before(r)}
	if b.Next == nil {
		return b, false
	}
	switch {
	case c.parent[r.UUID] == "":
		b.Why = NoParent
	case c.records[c.parent[r.UUID]] != nil:
		b.Why = ParentCycle
		return b, c.inCycle(r)
	}
	return b, true
}

// inCycle reports whether the parents of a record lead back to it.
func (c *Conversation) inCycle(r *Record) bool {
	id := c.parent[r.UUID]
	for n := 0; n <= len(c.order) && id != ""; n++ {
		if id == r.UUID {
			return true
		}
		if c.records[id] == nil {
			return false
		}
		id = c.parent[id]
	}
	return false
}

// before returns the last record before r in the file that the conversation can go on with,
// nil if nothing that is sent is before it.
func (c *Conversation) before(r *Record) (next *Record) {
	sent := false
	for _, o := range c.order[:c.place[r.UUID]] {
		if c.walked[o.UUID] || c.dropped[o.UUID] || o.IsSidechain() != r.IsSidechain() || o.AgentID != r.AgentID || o.Subtype == "file_snapshot" {
			continue
		}
		next = o
		sent = sent || o.Sendable() > 0
	}
	if !sent {
		return nil
	}
	return next
}

// beside returns the records that regroup will put beside those that were found.
func (c *Conversation) beside(found []*Record) (more []*Record) {
	if !c.Profile.Regroup {
		return nil
	}
	answers, ids := map[string]bool{}, map[string]bool{}
	for _, r := range found {
		if r.Type == Assistant && r.MessageID != "" {
			answers[r.MessageID] = true
		}
	}
	for _, r := range c.order {
		if r.Type == Assistant && answers[r.MessageID] {
			ids[r.UUID] = true
		}
	}
	for _, r := range c.order {
		if !c.walked[r.UUID] && !c.dropped[r.UUID] && (ids[r.UUID] || r.Type == User && ids[c.parent[r.UUID]] && r.has(request.ToolResult)) {
			c.walked[r.UUID] = true
			more = append(more, r)
		}
	}
	return more
}

// Ambiguous reports whether a break may be where the user went back to the beginning: older
// versions do not store that.
func (c *Conversation) Ambiguous(b Break) bool {
	if b.Why != NoParent || !b.Record.IsPrompt() {
		return false
	}
	return c.Rewound || !strings.HasPrefix(b.Record.Version, "2.1.")
}

// Sendable returns how many blocks of the records the program sends.
func Sendable(records []*Record) (n int) {
	for _, r := range records {
		n += r.Sendable()
	}
	return n
}

// LastBefore returns the last record of the main conversation before r in the file, nil if
// there is none.
func (c *Conversation) LastBefore(r *Record) (last *Record) {
	for _, o := range c.order[:c.place[r.UUID]] {
		if !o.IsSidechain() && o.Subtype != "file_snapshot" {
			last = o
		}
	}
	return last
}
