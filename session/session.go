package session

import (
	"cmp"
	"slices"

	"mend/jsonedit"
)

// A Session is a stored conversation.
type Session struct {
	ID   string
	Info Record // the session's own record; its Ref is the zero Ref where there is none

	Project   string // the id of the project it belongs to, where known
	Directory string // where the user worked
	// Newer is the id of another project of the same folder, which the agent used
	// later than the session's own; "" if there is none, or where that is not known.
	Newer string
	// ProjectMissing says that the session's row names a project that the database
	// does not have, and that the agent will not make; Home is then the id of the
	// project whose folder the session's directory is in, "" if there is none.
	// WorkspaceMissing says that the workspace is not there that the row names.
	ProjectMissing, WorkspaceMissing bool
	ProjectRow                       Record // of the project that the session belongs to; its Ref is the zero Ref where there is none
	Home                             string

	Title   string
	Version string // of the agent that created it, such as "1.1.53"
	Created int64  // milliseconds since 1970; 0 where unknown
	Updated int64

	// Messages are in the order in which the agent reads them: by time of
	// creation, then by id, bytewise.
	Messages []Message

	// Stray lists what stands among the session's records and is none: a link,
	// a pipe, a file or folder that may not be read, a name that is no id.
	Stray []Stray

	// Files lists what the agent opens besides the session's records, or in whose place
	// a folder of records should be.
	Files []File
}

// A File is a file that is not a record, located beside the records. An agent that
// takes any file in a folder of records for a record opens what its name leads to.
type File struct {
	Record        // Ref of KindFile; Data is the content, of which only the file itself is sure to be read
	Path   string // below the root of the store
	Opens  string // the path that the agent opens for it, "" where it stands in place of a folder
	Reads  Ref    // of what is there: a record or a file, maybe this one; the zero Ref for nothing
}

// A Stray is a directory entry or a row that is located where a record should be, and is
// none.
type Stray struct {
	Path    string // below the root of the store
	Message string // the message among whose parts it stands, "" if none
	Why     string
	Hidden  bool // a folder that cannot be read: what it holds of the session is unknown
	Unseen  bool // the agent passes over it
	Row     bool // a row by which the agent cannot list any session
}

// A Message is one turn of the user or one answer of the model: its metadata,
// and the parts that hold the content.
type Message struct {
	Record
	ID        string // the id inside the record, else the one it is stored under
	Role      string // RoleUser, RoleAssistant, or whatever the record says
	Created   int64  // milliseconds since 1970; 0 where missing
	Completed int64  // 0 while unfinished
	Finish    string // why the model stopped: "stop", "tool-calls", …
	ErrorName string // the name of the stored error; "" without one
	Failed    bool   // an error is stored

	Parent string // the id of the prompt that an answer is for, "" where it does not say

	ProviderID, ModelID string // of the model that wrote it, or that was asked

	Parts []Part // in the order of their ids, bytewise: an id is a position

	root jsonedit.Value // of Data, when it was decoded
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// A Part is one piece of a message's content.
type Part struct {
	Record
	ID        string // the id inside the record, else the one it is stored under
	Type      string // TypeText, TypeTool, …; "" where the record does not say
	Text      string // of text and thinking parts
	Synthetic bool   // not typed by the user
	Ignored   bool   // not sent to the model
	Signature string // of thinking parts: what the provider signed it with, or its redacted data

	CallID, Tool, Status string // of tool parts
	Start, End           int64  // milliseconds since 1970; 0 where missing

	root jsonedit.Value // of Data, when it was decoded
}

// Root returns the record's JSON, the zero Value if it is not one value.
func (m *Message) Root() jsonedit.Value { return m.parsed(m.root) }

// Root returns the record's JSON, the zero Value if it is not one value.
func (p *Part) Root() jsonedit.Value { return p.parsed(p.root) }

// parsed returns root if it is of the record's present data, else it parses that.
func (r *Record) parsed(root jsonedit.Value) jsonedit.Value {
	text := root.Source()
	if len(text) == 0 || len(text) != len(r.Data) || &text[0] != &r.Data[0] {
		return jsonedit.Parse(r.Data)
	}
	return root
}

// Sort puts messages and parts in the order in which the agent reads them.
func (s *Session) Sort() {
	slices.SortStableFunc(s.Messages, func(a, b Message) int {
		return cmp.Or(a.SortKey().Compare(b.SortKey()), a.IDKey().Compare(b.IDKey()))
	})
	for i := range s.Messages {
		s.Messages[i].sortParts()
	}
}

func (m *Message) sortParts() {
	slices.SortStableFunc(m.Parts, func(a, b Part) int { return a.idKey(a.ID).Compare(b.idKey(b.ID)) })
}

// Clone is a copy whose messages and parts can be edited freely. The bytes of
// the records are shared: an edit replaces them, it never writes into them.
func (s *Session) Clone() *Session {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
	}
	c.Files = slices.Clone(s.Files)
	return &c
}

// Records calls yield for every record that the session has: its own, then each
// message followed by its parts. The row of the project is other sessions' too.
func (s *Session) Records(yield func(*Record) bool) {
	if s.Info.Ref.Kind != 0 && !yield(&s.Info) {
		return
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if !yield(&m.Record) {
			return
		}
		for j := range m.Parts {
			if !yield(&m.Parts[j].Record) {
				return
			}
		}
	}
}

// AllRecords calls yield for the records of [Session.Records], for the row of the
// project, and for the files.
func (s *Session) AllRecords(yield func(*Record) bool) {
	for r := range s.Records {
		if !yield(r) {
			return
		}
	}
	if s.ProjectRow.Ref.Kind != 0 && !yield(&s.ProjectRow) {
		return
	}
	for i := range s.Files {
		if !yield(&s.Files[i].Record) {
			return
		}
	}
}

// Message is the message with that id, nil if there is none.
func (s *Session) Message(id string) *Message {
	for i := range s.Messages {
		if s.Messages[i].ID == id {
			return &s.Messages[i]
		}
	}
	return nil
}
