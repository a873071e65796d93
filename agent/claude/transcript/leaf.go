package transcript

import (
	"cmp"
	"slices"
)

// relinkPreserved makes the records that the last compaction preserves follow its anchor. If any compaction preserves
// records, or the file is large, it drops the other records before the last compaction, unless a preserved record is
// missing.
func (c *Conversation) relinkPreserved(large bool) {
	last, naming := -1, -1
	for i, r := range c.order {
		if !r.IsBoundary() {
			continue
		}
		last = i
		if r.namesPreserved() {
			naming = i
		}
	}
	if last < 0 {
		return
	}
	c.Boundary = c.order[last]
	if naming < 0 && !large {
		return
	}
	keep := map[string]bool{}
	if naming == last {
		anchor, ids, ok := c.preservedIDs(c.Boundary)
		if !ok {
			return
		}
		for _, id := range ids {
			if c.Record(id) == nil {
				c.Missing = append(c.Missing, id)
			} else {
				c.Present = append(c.Present, id)
			}
		}
		if c.Missing != nil {
			return
		}
		c.linkPreserved(anchor, ids)
		for _, id := range ids {
			keep[id] = true
		}
	}
	for _, r := range c.order[:last] {
		if !keep[r.UUID] && c.Owns(r) {
			c.dropped[r.UUID] = true
		}
	}
	if c.Preserved == nil {
		return
	}
	end := c.Preserved[len(c.Preserved)-1]
	for _, r := range c.order {
		if r.IsMessage() && c.dropped[c.parent[r.UUID]] && !c.dropped[r.UUID] {
			c.parent[r.UUID] = end
		}
	}
}

// preservedIDs returns the ids of the records that a compaction preserves, and its anchor: the record after which they
// are linked. ok is false if the ends of their chain do not match.
func (c *Conversation) preservedIDs(b *Record) (anchor string, ids []string, ok bool) {
	if anchor, ids, ok = b.preserved(); ok {
		return anchor, ids, true
	}
	anchor, head, tail, _ := b.preservedSegment()
	seen := map[string]bool{}
	for r := c.Record(tail); r != nil && !seen[r.UUID]; r = c.Record(c.parent[r.UUID]) {
		seen[r.UUID] = true
		ids = append(ids, r.UUID)
		if r.UUID == head {
			slices.Reverse(ids)
			return anchor, ids, true
		}
	}
	return "", nil, false
}

// linkPreserved links the records with these ids, one after another, after the anchor, and the other children of the
// anchor after them.
func (c *Conversation) linkPreserved(anchor string, ids []string) {
	c.Preserved = ids
	parent := anchor
	for _, id := range ids {
		c.parent[id] = parent
		parent = id
	}
	for _, r := range c.order {
		if c.parent[r.UUID] == anchor && r.UUID != ids[0] {
			c.parent[r.UUID] = parent
		}
	}
}

// findLeaf returns the record where Claude Code begins its walk back, or nil.
func (c *Conversation) findLeaf(st readState) *Record {
	switch {
	case c.Agent != "":
		return c.agentLeaf()
	case c.Cleared:
		return nil
	case c.Preserved == nil || st.explicit && c.isMain(st.checkpoint):
		return c.leafByCheckpoint(st)
	}
	return c.chooseLeaf(st)
}

// chooseLeaf returns the only leaf. Of several it prefers the checkpoint, then the leaf of the last record.
func (c *Conversation) chooseLeaf(st readState) *Record {
	leaves := c.leaves()
	if len(leaves) == 1 {
		return leaves[0]
	}
	if at := c.Record(st.checkpoint); at != nil && slices.Contains(leaves, at) && (st.explicit || !c.canReach(st.last,
		st.checkpoint)) {
		return at
	}
	if leaf := cmp.Or(c.messageAbove(st.last), latest(leaves)); leaf != nil {
		return leaf
	}
	return c.latest(func(r *Record) bool {
		return !r.IsSidechain() && !c.dropped[r.UUID] && r.Subtype != "file_snapshot"
	})
}

// agentLeaf returns the subagent's record with the latest time that has no children.
func (c *Conversation) agentLeaf() *Record {
	parents := map[string]bool{}
	for _, r := range c.order {
		if c.Owns(r) {
			parents[c.parent[r.UUID]] = true
		}
	}
	return c.latest(func(r *Record) bool {
		return c.Owns(r) && !parents[r.UUID] && !r.IsBoundary() && !c.dropped[r.UUID]
	})
}

func (c *Conversation) isMain(uuid string) bool {
	r := c.Record(uuid)
	return r != nil && !r.IsSidechain()
}

// leafByCheckpoint chooses between the leaf that Claude Code stored last and the last record.
func (c *Conversation) leafByCheckpoint(st readState) *Record {
	at := ""
	if r := c.Record(st.checkpoint); r != nil && !c.dropped[st.checkpoint] {
		at = st.checkpoint
	}
	if at != "" && !st.explicit && at != st.last && c.canReach(st.last, at) {
		at = st.last
	}
	if at == "" {
		at = st.last
		if !st.prompts && st.newest != st.last {
			at = c.latestBelow(st.last)
		}
	}
	if leaf := c.messageAbove(at); leaf != nil {
		c.End = at
		return leaf
	}
	return c.chooseLeaf(st)
}

// canReach reports whether the walk from one record reaches another, or an answer with a batch of calls that contains
// it.
func (c *Conversation) canReach(from, to string) bool {
	answer := c.answerOf(to)
	seen := map[string]bool{}
	for id := from; c.IsLoaded(id) && !seen[id]; id = c.parent[id] {
		seen[id] = true
		r := c.Record(id)
		if id == to || answer != "" && id != from && r.Type == Assistant && r.MessageID == answer {
			return true
		}
	}
	return false
}

// answerOf returns the id of the answer that a result, or a note after a result, belongs to; "" for other records.
func (c *Conversation) answerOf(uuid string) string {
	r := c.Record(uuid)
	for n := 0; r != nil && !c.dropped[r.UUID] && n < len(c.order); n++ {
		switch {
		case r.Type == Assistant:
			if r.hasBlock("tool_use") {
				return r.MessageID
			}
			return ""
		case r.Type == User && !r.hasBlock("tool_result") && !r.Meta:
			return ""
		}
		r = c.Record(c.parent[r.UUID])
	}
	return ""
}

// messageAbove returns the record, or its nearest ancestor, that is part of a prompt or an answer.
func (c *Conversation) messageAbove(uuid string) *Record {
	seen := map[string]bool{}
	for id := uuid; c.IsLoaded(id) && !seen[id]; id = c.parent[id] {
		seen[id] = true
		if r := c.Record(id); r.IsMessage() {
			return r
		}
	}
	return nil
}

// latestBelow returns the id of the latest descendant of a record, or the record's own id if it has none.
func (c *Conversation) latestBelow(top string) string {
	below := map[string]bool{top: true}
	var isBelow func(id string, depth int) bool
	memo := map[string]bool{}
	isBelow = func(id string, depth int) bool {
		if below[id] || !c.IsLoaded(id) || memo[id] || depth > len(c.order) {
			return below[id]
		}
		memo[id] = true
		if isBelow(c.parent[id], depth+1) {
			below[id] = true
		}
		return below[id]
	}
	best, at := top, ""
	for _, r := range c.order {
		if !r.IsSidechain() && !c.dropped[r.UUID] && r.UUID != top && r.Timestamp >= at && isBelow(r.UUID, 0) {
			best, at = r.UUID, r.Timestamp
		}
	}
	return best
}

// leaves returns the prompts and answers that no prompt and no answer follows.
func (c *Conversation) leaves() (found []*Record) {
	parents, answered := map[string]bool{}, map[string]bool{} // with a child, and with a message as a child
	for _, r := range c.order {
		if parent := c.parent[r.UUID]; parent != "" && !c.dropped[r.UUID] {
			parents[parent] = true
			answered[parent] = answered[parent] || r.IsMessage()
		}
	}
	seen := map[string]bool{}
	for _, r := range c.order {
		if parents[r.UUID] || c.dropped[r.UUID] || r.IsSidechain() {
			continue
		}
		if leaf := c.messageAbove(r.UUID); leaf != nil && !answered[leaf.UUID] && !seen[leaf.UUID] {
			seen[leaf.UUID] = true
			found = append(found, leaf)
		}
	}
	return found
}

// latest returns the latest of the records that match accepts.
func (c *Conversation) latest(match func(*Record) bool) *Record {
	return latest(slices.DeleteFunc(slices.Clone(c.order), func(r *Record) bool { return !match(r) }))
}

// latest returns the first of the records with the latest time.
func latest(all []*Record) (best *Record) {
	for _, r := range all {
		if best == nil || r.Timed && (!best.Timed || r.Time > best.Time) {
			best = r
		}
	}
	return best
}
