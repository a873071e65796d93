package mend_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/change"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/repair"
	"mend/txn"
)

// A toyAgent shows what an agent has to implement. Its store is a folder, a session is a text file
// in it, and the lines are in turn a prompt and an answer, which are sent to Anthropic.
type toyAgent struct {
	agent.BaseAgent

	folder string
}

func (toyAgent) Name() string { return "toy" }

func (toyAgent) Classes() []repair.Class { return []repair.Class{repair.EmptyContentMessage} }

// Title implements [agent.Agent].
func (toyAgent) Title() string { return "Toy" }

func (a toyAgent) Find(string) ([]agent.Located, error) {
	return []agent.Located{{Path: a.folder, Layout: "text"}}, nil
}

func (toyAgent) Open(at agent.Located, _ func(string)) (agent.Store, error) {
	return toyStore{toyAgent: toyAgent{folder: at.Path}}, nil
}

func (toyAgent) ParseAPIError(input []byte) request.APIError {
	return provider.NewErrorParser(anthropic.ErrorTexts()).Parse(input)
}

type toyStore struct {
	agent.Base
	toyAgent
}

func (s toyStore) ID() change.StoreID { return change.StoreID{Kind: "toy", Root: s.folder} }

func (s toyStore) file(session string) string { return filepath.Join(s.folder, session+".txt") }

func (s toyStore) List(context.Context) (heads []change.Head, err error) {
	files, err := filepath.Glob(s.file("*"))
	for _, f := range files {
		heads = append(heads, change.Head{ID: strings.TrimSuffix(filepath.Base(f), ".txt")})
	}
	return heads, err
}

func (s toyStore) Records(_ context.Context, head change.Head) ([]change.Record, error) {
	data, err := os.ReadFile(s.file(head.ID))
	return []change.Record{{Ref: change.Ref{Kind: change.KindSession, Session: head.ID}, Data: data, Mode: 0o600}}, err
}

func (s toyStore) Case(ctx context.Context, head change.Head, _ repair.Request) (repair.Case, error) {
	records, err := s.Records(ctx, head)
	if err != nil {
		return nil, err
	}
	return newToyCase(records[0]), nil
}

func (s toyStore) Read(_ context.Context, refs []change.Ref) ([]*change.Image, error) {
	images := make([]*change.Image, len(refs))
	for i, r := range refs {
		if data, err := os.ReadFile(s.file(r.Session)); err == nil {
			images[i] = &change.Image{Data: data, Mode: 0o600}
		}
	}
	return images, nil
}

func (s toyStore) Writer(string) (txn.Store, error) { return s, nil }

// A toyCase is a conversation.
type toyCase struct {
	repair.BaseCase

	record   change.Record
	request  request.Request
	refused  []request.Violation
	findings repair.Findings
}

func newToyCase(r change.Record) *toyCase {
	c := &toyCase{record: r}
	for i, line := range strings.Split(strings.TrimSuffix(string(r.Data), "\n"), "\n") {
		ref := change.Ref{Kind: change.KindMessage, Session: r.Ref.Session, Message: fmt.Sprint(i)}
		b := &request.Block{Type: request.Text, Text: line, Source: &ref}
		role := [...]string{change.RoleUser, change.RoleAssistant}[i%2]
		c.request.Turns = append(c.request.Turns, request.Turn{Role: role, Blocks: []*request.Block{b}, Messages: []change.Ref{ref}})
	}
	c.request.Turns = append(c.request.Turns, request.Turn{Role: change.RoleUser, Blocks: []*request.Block{{Type: request.Text, Text: "the next prompt"}}})
	c.refused = provider.Check(anthropic.Provider{}, c.request, false)
	for _, v := range c.refused {
		f := repair.Finding{Code: v.Rule, Ref: v.Refs[0], Text: v.Message, Severity: repair.Broken}
		x, _ := repair.EngineFault(c, f)
		c.findings.Add(repair.InUse, x.Finding)
	}
	return c
}

func (c *toyCase) Findings() *repair.Findings              { return &c.findings }
func (c *toyCase) Records(yield func(*change.Record) bool) { yield(&c.record) }
func (c *toyCase) Has(r change.Ref) bool                   { return r.Session == c.record.Ref.Session }

func (c *toyCase) Settings() []repair.Setting                      { return []repair.Setting{{Version: "1"}} }
func (c *toyCase) Next() (request.Request, []request.Violation)    { return c.request, c.refused }
func (c *toyCase) Sent(int) (request.Request, []request.Violation) { return c.Next() }

func (c *toyCase) Messages() (refs []change.Ref) {
	for _, t := range c.request.Turns {
		refs = append(refs, t.Messages...)
	}
	return refs
}

func (c *toyCase) Stored(ref change.Ref) repair.Stored {
	i := slices.Index(c.Messages(), ref)
	if i < 0 {
		return repair.Stored{}
	}
	return repair.Stored{Ref: ref, Role: c.request.Turns[i].Role, Steps: [][]*request.Block{c.request.Turns[i].Blocks}}
}

func (c *toyCase) Describe(f repair.Finding) repair.Diagnosis {
	x, _ := repair.EngineFault(c, f)
	return x.Describe()
}

func (c *toyCase) Fixes(f repair.Finding) ([]repair.Fix, error) {
	x, _ := repair.EngineFault(c, f)
	return x.Fixes(), nil
}

func (c *toyCase) Draft() repair.Draft {
	return &toyDraft{record: c.record, lines: strings.Split(string(c.record.Data), "\n")}
}

// A toyDraft copies everything for each edit.
type toyDraft struct {
	repair.NoEdits

	record change.Record
	lines  []string
}

func (d *toyDraft) ReplaceText(b *request.Block, text string) error {
	var i int
	_, err := fmt.Sscan(b.Ref().Message, &i)
	d.lines[i] = text
	return err
}

// SetText is for trims, which cut the middle out of long texts.
func (d *toyDraft) SetText(b *request.Block, text string) error {
	return d.ReplaceText(b, strings.ReplaceAll(text, "\n", " "))
}

func (d *toyDraft) Apply(_ repair.Finding, x repair.Fix) error {
	before := slices.Clone(d.lines)
	err := x.Edit(d)
	if err != nil {
		d.lines = before
	}
	return err
}

func (d *toyDraft) Case() repair.Case {
	r := d.record
	r.Data = []byte(strings.Join(d.lines, "\n"))
	return newToyCase(r)
}

// Transactions: a new content is written beside the file and renamed over it.

func (s toyStore) staged(o change.Op) string { return s.file(o.Ref.Session) + ".new" }

func (s toyStore) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	st := change.Staged{Store: s.ID(), Ops: p.Ops}
	if out, err := s.Settle(ctx, st); err != nil || out.State != change.Aborted {
		return st, errors.Join(err, &change.ConflictError{Conflicts: out.Conflicts})
	}
	return st, os.WriteFile(s.staged(p.Ops[0]), p.Ops[0].Post.Data, p.Ops[0].Post.Mode)
}

func (s toyStore) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	if err := os.Rename(s.staged(st.Ops[0]), s.file(st.Ops[0].Ref.Session)); err != nil {
		return change.Outcome{}, err
	}
	return s.Settle(ctx, st)
}

func (s toyStore) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	o := st.Ops[0]
	now, err := s.Read(ctx, []change.Ref{o.Ref})
	switch {
	case err != nil:
		return change.Outcome{}, err
	case now[0].Equal(o.Post):
		return change.Outcome{State: change.Committed}, nil
	case now[0].Equal(o.Pre):
		return change.Outcome{State: change.Aborted}, nil
	}
	c := change.Conflict{Ref: o.Ref, Pre: o.Pre, Post: o.Post, Now: now[0], Why: "changed meanwhile"}
	return change.Outcome{State: change.Conflicted, Conflicts: []change.Conflict{c}}, nil
}

func (s toyStore) Discard(_ context.Context, st change.Staged) error {
	for _, o := range st.Ops {
		if err := os.Remove(s.staged(o)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
