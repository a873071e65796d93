package record

import (
	"cmp"
	"slices"

	"mend/agent/opencode/js"
	"mend/change"
)

// GlobalProject is the id of the project of all folders outside of repositories.
const GlobalProject = "global"

// A Session is a stored conversation.
type Session struct {
	change.Head
	Info change.Record // the session's own record; its Ref is the zero Ref if it does not exist
	// InfoMissing means that the tree or database certainly has no record of the session's own.
	InfoMissing bool

	// Newer is the id of another project of the same folder that the agent used later than the session's own project.
	// For a tree it is the project that the agent uses. It is "" for none, and if unknown.
	Newer string
	// ProjectMissing means that the session's row names a project that the database lacks and that the agent will not
	// create. Home is then the id of the project with the folder that contains the session's directory, or "".
	ProjectMissing bool
	// ParentMissing means that the database lacks the session that started this one as a subagent's.
	ParentMissing bool
	ProjectRow    change.Record // of the session's project; its Ref is the zero Ref if it does not exist
	Home          string
	Diff          change.Record // the session's file changes, for a copy of a tree; its Ref may be zero
	// WorkspaceFault is the end of a sentence: why the agent cannot use the workspace that the session's row names; ""
	// if it can, or if the row names none.
	WorkspaceFault string
	// InWorkspace means that the agent works in the folder Workspace of that workspace instead of Directory. If
	// Workspace is "", the agent works in the folder where it was started.
	InWorkspace bool
	Workspace   string

	// EventNumberTaken means that the next prompt gives an event a number that is in use: the agent continues from the
	// counter of the session's events, and cannot store such an event.
	EventNumberTaken bool

	// IndexFault is a sentence, "" for none: a damaged index or table may make the agent fail to read all records, or to
	// write for a prompt.
	IndexFault string

	// TakenOver means that a newer generation of OpenCode has taken over the database. LeftBehind means that it did not
	// import the session.
	TakenOver, LeftBehind bool

	// Messages are in the agent's order: by time of creation, then by the bytes of the id.
	Messages []Message
}

// A Message is a user message or an assistant message: its metadata, and the parts with its content.
type Message struct {
	change.Record
	JSON      js.Value // of Data, as an agent reads it, even if it is not an object; see [NewMessage]
	ID        string   // the id in the record, or else the one in its ref
	Role      string   // RoleUser, RoleAssistant, or any other text in the record
	Created   int64    // milliseconds since 1970; 0 if missing
	Completed int64    // 0 while unfinished
	Finish    string   // why the model stopped: "stop", "tool-calls", …
	Failed    bool     // an error is stored

	Parent string // the id of the prompt that an answer is for, or ""

	ProviderID, ModelID string // the model that wrote it, or that was asked

	Parts []Part // in the order of the bytes of their ids: an id is a position
}

// A Part is a part of a message's content.
type Part struct {
	change.Record
	JSON      js.Value // as in Message
	ID        string   // the id in the record, or else the one in its ref
	Type      string   // TypeText, TypeTool, …; "" if missing
	Text      string   // of text and thinking parts
	Synthetic bool     // not typed by the user
	Ignored   bool     // not sent to the model
	Signature string   // of thinking parts: the provider's signature, or the redacted data

	CallID, Tool, Status string // of tool parts
	Start, End           int64  // milliseconds since 1970; 0 if missing
}

// Sort sorts messages and parts in the agent's order.
func (s *Session) Sort() {
	slices.SortStableFunc(s.Messages, func(a, b Message) int {
		return a.Compare(&b)
	})
	for i := range s.Messages {
		s.Messages[i].sortParts()
	}
}

// Compare orders messages as the agent does: by time, then by id.
func (m *Message) Compare(o *Message) int {
	return cmp.Or(cmp.Compare(m.Created, o.Created), cmp.Compare(m.ID, o.ID))
}

func (m *Message) sortParts() {
	slices.SortStableFunc(m.Parts, func(a, b Part) int { return cmp.Compare(a.ID, b.ID) })
}

// Clone returns a copy with messages and parts that can be edited. The copy shares the bytes of the records: an edit
// replaces them, but never writes into them.
func (s *Session) Clone() *Session {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
	}
	return &c
}

// Apply returns the session after changes to its record, its messages and their parts.
func (s *Session) Apply(changes []change.Op) *Session {
	n, parts := s.Clone(), map[string][]Part{}
	all := map[change.Ref]change.Record{}
	for r := range s.Records {
		all[r.Ref.WithoutProject()] = *r
	}
	for _, op := range changes {
		if delete(all, op.Ref.WithoutProject()); op.Post != nil {
			all[op.Ref.WithoutProject()] = change.RecordOf(op.Ref, op.Post)
		}
	}
	n.Messages = nil
	for _, r := range all {
		switch r.Ref.Kind {
		case change.KindSession:
			n.Info = r
		case change.KindMessage:
			n.Messages = append(n.Messages, NewMessage(r))
		case change.KindPart:
			parts[r.Ref.Message] = append(parts[r.Ref.Message], NewPart(r))
		default:
		}
	}
	for i := range n.Messages {
		n.Messages[i].Parts = parts[n.Messages[i].Ref.Message]
	}
	n.Sort()
	return n
}

// Records calls yield for every record of the session: its own, then each message followed
// by its parts. It omits the row of the project, which other sessions share.
func (s *Session) Records(yield func(*change.Record) bool) {
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

// AllRecords calls yield for the records of [Session.Records] and for the row of the project.
func (s *Session) AllRecords(yield func(*change.Record) bool) {
	for r := range s.Records {
		if !yield(r) {
			return
		}
	}
	if s.ProjectRow.Ref.Kind != 0 {
		yield(&s.ProjectRow)
	}
}

// Field returns a value of the session's own record, and whether the record has it: a member of a file, or a column of
// a row that is not NULL. If a column is not JSON, its value is undefined.
func (s *Session) Field(name string) (v js.Value, ok bool) {
	if c, isColumn := s.Info.Col(name); isColumn {
		v, _ = js.ParseColumn(c, true)
		return v, c.Class != change.ClassNull
	}
	v = js.Parse(s.Info.Data).Get(name)
	return v, v.Exists()
}

// Message returns the message with the id, or nil.
func (s *Session) Message(id string) *Message {
	for i := range s.Messages {
		if s.Messages[i].ID == id {
			return &s.Messages[i]
		}
	}
	return nil
}
