package mend_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/change"
	"mend/fsstore"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/repair"
	"mend/txn"
)

// A toyAgent shows which methods an agent must implement. Its store is a folder, a session is a text file, and its
// lines are prompts and answers in turn, which are sent to Anthropic.
type toyAgent struct {
	agent.BaseAgent

	folder string
	step   func(call string) error // see [fsstore.Options]
}

func (toyAgent) Name() string { return "toy" }

func (toyAgent) Title() string { return "Toy" }

func (a toyAgent) Find() ([]agent.Located, error) {
	return []agent.Located{{Path: a.folder, Layout: "text"}}, nil
}

func (a toyAgent) Open(at agent.Located, _ func(string)) (agent.Store, error) {
	files, err := fsstore.New(at.Path, toyLayout{}, fsstore.Options{})
	return toyStore{Store: files, toy: a}, err
}

func (toyAgent) ParseAPIError(input []byte) request.APIError {
	return provider.NewErrorParser(anthropic.ErrorTexts()).Parse(input)
}

// A toyLayout maps sessions to files of the folder.
type toyLayout struct{}

func (toyLayout) Path(ref change.Ref) (string, change.Ref, error) {
	return ref.Session + ".txt", change.Ref{Kind: change.KindSession, Session: ref.Session}, nil
}

func (toyLayout) Folder(change.Ref, int) (change.Ref, bool) { return change.Ref{}, false }

type toyStore struct {
	agent.Base
	*fsstore.Store

	toy toyAgent
}

func (s toyStore) List(context.Context) (heads []change.Head, err error) {
	files, err := filepath.Glob(filepath.Join(s.toy.folder, "*.txt"))
	for _, f := range files {
		heads = append(heads, change.Head{ID: strings.TrimSuffix(filepath.Base(f), ".txt")})
	}
	return heads, err
}

func (s toyStore) Records(ctx context.Context, head change.Head) ([]change.Record, error) {
	ref := change.Ref{Kind: change.KindSession, Session: head.ID}
	images, err := s.Read(ctx, []change.Ref{ref})
	if err != nil || images[0] == nil {
		return nil, err
	}
	return []change.Record{{Ref: ref, Data: images[0].Data, Mode: images[0].Mode}}, nil
}

func (s toyStore) Case(ctx context.Context, head change.Head, _ repair.Request) (*repair.Case, error) {
	records, err := s.Records(ctx, head)
	if err != nil || records == nil {
		return nil, fmt.Errorf("no session %s: %w", head.ID, err)
	}
	return repair.New(newToyState(records[0]), repair.Context{}), nil
}

func (s toyStore) Writer(journal string) (txn.Store, error) {
	return fsstore.New(s.toy.folder, toyLayout{}, fsstore.Options{Owner: journal, Step: s.toy.step})
}

// A toyState is a conversation for the engine.
type toyState struct {
	repair.Turns

	record change.Record
}

func newToyState(r change.Record) *toyState {
	var q request.Request
	for i, line := range strings.Split(strings.TrimSuffix(string(r.Data), "\n"), "\n") {
		ref := change.Ref{Kind: change.KindMessage, Session: r.Ref.Session, Message: fmt.Sprint(i)}
		b := &request.Block{Type: request.Text, Text: line, Source: &ref}
		role := [...]string{change.RoleUser, change.RoleAssistant}[i%2]
		q.Turns = append(q.Turns, request.Turn{Role: role, Blocks: []*request.Block{b}, Messages: []change.Ref{ref}})
	}
	next := request.Turn{Role: change.RoleUser, Blocks: []*request.Block{{Type: request.Text, Text: "the next prompt"}}}
	q.Turns = append(q.Turns, next)
	return &toyState{repair.NewTurns(q, provider.Check(anthropic.Provider{}, q, false)), r}
}

func (s *toyState) Records(yield func(*change.Record) bool) { yield(&s.record) }

func (s *toyState) Edit() repair.Editor {
	return &toyEditor{record: s.record, lines: strings.Split(string(s.record.Data), "\n")}
}

// A toyEditor edits a copy of the lines.
type toyEditor struct {
	repair.NoEdits

	record        change.Record
	lines, before []string
}

func (d *toyEditor) Begin(repair.Fix) { d.before = slices.Clone(d.lines) }
func (d *toyEditor) Undo()            { d.lines = d.before }

func (d *toyEditor) State() repair.State {
	r := d.record
	r.Data = []byte(strings.Join(d.lines, "\n"))
	return newToyState(r)
}

func (d *toyEditor) ReplaceText(b *request.Block, text string) error { return d.SetText(b, text) }

func (d *toyEditor) SetText(b *request.Block, text string) error {
	var i int
	_, err := fmt.Sscan(b.Ref().Message, &i)
	d.lines[i] = strings.ReplaceAll(text, "\n", " ") // a trim cuts the middle
	return err
}
