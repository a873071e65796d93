package transcript

import (
	"cmp"
	"slices"
)

// Sequence returns the indexes of the lines in the order in which they were written, as far
// as the records tell it: nil if none is before the one that it follows. Records of the chain are by
// time, each behind the one that it follows, and last-prompt records by the leaves that they name.
// Both have only places that others of them had; all other lines keep theirs, and so do those that are not stored.
func (c *Conversation) Sequence() []int {
	s := sequencer{Conversation: c, positions: map[string]position{}}
	var chain, prompts []int // lines
	for i := range c.Lines {
		r := c.Lines[i].Record
		switch {
		case r == nil || c.Lines[i].Start < 0:
		case r.InChain():
			chain = append(chain, i)
		case r.Type == "last-prompt":
			prompts = append(prompts, i)
		}
	}
	if !slices.ContainsFunc(chain, s.isEarly) {
		return nil
	}
	order := make([]int, len(c.Lines))
	for i := range order {
		order[i] = i
	}
	arrange(order, chain, func(i int) position { return s.position(c.Lines[i].Record.UUID) })
	arrange(order, prompts, func(i int) position { return s.position(c.Lines[i].Record.leaf) })
	return order
}

// arrange sorts the lines by position, in the places that they have together.
func arrange(order, lines []int, of func(line int) position) {
	positions := map[int]position{}
	for _, i := range lines {
		positions[i] = of(i)
	}
	places := slices.Clone(lines)
	slices.SortStableFunc(lines, func(i, k int) int { return positions[i].compare(positions[k]) })
	for n, at := range places {
		order[at] = lines[n]
	}
}

// A position says where a record is among all that were written.
type position struct {
	time  int64 // of the record, or a later one of those that it follows
	depth int   // how many it follows
	first int   // line
}

func (a position) compare(b position) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.depth, b.depth), cmp.Compare(a.first, b.first))
}

// A sequencer has indices for [Conversation.Sequence].
type sequencer struct {
	*Conversation
	positions map[string]position
}

// first returns the first line of a record.
func (s *sequencer) first(r *Record) int { return s.lines[s.Place(r)] }

// atOnce is how many milliseconds may be between the times of two records that the program writes
// one behind the other, in either direction.
const atOnce = 5000

// isEarly reports whether the record of a line is before the one that it follows, and not only
// because its parent is a wrong one: then that is of a later time, or follows the record itself.
func (s *sequencer) isEarly(line int) bool {
	r := s.Lines[line].Record
	up := s.Record(r.Parent)
	if r.IsBoundary() {
		up = s.compacted(r)
	}
	if up == nil || s.first(up) <= s.first(r) || s.repeated[r.UUID] || s.repeated[up.UUID] || s.InCycle(r) {
		return false
	}
	return up.Summary || !r.Timed || !up.Timed || up.Time-r.Time <= atOnce // what is preserved is older than the summary
}

// compacted returns the last record that a compaction compacts, nil if that is not known. In a fork
// it is a preserved one that was written behind the compaction.
func (s *sequencer) compacted(boundary *Record) *Record {
	last := s.Record(boundary.LogicalParent())
	const preserved = 64
	for r, n := last, 0; r != nil && n < preserved; r, n = s.Record(r.Parent), n+1 {
		if r == boundary {
			return nil
		}
	}
	return last
}

// position returns the position of the record with an id, the lowest if there is none.
func (s *sequencer) position(id string) position {
	var path []*Record
	seen := map[string]bool{}
	for r := s.Record(id); r != nil && !seen[r.UUID]; r = s.Record(r.Parent) {
		if _, done := s.positions[r.UUID]; done {
			break
		}
		seen[r.UUID] = true
		path = append(path, r)
	}
	for _, r := range slices.Backward(path) {
		own := position{time: r.Time, first: s.first(r)}
		if up := s.Record(r.Parent); up != nil {
			was := s.positions[up.UUID]
			own.time, own.depth = max(own.time, was.time), was.depth+1
		}
		s.positions[r.UUID] = own
	}
	return s.positions[id]
}
