package repair

import (
	"errors"

	"mend/change"
	"mend/internal/request"
)

// An Editor is a copy of a session that fixes edit: the same operations on blocks for every
// agent. A block is named by its record and its index in that, see [request.Block]; it may be one
// of the next request or of [Stored].
//
// Each method returns an error if the agent's store cannot hold the result, or if there is nothing
// to change. The copy may then be changed in part.
type Editor interface {
	// Begin begins a fix: Undo returns to this point.
	Begin(x Fix)
	// Check returns why what was edited since Begin must not be changed, as a [*RefusalError]; nil if it may.
	Check() error
	// Undo takes back what was edited since Begin.
	Undo()
	// State returns the session with the edits. What is edited later is in another copy.
	State() State

	// Remove removes a block. A call goes with its result if they are one record.
	Remove(b *request.Block) error
	// SetAside removes a record: a message with all that is in it, or a part. What names the message as the one before it
	// names that before it then.
	SetAside(record change.Ref) error
	// ReplaceText puts a text in the place of a text or of thinking.
	ReplaceText(b *request.Block, text string) error
	// SetText gives a text other words. It stays a text of who wrote it.
	SetText(b *request.Block, text string) error
	// ReplaceFiles puts a line of text in the place of a file: what it was, and what happened to it.
	// files are those of the request that are in the block's result; nil for the block itself, or for
	// all in its result.
	ReplaceFiles(b *request.Block, files []*request.Block, happened string) error
	// CorrectType gives images the type of their data: the block, or those in a result.
	CorrectType(b *request.Block) error
	// MoveFirst moves thinking to the front of its step, or a result to the front of its prompt. The
	// block itself stays as it is.
	MoveFirst(b *request.Block) error
	// SplitBefore begins a new step with the block.
	SplitBefore(b *request.Block) error

	// InsertText adds a text after a block, in its step.
	InsertText(after *request.Block, text string) error
	// FillMessage adds a text to a message that has no content.
	FillMessage(message change.Ref, text string) error
	// AddStep adds a step with a text at the end of a message.
	AddStep(message change.Ref, text string) error
	// InsertThinking adds unsigned thinking before a call.
	InsertThinking(call *request.Block, text string) error
	// InsertPrompt adds a prompt with a text before the message of a record.
	InsertPrompt(before change.Ref, text string) error

	// SetCallID gives a call and its results another id.
	SetCallID(call *request.Block, id string) error
	SetToolName(call *request.Block, name string) error
	SetInput(call *request.Block, input []byte) error
	// SetResult gives a call another result: a text.
	SetResult(call *request.Block, text string) error
	// ClearResult has a line of text sent for a result, as the agent does it for old ones.
	ClearResult(call *request.Block) error
	// FailCall ends a call that has no result with an error.
	FailCall(call *request.Block, text string) error

	// DropItemIDs removes the provider's ids of all items of a message.
	DropItemIDs(message change.Ref) error
	// DropHidden removes what only the provider can read of a block.
	DropHidden(b *request.Block) error

	// WriteInPlace has a store to which edits are appended lose what they replace. Others lose it anyway.
	WriteInPlace() error

	// RemoveCompaction removes the newest finished compaction, and returns how many are left. The
	// error is [ErrNotCompacted] if there is none.
	RemoveCompaction() (earlier int, err error)
}

var (
	// ErrNoEdit says that an agent's store cannot hold what an [Editor] is asked for.
	ErrNoEdit = errors.New("the store cannot hold that")
	// ErrNoBlock says that a block is not in the store, or not any more.
	ErrNoBlock = errors.New("no such block")
)

// NoEdits is an [Editor] of a store that can hold none of the results. An agent's editor embeds it.
type NoEdits struct{ noEdits }

type noEdits struct{}

func (noEdits) Begin(Fix)    {}
func (noEdits) Undo()        {}
func (noEdits) Check() error { return nil }
func (noEdits) State() State { return nil }

func (noEdits) Remove(*request.Block) error                                 { return ErrNoEdit }
func (noEdits) SetAside(change.Ref) error                                   { return ErrNoEdit }
func (noEdits) ReplaceText(*request.Block, string) error                    { return ErrNoEdit }
func (noEdits) SetText(*request.Block, string) error                        { return ErrNoEdit }
func (noEdits) ReplaceFiles(*request.Block, []*request.Block, string) error { return ErrNoEdit }
func (noEdits) CorrectType(*request.Block) error                            { return ErrNoEdit }
func (noEdits) MoveFirst(*request.Block) error                              { return ErrNoEdit }
func (noEdits) SplitBefore(*request.Block) error                            { return ErrNoEdit }
func (noEdits) InsertText(*request.Block, string) error                     { return ErrNoEdit }
func (noEdits) FillMessage(change.Ref, string) error                        { return ErrNoEdit }
func (noEdits) AddStep(change.Ref, string) error                            { return ErrNoEdit }
func (noEdits) InsertThinking(*request.Block, string) error                 { return ErrNoEdit }
func (noEdits) InsertPrompt(change.Ref, string) error                       { return ErrNoEdit }
func (noEdits) SetCallID(*request.Block, string) error                      { return ErrNoEdit }
func (noEdits) SetToolName(*request.Block, string) error                    { return ErrNoEdit }
func (noEdits) SetInput(*request.Block, []byte) error                       { return ErrNoEdit }
func (noEdits) SetResult(*request.Block, string) error                      { return ErrNoEdit }
func (noEdits) ClearResult(*request.Block) error                            { return ErrNoEdit }
func (noEdits) FailCall(*request.Block, string) error                       { return ErrNoEdit }
func (noEdits) DropItemIDs(change.Ref) error                                { return ErrNoEdit }
func (noEdits) DropHidden(*request.Block) error                             { return ErrNoEdit }
func (noEdits) WriteInPlace() error                                         { return nil }
func (noEdits) RemoveCompaction() (int, error)                              { return 0, ErrNotCompacted }

// A Stored is what is stored of a message: of a prompt or an answer with all its steps.
type Stored struct {
	Ref   change.Ref
	Role  string
	Steps [][]*request.Block // in order, also what is not sent, such as an empty text

	Summary bool // it stands for what a compaction replaced

	at map[blockAt][2]int // the step and the index of each block; nil if it is not [Stored.Indexed]
}

// A blockAt names a block.
type blockAt struct {
	ref   change.Ref
	index int
}

func placeOf(b *request.Block) blockAt { return blockAt{b.Ref(), b.Index} }

// Indexed returns the same, in which a block is found at once.
func (m Stored) Indexed() Stored {
	m.at = map[blockAt][2]int{}
	for i, s := range m.Steps {
		for j, b := range s {
			m.at[placeOf(b)] = [2]int{i, j}
		}
	}
	return m
}

// Blocks returns the blocks of all steps.
func (m Stored) Blocks() (all []*request.Block) {
	for _, s := range m.Steps {
		all = append(all, s...)
	}
	return all
}

// Step returns the step that holds the block at a record and an index, and that block; nil if there is none.
func (m Stored) Step(ref change.Ref, index int) ([]*request.Block, *request.Block) {
	if m.at != nil {
		if at, ok := m.at[blockAt{ref, index}]; ok {
			return m.Steps[at[0]], m.Steps[at[0]][at[1]]
		}
		return nil, nil
	}
	for _, s := range m.Steps {
		for _, b := range s {
			if b.Ref() == ref && b.Index == index {
				return s, b
			}
		}
	}
	return nil, nil
}

// Texts are what fixes write into a session.
type Texts struct {
	Placeholder string // in place of missing content
	Cancelled   string // the error of a call that never ended
}

// TextsOf returns the texts of a request, or the defaults for those that are blank.
func TextsOf(r Request) Texts {
	t := Texts{Placeholder: "[user interrupted]", Cancelled: "Operation cancelled by user (ESC pressed)"}
	if !request.IsBlank(r.Placeholder) {
		t.Placeholder = r.Placeholder
	}
	if !request.IsBlank(r.Cancelled) {
		t.Cancelled = r.Cancelled
	}
	return t
}
