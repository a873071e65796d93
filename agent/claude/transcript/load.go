package transcript

import (
	"bytes"
	"slices"
)

// Version is the newest version of Claude Code that was observed. Transcripts of older versions are judged as this
// version loads them.
const Version = "2.1.332"

// maxOlder is how many milliseconds older a record may be than the record whose missing parent it replaces.
const maxOlder = 5000

// A Conversation is Claude Code's state after it has loaded a transcript.
type Conversation struct {
	Agent string // the subagent that the transcript belongs to; "" for a session's
	Lines []Line
	Chain []*Record // in the order of the conversation, from the root to the leaf
	Leaf  *Record   // nil if there is none
	End   string    // the last record of the conversation: the leaf, or a note below it
	// Breaks are the records where the conversation ends although earlier records exist. Claude Code stops at the
	// first; the others follow after [Break.Next].
	Breaks []Break
	// Hidden means that Claude Code does not list the session because its leaf belongs to a subagent.
	Hidden bool
	// Rewound means that, according to the transcript, the user went back to an earlier prompt.
	Rewound bool
	// Chosen means that the user has set the leaf at least once, to go back or for another reason.
	Chosen bool
	// Cleared means that the user went back to before the first prompt.
	Cleared bool
	// Boundary is the last compaction, or nil.
	Boundary *Record
	// Preserved are the records before the compaction that stay in the conversation; nil unless a compaction names some.
	// If some are Missing, the others, Present, are not sent either.
	Preserved, Missing, Present []string

	place    map[string]int // index in records of a record's first line
	order    []*Record      // by place
	repeated []*Record      // later records with the id of an earlier one, but another time and content
	parent   map[string]string
	dropped  map[string]bool // records before the compaction
	walked   map[string]bool
	guessed  map[string]bool      // records whose parent does not exist
	before   []*Record            // cached results of LastBefore, by place
	cycles   map[string]bool      // records whose parents lead back to them; nil before the first use
	sides    map[string][]*Record // by side and time, see [Conversation.side]
}

// Load reads the lines of a file of the given size as Claude Code does. agent is the id of the subagent that the
// transcript belongs to, "" for a session's.
func Load(lines []Line, size int64, agent string) *Conversation {
	n := len(lines)
	c := &Conversation{
		Agent: agent, Lines: lines, order: make([]*Record, 0, n), place: make(map[string]int, n),
		parent:  make(map[string]string, n),
		dropped: map[string]bool{}, walked: make(map[string]bool, n), guessed: map[string]bool{},
		sides: map[string][]*Record{},
	}
	st := c.readRecords()
	c.relinkPreserved(size > largeFile)
	c.Leaf = c.findLeaf(st)
	c.walk()
	c.Hidden = c.Leaf != nil && agent == "" && c.Leaf.IsSidechain()
	c.regroup()
	if agent != "" {
		c.Chain = slices.DeleteFunc(c.Chain, func(r *Record) bool { return r.AgentID != agent })
	}
	c.findBreaks()
	return c
}

// Found reports whether Claude Code finds a conversation in the transcript of a session: a record of the chain that
// it loads. It does not load prompts and answers without valid content.
func (c *Conversation) Found() bool {
	return slices.ContainsFunc(c.order, func(r *Record) bool {
		return !r.IsSidechain() && (!r.IsMessage() || r.IsLoadable())
	})
}

// HasMessage reports whether Claude Code loads a prompt or an answer of the conversation.
func (c *Conversation) HasMessage() bool {
	return slices.ContainsFunc(c.order, func(r *Record) bool { return r.IsMessage() && r.IsLoadable() && !r.IsSidechain() })
}

// Owns reports whether a record belongs to the conversation. Other records are a subagent's or, in the conversation
// of a subagent, its session's.
func (c *Conversation) Owns(r *Record) bool {
	if c.Agent == "" {
		return !r.IsSidechain()
	}
	return r.IsSidechain() && r.AgentID == c.Agent
}

// Record returns the record with an id, or nil.
func (c *Conversation) Record(uuid string) *Record {
	if at, ok := c.place[uuid]; ok {
		return c.order[at]
	}
	return nil
}

// Records returns all records of the chain's types in the order of their first lines.
func (c *Conversation) Records() []*Record { return c.order }

// Contains reports whether the record is in the conversation.
func (c *Conversation) Contains(r *Record) bool { return c.walked[r.UUID] }

// IsDropped reports whether the record is before a compaction.
func (c *Conversation) IsDropped(r *Record) bool { return c.dropped[r.UUID] }

// IsLoaded reports whether Claude Code has loaded a record with that id. It loads none from before a compaction.
func (c *Conversation) IsLoaded(uuid string) bool { return c.Record(uuid) != nil && !c.dropped[uuid] }

// Place returns the index of the record among all records.
func (c *Conversation) Place(r *Record) int { return c.place[r.UUID] }

// Parent returns the id of the parent that Claude Code uses for a record: it skips progress records, and links
// preserved records after the compaction.
func (c *Conversation) Parent(r *Record) string { return c.parent[r.UUID] }

// A readState has the contents of a file that determine where the conversation ends.
type readState struct {
	last       string // the last record of the main chain
	checkpoint string // the leaf of the last last-prompt record
	explicit   bool   // whether the user has set checkpoint
	newest     string // the record of the main chain with the latest time
	newestTime string
	prompts    bool // there is a last-prompt record with a leaf
}

// readRecords fills the list of records: a later line with the same id replaces the earlier record in its place.
func (c *Conversation) readRecords() readState {
	var st readState
	progress := map[string]string{}
	for i := range c.Lines {
		r := c.Lines[i].Record
		switch {
		case r == nil:
		case r.Type == Progress && r.UUID != "":
			parent := r.Parent
			if further, ok := progress[parent]; ok {
				parent = further
			}
			progress[r.UUID] = parent
		case r.Type == "last-prompt":
			c.readCheckpoint(r, &st)
		case r.InChain():
			c.add(r, i, progress)
			if !r.IsSidechain() && r.Subtype != "file_snapshot" {
				st.last = r.UUID
				if r.Timestamp > st.newestTime {
					st.newest, st.newestTime = r.UUID, r.Timestamp
				}
				c.Cleared = false
			}
			if r.IsBoundary() {
				st.checkpoint, st.explicit, c.Cleared = "", false, false
			}
		}
	}
	return st
}

func (c *Conversation) add(r *Record, line int, progress map[string]string) {
	parent := r.Parent
	if further, ok := progress[parent]; ok {
		parent = further
	}
	stored := c.Lines[line].Start >= 0
	if earlier := c.Record(r.UUID); earlier != nil {
		if stored && earlier.Timestamp != r.Timestamp && r.Sendable() > 0 && earlier.Sendable() > 0 &&
			!bytes.Equal(earlier.Content(), r.Content()) {
			c.repeated = append(c.repeated, r)
		}
		c.order[c.place[r.UUID]] = r
	} else {
		c.place[r.UUID] = len(c.order)
		c.order = append(c.order, r)
	}
	c.parent[r.UUID] = parent
}

// Duplicates returns the stored records that have the id of an earlier one, but another time and content.
func (c *Conversation) Duplicates() []*Record { return c.repeated }

// maxTogether is the greatest difference in milliseconds between the times of two records that Claude Code writes
// together.
const maxTogether = 5000

// FirstDisplaced returns the first record that is before its parent in the file, or nil. It skips a record with an
// apparently wrong parent, which is dated later or descends from the record.
func (c *Conversation) FirstDisplaced() *Record {
	for i, r := range c.order {
		// Preserved records are older than the summary that they follow.
		parent := c.Record(r.Parent)
		if parent != nil && c.place[parent.UUID] > i && !slices.Contains(c.repeated, r) &&
			!slices.Contains(c.repeated, parent) && !c.InCycle(r) &&
			(parent.Summary || !r.Timed || !parent.Timed || parent.Time-r.Time <= maxTogether) {
			return r
		}
	}
	return nil
}

// rewindMark is the leaf of the last-prompt record that Claude Code's screen writes after the first prompt that
// follows a rewind.
const rewindMark = "00000000-0000-0000-0000-000000000000"

// readCheckpoint reads a last-prompt record.
func (c *Conversation) readCheckpoint(r *Record, st *readState) {
	leaf, explicit := r.leaf, r.explicit || r.rewound
	c.Chosen, c.Rewound = c.Chosen || explicit, c.Rewound || r.rewound || explicit && leaf == rewindMark
	switch {
	case leaf != "":
		st.prompts = true
		st.explicit = explicit || st.explicit && leaf == st.checkpoint
		st.checkpoint, c.Cleared = leaf, false
	case explicit:
		st.checkpoint, st.explicit, c.Cleared = "", false, true
	}
}
