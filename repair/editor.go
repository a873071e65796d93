package repair

import (
	"errors"

	"mend/change"
	"mend/internal/request"
)

// An Editor is a copy of a session that fixes edit. It has the same operations on blocks for every agent. A block is
// named by its record and its index in the record, see [request.Block]; it may belong to the next request or to
// [Stored].
//
// Each method returns an error if the agent's store cannot hold the result, or if there is nothing to change. The copy
// may then be partly changed.
type Editor interface {
	// Begin begins a fix: Undo returns to this point.
	Begin(x Fix)
	// Check returns a [*RefusalError] if the edits since Begin must not be made, nil if they may.
	Check() error
	// Undo reverts the edits since Begin.
	Undo()
	// State returns the session with the edits. Later edits do not affect it.
	State() State

	// Remove removes a block. If a call and its result are one record, it removes both.
	Remove(b *request.Block) error
	// SetAside removes a record: a part, or a message with everything in it. Records that name the message as their
	// predecessor then name its predecessor.
	SetAside(record change.Ref) error
	// ReplaceText replaces a text or thinking with a text.
	ReplaceText(b *request.Block, text string) error
	// SetText changes the words of a text, but not its author.
	SetText(b *request.Block, text string) error
	// ReplaceFiles replaces a file with a line of text: what it was, and what happened to it. files are files of the
	// request in the block's result; nil for the block itself, or for all files in its result.
	ReplaceFiles(b *request.Block, files []*request.Block, happened string) error
	// CorrectType sets the type of an image, or of the images in a result, to the type of their data.
	CorrectType(b *request.Block) error
	// MoveFirst moves thinking to the front of its step. The block itself is unchanged.
	MoveFirst(b *request.Block) error
	// SplitBefore begins a new step with each of the blocks, which are records of one message, in order.
	SplitBefore(blocks ...*request.Block) error

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
	SetCallID(call *request.Block, results []*request.Block, id string) error
	SetToolName(call *request.Block, name string) error
	SetInput(call *request.Block, input []byte) error
	// SetResult replaces the result of a call with a text.
	SetResult(call *request.Block, text string) error
	// ClearResult makes the agent send a line of text instead of a result, as it does for old results.
	ClearResult(call *request.Block) error
	// FailCall marks a call that has no result as failed, with an error text.
	FailCall(call *request.Block, text string) error

	// DropItemIDs removes the provider's ids of all items of a message.
	DropItemIDs(message change.Ref) error
	// DropHidden removes the part of a block that only the provider can read.
	DropHidden(b *request.Block) error

	// WriteInPlace makes a store that appends edits also remove the replaced content. Other stores ignore it.
	WriteInPlace() error

	// RemoveCompaction removes the newest finished compaction, and returns how many are left. The error is
	// [ErrNotCompacted] if there is none.
	RemoveCompaction() (earlier int, err error)
}

var (
	// ErrNoEdit means that an agent's store does not support an edit.
	ErrNoEdit = errors.New("the store cannot hold that")
	// ErrNoBlock means that the store does not have a block, or no longer has it.
	ErrNoBlock = errors.New("no such block")
)

// NoEdits is an [Editor] whose edits all return [ErrNoEdit]. An agent's editor embeds it, and overrides the edits that
// the store supports.
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
func (noEdits) SplitBefore(...*request.Block) error                         { return ErrNoEdit }
func (noEdits) InsertText(*request.Block, string) error                     { return ErrNoEdit }
func (noEdits) FillMessage(change.Ref, string) error                        { return ErrNoEdit }
func (noEdits) AddStep(change.Ref, string) error                            { return ErrNoEdit }
func (noEdits) InsertThinking(*request.Block, string) error                 { return ErrNoEdit }
func (noEdits) InsertPrompt(change.Ref, string) error                       { return ErrNoEdit }
func (noEdits) SetCallID(*request.Block, []*request.Block, string) error    { return ErrNoEdit }
func (noEdits) SetToolName(*request.Block, string) error                    { return ErrNoEdit }
func (noEdits) SetInput(*request.Block, []byte) error                       { return ErrNoEdit }
func (noEdits) SetResult(*request.Block, string) error                      { return ErrNoEdit }
func (noEdits) ClearResult(*request.Block) error                            { return ErrNoEdit }
func (noEdits) FailCall(*request.Block, string) error                       { return ErrNoEdit }
func (noEdits) DropItemIDs(change.Ref) error                                { return ErrNoEdit }
func (noEdits) DropHidden(*request.Block) error                             { return ErrNoEdit }
func (noEdits) WriteInPlace() error                                         { return nil }
func (noEdits) RemoveCompaction() (int, error)                              { return 0, ErrNotCompacted }

// A Stored is the stored content of a message: a prompt, or an answer with all its steps.
type Stored struct {
	Ref   change.Ref
	Role  string
	Steps [][]*request.Block // in order, including blocks that are not sent, such as an empty text

	Summary bool // it is the summary of a compaction

	at map[blockKey][2]int // the step and the index of each block; set by [Stored.WithIndex]
}

type blockKey struct {
	ref   change.Ref
	index int
}

func keyOf(b *request.Block) blockKey { return blockKey{b.Ref(), b.Index} }

// WithIndex returns the same message with an index for finding blocks.
func (m Stored) WithIndex() Stored {
	m.at = map[blockKey][2]int{}
	for i, s := range m.Steps {
		for j, b := range s {
			m.at[keyOf(b)] = [2]int{i, j}
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

// Step returns the block at a record and an index, and its step, or nil.
func (m Stored) Step(ref change.Ref, index int) ([]*request.Block, *request.Block) {
	if m.at != nil {
		if at, ok := m.at[blockKey{ref, index}]; ok {
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

// Texts are the texts that fixes write into a session.
type Texts struct {
	Placeholder string // in place of missing content
	Cancelled   string // the error of a call that never ended
}

// TextsOf returns the texts of a request, with defaults for blank ones.
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
