package transcript

import (
	"bytes"
	"slices"
)

// Version is the newest version of the program that was observed. A transcript of an older one is
// judged as this one loads it.
const Version = "2.1.332"

// mostOlder is how much older, in milliseconds, the record may be that is taken in place of a
// missing parent.
const mostOlder = 5000

// A Conversation is what the program has after it loaded a transcript.
type Conversation struct {
	Agent string // the subagent whose transcript it is; "" for a session's
	Lines []Line
	Chain []*Record // in the order of the conversation, from the root to the leaf
	Leaf  *Record   // nil if there is none
	End   string    // the record at which the conversation ends: the leaf, or a note below it
	Tail  *Record   // where the walk to the leaf began: after the leaf may be context and notes
	// Breaks are the records at which the conversation ends although there is more before
	// them. The first is where the program stops; the others follow after [Break.Next].
	Breaks []Break
	// Hidden says that the program does not list the session: its leaf is a subagent's.
	Hidden bool
	// Rewound says that the user went back to an earlier prompt, and that the transcript
	// says so.
	Rewound bool
	// Chosen says that the user has set the leaf at least once, to go back or otherwise.
	Chosen bool
	// Cleared says that the user went back to before the first prompt.
	Cleared bool
	// Boundary is the last compaction, nil if there is none.
	Boundary *Record
	// Preserved are the records before the compaction that stay in the conversation; nil
	// without a compaction that names some. If some of them are not there, none is sent: these
	// are Missing, the others Present.
	Preserved, Missing, Present []string

	place    map[string]int // position of the first line of a record among records
	order    []*Record      // by place
	repeated []*Record      // later stored records with the id of another one, of another time and content
	parent   map[string]string
	dropped  map[string]bool // before the compaction
	walked   map[string]bool
	guessed  map[string]bool // whose parent is not there
	before   []*Record       // the answers of LastBefore, by place
	cycles   map[string]bool // the records whose parents lead back to them; nil if that is not known yet
	sides    map[string]*freeList
}

// Load reads the lines of a file, which has the size, as the program does. agent is the
// id of the subagent whose transcript it is, "" for a session's.
func Load(lines []Line, size int64, agent string) *Conversation {
	n := len(lines)
	c := &Conversation{
		Agent: agent, Lines: lines, order: make([]*Record, 0, n), place: make(map[string]int, n),
		parent:  make(map[string]string, n),
		dropped: map[string]bool{}, walked: make(map[string]bool, n), guessed: map[string]bool{},
		sides: map[string]*freeList{},
	}
	st := c.readRecords()
	c.relinkPreserved(size > largeFile)
	c.Tail = c.findTail(st)
	c.walk()
	c.Hidden = c.Leaf != nil && agent == "" && c.Leaf.IsSidechain()
	c.regroup()
	if agent != "" {
		c.Chain = slices.DeleteFunc(c.Chain, func(r *Record) bool { return r.AgentID != agent })
	}
	c.findBreaks()
	return c
}

// Found reports whether the program finds a conversation in the transcript of a session: a record of
// the chain that it loads. It does not load prompts and answers without valid content.
func (c *Conversation) Found() bool {
	return slices.ContainsFunc(c.order, func(r *Record) bool {
		return !r.IsSidechain() && (!r.IsMessage() || r.Loads())
	})
}

// HasMessage reports whether the program loads a prompt or an answer of the conversation.
func (c *Conversation) HasMessage() bool {
	return slices.ContainsFunc(c.order, func(r *Record) bool { return r.IsMessage() && r.Loads() && !r.IsSidechain() })
}

// Owns reports whether a record is of the conversation, and not of a subagent or of its session.
func (c *Conversation) Owns(r *Record) bool {
	if c.Agent == "" {
		return !r.IsSidechain()
	}
	return r.IsSidechain() && r.AgentID == c.Agent
}

// Record returns the record with an id, nil if there is none.
func (c *Conversation) Record(uuid string) *Record {
	if at, ok := c.place[uuid]; ok {
		return c.order[at]
	}
	return nil
}

// Records returns all records of the chain's types in the order of their first lines.
func (c *Conversation) Records() []*Record { return c.order }

// Has reports whether the record is in the conversation.
func (c *Conversation) Has(r *Record) bool { return c.walked[r.UUID] }

// Dropped reports whether the record is before a compaction.
func (c *Conversation) Dropped(r *Record) bool { return c.dropped[r.UUID] }

// Sees reports whether the program has a record with that id: not those before a compaction.
func (c *Conversation) Sees(uuid string) bool { return c.Record(uuid) != nil && !c.dropped[uuid] }

// Place returns the position of the record among all.
func (c *Conversation) Place(r *Record) int { return c.place[r.UUID] }

// Parent returns the id of the parent of a record as the program has it: it skips progress
// records, and hangs preserved records after the compaction.
func (c *Conversation) Parent(r *Record) string { return c.parent[r.UUID] }

// A readState is what the records outside the chain say.
type readState struct {
	last       string // the last record of the main chain
	checkpoint string // the leaf of the last last-prompt record
	explicit   bool   // the user has set that
	newest     string // the record of the main chain with the latest time
	newestTime string
	prompts    bool // there is a last-prompt record with a leaf
}

// readRecords fills the list of records: a later line replaces the earlier one and keeps its
// place.
func (c *Conversation) readRecords() readState {
	var st readState
	progress := map[string]string{}
	for i := range c.Lines {
		r := c.Lines[i].Record
		switch {
		case r == nil:
		case r.Type == Progress && r.UUID != "":
			up := r.Parent
			if further, ok := progress[up]; ok {
				up = further
			}
			progress[r.UUID] = up
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
	up := r.Parent
	if further, ok := progress[up]; ok {
		up = further
	}
	stored := c.Lines[line].Start >= 0
	if was := c.Record(r.UUID); was != nil {
		if stored && was.Timestamp != r.Timestamp && r.Sendable() > 0 && was.Sendable() > 0 && !bytes.Equal(was.Content(),
			r.Content()) {
			c.repeated = append(c.repeated, r)
		}
		c.order[c.place[r.UUID]] = r
	} else {
		c.place[r.UUID] = len(c.order)
		c.order = append(c.order, r)
	}
	c.parent[r.UUID] = up
}

// Repeated returns the stored records that have the id of an earlier one, and another time and content.
func (c *Conversation) Repeated() []*Record { return c.repeated }

// atOnce is how many milliseconds may be between the times of two records that the program writes one after the
// other, in either direction.
const atOnce = 5000

// Early returns the first record that is before the one that it follows, and not only because its parent is a wrong
// one: then that is of a later time, or follows the record itself. nil if there is none.
func (c *Conversation) Early() *Record {
	for i, r := range c.order {
		up := c.Record(r.Parent)
		if up != nil && c.place[up.UUID] > i && !slices.Contains(c.repeated, r) && !slices.Contains(c.repeated, up) &&
			!c.InCycle(r) &&
			(up.Summary || !r.Timed || !up.Timed || up.Time-r.Time <= atOnce) { // what is preserved is older than the summary
			return r
		}
	}
	return nil
}

// readCheckpoint reads a last-prompt record.
func (c *Conversation) readCheckpoint(r *Record, st *readState) {
	leaf, explicit := r.leaf, r.explicit || r.rewound
	c.Chosen, c.Rewound = c.Chosen || explicit, c.Rewound || r.rewound
	switch {
	case leaf != "":
		st.prompts = true
		st.explicit = explicit || st.explicit && leaf == st.checkpoint
		st.checkpoint, c.Cleared = leaf, false
	case explicit:
		st.checkpoint, st.explicit, c.Cleared = "", false, true
	}
}
