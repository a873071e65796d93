package transcript

import (
	"cmp"
	"maps"
	"math"
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
	i := sort.Search(len(side.records), func(i int) bool { return side.records[i].Time > r.Time }) - 1
	found := side.latest(i, func(o *Record) bool { return !c.walked[o.UUID] })
	if found == nil || r.Time-found.Time > c.Profile.Fallback {
		return nil
	}
	c.guessed[r.UUID] = true
	return found
}

// A freeList has records in an order, to find the last one before a place that is not walked.
type freeList struct {
	records []*Record
	below   []int // where to look for one that is not walked: itself, or an earlier one
}

func (l *freeList) add(r *Record) {
	l.below = append(l.below, len(l.records))
	l.records = append(l.records, r)
}

// side returns the records of one side by time.
func (c *Conversation) side(text string) *freeList {
	if s := c.sides[text]; s != nil {
		return s
	}
	var byTime []*Record
	for _, o := range slices.Backward(c.order) {
		if o.Side == text && o.Timed && !c.dropped[o.UUID] && o.Subtype != "file_snapshot" {
			byTime = append(byTime, o)
		}
	}
	slices.SortStableFunc(byTime, func(a, b *Record) int { return cmp.Compare(a.Time, b.Time) })
	s := &freeList{}
	for _, o := range byTime {
		s.add(o)
	}
	c.sides[text] = s
	return s
}

// latest returns the last record up to i that may be taken. Those that may not once are
// skipped from then on.
func (l *freeList) latest(i int, free func(*Record) bool) *Record {
	var passed []int
	for i >= 0 && (l.below[i] != i || !free(l.records[i])) {
		passed = append(passed, i)
		if l.below[i] == i {
			l.below[i] = i - 1
		}
		i = l.below[i]
	}
	for _, p := range passed {
		l.below[p] = i
	}
	if i < 0 {
		return nil
	}
	return l.records[i]
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
	chain := newChainList(c.Chain)
	for i := 0; i < len(chain.nodes); i = chain.nodes[i].next {
		r := chain.nodes[i].record
		if r.Type != Assistant || r.MessageID == "" || done[r.MessageID] {
			continue
		}
		done[r.MessageID] = true
		var found []*Record
		take := func(o *Record) {
			if o != nil && !c.walked[o.UUID] {
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
				if res := byCall[b.ToolID]; b.Type == request.ToolUse && !answered[b.ToolID] && res != nil && res.Side == r.Side {
					take(res)
				}
			}
		}
		if len(found) > 0 {
			c.insert(&chain, i, r.MessageID, found)
		}
	}
	c.Chain = chain.records()
}

// A chainList is a chain as a linked list. The first node is the root.
type chainList struct {
	nodes []chainNode
	last  map[string]int // the last node of each answer
}

type chainNode struct {
	record *Record
	next   int // an index of nodes; noNode behind the leaf
}

const noNode = math.MaxInt

func newChainList(records []*Record) chainList {
	l := chainList{last: map[string]int{}}
	for i, r := range records {
		l.nodes = append(l.nodes, chainNode{r, i + 1})
		if r.Type == Assistant {
			l.last[r.MessageID] = i
		}
	}
	if len(records) > 0 {
		l.nodes[len(records)-1].next = noNode
	}
	return l
}

// insertBehind inserts a record behind a node, and returns its node.
func (l *chainList) insertBehind(at int, r *Record) int {
	n := len(l.nodes)
	l.nodes = append(l.nodes, chainNode{r, l.nodes[at].next})
	l.nodes[at].next = n
	return n
}

func (l *chainList) records() (all []*Record) {
	for i := 0; i < len(l.nodes); i = l.nodes[i].next {
		all = append(all, l.nodes[i].record)
	}
	return all
}

// insert puts records of the answer that begins at i where they are in the file, as far as the
// answer and what belongs to it reach.
func (c *Conversation) insert(chain *chainList, i int, answer string, found []*Record) {
	end := chain.last[answer]
	for next := chain.nodes[end].next; next != noNode && c.belongs(chain.nodes[next].record, answer); next = chain.nodes[end].next {
		end = next
	}
	slices.SortStableFunc(found, func(a, b *Record) int { return cmp.Compare(c.Place(a), c.Place(b)) })
	at := i
	for len(found) > 0 {
		if next := chain.nodes[at].next; at != end && c.Place(found[0]) >= c.Place(chain.nodes[next].record) {
			at = next
			continue
		}
		inserted := chain.insertBehind(at, found[0])
		if at == end {
			end = inserted
		}
		at, found = inserted, found[1:]
	}
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
// repaired. A walk takes what no earlier one has taken, so all of them look at each record a
// few times, however many breaks there are.
func (c *Conversation) findBreaks() {
	if len(c.Chain) == 0 {
		return
	}
	virtual := breakWalk{Conversation: *c}
	virtual.walked, virtual.guessed = maps.Clone(c.walked), map[string]bool{}
	for r := c.Chain[0]; r != nil; {
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

// A breakWalk is a conversation on which findBreaks walks on.
type breakWalk struct {
	Conversation
	open    map[owner]*openRecords // nil until there is a break
	answers map[string][]*Record   // by message id, with the results of their calls
}

// An owner is whose record it is.
type owner struct {
	sidechain bool
	agent     string
}

// openRecords are the records of an owner that a conversation can go on with, by place, and
// those of them that are sent.
type openRecords struct{ all, sent freeList }

// index makes the indices of the walk.
func (c *breakWalk) index() {
	c.open, c.answers = map[owner]*openRecords{}, map[string][]*Record{}
	ids := map[string]string{} // of the message of each answer
	for _, o := range c.order {
		if o.Type == Assistant && o.MessageID != "" {
			ids[o.UUID] = o.MessageID
		}
	}
	for _, o := range c.order {
		if c.dropped[o.UUID] {
			continue
		}
		id := ids[o.UUID]
		if id == "" && o.Type == User && o.has(request.ToolResult) {
			id = ids[c.parent[o.UUID]]
		}
		if id != "" {
			c.answers[id] = append(c.answers[id], o)
		}
		if o.Subtype == "file_snapshot" {
			continue
		}
		by := owner{o.IsSidechain(), o.AgentID}
		if c.open[by] == nil {
			c.open[by] = &openRecords{}
		}
		c.open[by].all.add(o)
		if o.Sendable() > 0 {
			c.open[by].sent.add(o)
		}
	}
}

// breakAt returns the break at the record at which the walk ended. ok is false if the
// conversation begins there.
func (c *breakWalk) breakAt(r *Record) (b Break, ok bool) {
	if r.IsBoundary() || r.Summary {
		return b, false
	}
	b = Break{Record: r, Next: c.goesOnWith(r)}
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

// goesOnWith returns the last record before r in the file that the conversation can go on with,
// nil if nothing that is sent is before it.
func (c *breakWalk) goesOnWith(r *Record) *Record {
	if c.open == nil {
		c.index()
	}
	open := c.open[owner{r.IsSidechain(), r.AgentID}]
	if open == nil {
		return nil
	}
	before := func(l *freeList) *Record {
		i := sort.Search(len(l.records), func(i int) bool { return c.Place(l.records[i]) >= c.Place(r) }) - 1
		return l.latest(i, func(o *Record) bool { return !c.walked[o.UUID] })
	}
	if before(&open.sent) == nil {
		return nil
	}
	return before(&open.all)
}

// beside returns the records that regroup will put beside those that were found.
func (c *breakWalk) beside(found []*Record) (more []*Record) {
	if !c.Profile.Regroup {
		return nil
	}
	for _, r := range found {
		if r.Type != Assistant || r.MessageID == "" {
			continue
		}
		for _, o := range c.answers[r.MessageID] {
			if !c.walked[o.UUID] {
				c.walked[o.UUID] = true
				more = append(more, o)
			}
		}
		delete(c.answers, r.MessageID)
	}
	slices.SortFunc(more, func(a, b *Record) int { return cmp.Compare(c.Place(a), c.Place(b)) })
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

// Guessed reports whether the program takes a record of nearly the same time for the parent of
// the record.
func (c *Conversation) Guessed(r *Record) bool { return c.guessed[r.UUID] }

// LastBefore returns the last record of the conversation before r in the file, nil if there is
// none.
func (c *Conversation) LastBefore(r *Record) *Record {
	if c.before == nil {
		c.before = make([]*Record, len(c.order))
		var last *Record
		for i, o := range c.order {
			c.before[i] = last
			if c.Owns(o) && o.Subtype != "file_snapshot" {
				last = o
			}
		}
	}
	return c.before[c.place[r.UUID]]
}
