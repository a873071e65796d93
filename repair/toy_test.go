package repair_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
	"mend/repair"
)

// A message of a toy session is a prompt, or an answer in steps. A call has its result in its Output, or in a block of a
// later prompt.
type message struct {
	id, role string
	summary  bool
	steps    [][]*request.Block
}

func prompt(blocks ...*request.Block) message {
	return message{role: change.RoleUser, steps: [][]*request.Block{blocks}}
}

func answer(blocks ...*request.Block) message { return answers(blocks) }

func answers(steps ...[]*request.Block) message {
	return message{role: change.RoleAssistant, steps: steps}
}

func step(blocks ...*request.Block) []*request.Block { return blocks }

func text(s string) *request.Block { return &request.Block{Type: request.Text, Text: s} }

// think returns thinking; it is unsigned if signature is "".
func think(s, signature string) *request.Block {
	return &request.Block{Type: request.Thinking, Text: s, Signature: signature, Unsigned: signature == ""}
}

// call returns a call without a result.
func call(id, tool, input string) *request.Block {
	return &request.Block{Type: request.ToolUse, ToolID: id, ToolName: tool, Input: json.RawMessage(input)}
}

// done returns a call with its result.
func done(id, tool, input, output string) *request.Block {
	b := call(id, tool, input)
	b.Output, _ = json.Marshal(output)
	return b
}

func result(id, output string) *request.Block {
	b := &request.Block{Type: request.ToolResult, ToolID: id}
	b.Output, _ = json.Marshal(output)
	return b
}

func image(mime string, data []byte) *request.Block {
	return &request.Block{Type: request.Image, File: request.File{Mime: mime, Data: data}}
}

// item gives a block an id of the provider.
func item(id string, b *request.Block) *request.Block {
	b.ItemID = id
	return b
}

// describe returns a session as one line: ~ marks thinking, # a call, = a result, | the next step.
func describe(all []message) string {
	var lines []string
	for _, m := range all {
		var steps []string
		for _, s := range m.steps {
			var words []string
			for _, b := range s {
				words = append(words, shownBlock(b))
			}
			steps = append(steps, strings.Join(words, " "))
		}
		lines = append(lines, m.role+"["+strings.Join(steps, " | ")+"]")
	}
	return strings.Join(lines, " ")
}

func shownBlock(b *request.Block) string {
	s := ""
	switch b.Type {
	case request.Text:
		s = b.Text
	case request.Thinking:
		s = "~" + b.Text
		if b.Signature != "" {
			s += "(" + b.Signature + ")"
		}
	case request.ToolUse:
		s = "#" + b.ToolID + ":" + b.ToolName + string(b.Input)
		if b.Error {
			s += "!"
		}
	case request.ToolResult:
		s = "=" + b.ToolID
	case request.Image:
		s = "<" + b.Mime + ">"
	default:
		s = string(b.Type)
	}
	if b.Output != nil {
		s += "=" + b.OutputText()
	}
	for _, in := range b.Content {
		s += "{" + shownBlock(in) + "}"
	}
	if b.ItemID != "" {
		s += "@" + b.ItemID
	}
	return s
}

// A toy is the state of a session of a toy agent. It sends each step of an answer as a turn, and then the results
// of its calls.
type toy struct {
	repair.BaseState

	messages []message
	provider provider.Provider
	vendor   string // of the API
	thinking bool   // the model thinks
	window   int
	busy     string
	newer    string // see [repair.Context]

	hideBefore bool // content before a summary is not sent

	settings []repair.Setting // nil for a single setting
	all      bool             // see [repair.Context].All
	writing  string           // the message that the agent is writing

	bound  request.Binding
	locked string // the signature of thinking that cannot be removed
	keeps  bool   // results cannot be cleared
}

// newToy returns a session. Its messages get the ids m0, m1 and so on, and their blocks numbers.
func newToy(p provider.Provider, all ...message) *toy {
	for i := range all {
		all[i].id = fmt.Sprint("m", i)
		n := 0
		for _, s := range all[i].steps {
			for _, b := range s {
				b.Source = partOf(all[i].id, n)
				n++
			}
		}
	}
	return &toy{messages: all, provider: p}
}

// together puts the blocks of a message into one record.
func (s *toy) together(message int) *toy {
	for i, b := range slices.Concat(s.messages[message].steps...) {
		b.Source, b.Index = partOf(s.messages[message].id, 0), i
	}
	return s
}

func partOf(id string, n int) *change.Ref {
	return &change.Ref{Kind: change.KindPart, Session: "ses_1", Message: id, Part: fmt.Sprint(id, "p", n)}
}

func refOf(id string) *change.Ref {
	return &change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: id}
}

func (s *toy) send() (q request.Request, refused []request.Violation) {
	add := func(role string, m *message, blocks ...*request.Block) {
		if n := len(q.Turns) - 1; n >= 0 && q.Turns[n].Role == role && role == change.RoleUser {
			q.Turns[n].Blocks = append(q.Turns[n].Blocks, blocks...)
			if m != nil {
				q.Turns[n].Messages = append(q.Turns[n].Messages, *refOf(m.id))
			}
			return
		}
		t := request.Turn{Role: role, Blocks: blocks}
		if m != nil {
			t.Messages, t.Summary = []change.Ref{*refOf(m.id)}, m.summary
		}
		q.Turns = append(q.Turns, t)
	}
	first := 0
	if s.hideBefore {
		first = max(0, slices.IndexFunc(s.messages, func(m message) bool { return m.summary }))
	}
	for i := range s.messages[first:] {
		m := &s.messages[first+i]
		for _, blocks := range m.steps {
			var sent, results []*request.Block
			for _, b := range blocks {
				sent = append(sent, sentCall(b))
				if b.Type == request.ToolUse && b.Output != nil {
					r := *b
					r.Type, r.Input, r.ToolName, r.ItemID = request.ToolResult, nil, "", ""
					results = append(results, &r)
				}
			}
			add(m.role, m, sent...)
			for _, r := range results {
				if s.provider.Name() == "anthropic" {
					add(change.RoleUser, nil, r)
				} else {
					add(request.RoleTool, nil, r)
				}
			}
		}
	}
	if last := len(s.messages) - 1; last < 0 || s.messages[last].role == change.RoleAssistant && !s.isOpen() {
		add(change.RoleUser, nil, &request.Block{Type: request.Text, Text: "the next prompt"})
	}
	q.Bound = s.bound
	for _, r := range s.provider.Rules() {
		if r.Vendors == nil || slices.Contains(r.Vendors, s.vendor) {
			refused = append(refused, r.Check(q, s.thinking)...)
		}
	}
	return q, refused
}

// sentCall returns a call without its result, and any other block unchanged.
func sentCall(b *request.Block) *request.Block {
	if b.Type != request.ToolUse || b.Output == nil {
		return b
	}
	n := *b
	n.Output, n.Error = nil, false
	return &n
}

// isOpen reports whether the session ends with a call that has its result: the agent continues without a prompt.
func (s *toy) isOpen() bool {
	last := s.messages[len(s.messages)-1]
	if len(last.steps) == 0 {
		return false
	}
	blocks := last.steps[len(last.steps)-1]
	return slices.ContainsFunc(blocks, func(b *request.Block) bool { return b.Type == request.ToolUse && b.Output != nil })
}

// Records has one record for each message, and one for each block, or for the blocks with the same Source.
func (s *toy) Records(yield func(*change.Record) bool) {
	for _, m := range s.messages {
		places, _ := json.Marshal(m.steps) // with the order of the blocks
		if !yield(&change.Record{Ref: *refOf(m.id), Data: append(places, m.role...)}) {
			return
		}
		blocks := slices.Concat(m.steps...)
		for i, b := range blocks {
			in := func(o *request.Block) bool { return o.Ref() == b.Ref() }
			if slices.ContainsFunc(blocks[:i], in) {
				continue
			}
			var data []byte
			for _, o := range blocks[i:] {
				if in(o) {
					one, _ := json.Marshal(o)
					data = append(data, one...)
				}
			}
			if !yield(&change.Record{Ref: b.Ref(), Data: data}) {
				return
			}
		}
	}
}

func (s *toy) Stored(ref change.Ref) repair.Stored {
	for _, m := range s.messages {
		if m.id == ref.Message {
			return repair.Stored{Ref: *refOf(m.id), Role: m.role, Steps: m.steps, Summary: m.summary}
		}
	}
	return repair.Stored{}
}

func (s *toy) Messages() (refs []change.Ref) {
	for _, m := range s.messages {
		refs = append(refs, *refOf(m.id))
	}
	return refs
}

func (s *toy) Prompts() (refs []change.Ref) {
	for _, m := range s.messages {
		if m.role == change.RoleUser {
			refs = append(refs, *refOf(m.id))
		}
	}
	return refs
}

// clone returns a copy that edits may change.
func (s *toy) clone() *toy {
	n := *s
	n.messages = slices.Clone(s.messages)
	for i := range n.messages {
		m := &n.messages[i]
		m.steps = slices.Clone(m.steps)
		for j := range m.steps {
			m.steps[j] = slices.Clone(m.steps[j])
		}
	}
	return &n
}

// Send implements [repair.State].
func (s *toy) Send(set repair.Setting) repair.Sent {
	now := *s
	if s.settings != nil {
		now.thinking = set.Thinking
	}
	q, refused := now.send()
	sent := repair.Sent{Request: q, Refused: refused, Findings: repair.FindingsOf(q, refused)}
	if n := len(s.messages); n > 0 && s.messages[n-1].role == change.RoleAssistant && s.isOpen() {
		sent.Unfinished = *refOf(s.messages[n-1].id)
	}
	return s.sendWords(set, sent)
}

// sendWords adds the effects of special words: the agent fails on "dead" before it sends a request, the provider
// refuses a request with "refused", and the version "old" refuses "outdated".
func (s *toy) sendWords(set repair.Setting, sent repair.Sent) repair.Sent {
	var dead, refused []repair.Finding
	for _, m := range s.messages {
		for _, b := range slices.Concat(m.steps...) {
			switch f := (repair.Finding{Ref: b.Ref(), Text: b.Text}); {
			case b.Text == "dead":
				f.Code = "dead"
				dead = append(dead, f)
			case b.Text == "refused", b.Text == "outdated" && set.Version == "old":
				f.Code = "refused"
				refused = append(refused, f)
			}
		}
	}
	if sent.Fails = len(dead) > 0; sent.Fails {
		refused = dead
	}
	sent.Findings = append(sent.Findings, refused...)
	return sent
}

func (s *toy) Edit() repair.Editor { return &toyEditor{s: s.clone()} }

// newCase returns the case of a session with rules of its own.
func newCase(s *toy, own ...repair.Rule) *repair.Case {
	x := repair.Context{
		Session: change.Ref{Kind: change.KindSession, Session: "ses_1"}, Rules: repair.NewRules(nil, own...),
		Busy: s.busy, Newer: s.newer, All: s.all,
		Window:    func(request.Model) int { return s.window },
		OfRequest: func(code string) bool { return code == "refused" },
		Writing:   func(_ repair.State, f repair.Finding) bool { return s.writing != "" && f.Ref.Message == s.writing },
	}
	if s.settings != nil {
		x.Settings = func(st repair.State, _ *repair.APIError) (repair.State, []repair.Setting) { return st, s.settings }
	}
	return repair.New(s, x)
}

func stateOf(c *repair.Case) *toy { return c.State.(*toy) }

// A toyEditor edits a copy of a session.
type toyEditor struct {
	repair.NoEdits

	s, before *toy
}

func (d *toyEditor) Begin(repair.Fix)    { d.before = d.s.clone() }
func (d *toyEditor) Undo()               { d.s = d.before }
func (d *toyEditor) State() repair.State { return d.s.clone() }

// update calls f with a copy of the stored block, which replaces the block.
func (d *toyEditor) update(b *request.Block, f func(m *message, step, i int, b *request.Block)) error {
	for k := range d.s.messages {
		m := &d.s.messages[k]
		for i, s := range m.steps {
			for j, x := range s {
				if b != nil && x.Ref() == b.Ref() && x.Index == b.Index {
					n := *x
					s[j] = &n
					f(m, i, j, &n)
					return nil
				}
			}
		}
	}
	return repair.ErrNoBlock
}

// edit changes a block in its place.
func (d *toyEditor) edit(b *request.Block, f func(b *request.Block)) error {
	return d.update(b, func(_ *message, _, _ int, b *request.Block) { f(b) })
}

func (d *toyEditor) Remove(b *request.Block) error {
	if b.Signature != "" && b.Signature == d.s.locked {
		return &repair.RefusalError{Why: "It is locked."}
	}
	return d.update(b, func(m *message, s, i int, _ *request.Block) { m.steps[s] = slices.Delete(m.steps[s], i, i+1) })
}

func (d *toyEditor) SetAside(ref change.Ref) error {
	if ref.Kind == change.KindPart {
		return d.message(ref, func(m *message) error {
			for i := range m.steps {
				m.steps[i] = slices.DeleteFunc(m.steps[i], func(b *request.Block) bool { return b.Ref() == ref })
			}
			return nil
		})
	}
	return d.message(ref, func(m *message) error {
		id := m.id
		d.s.messages = slices.DeleteFunc(d.s.messages, func(m message) bool { return m.id == id })
		return nil
	})
}

func (d *toyEditor) ReplaceText(b *request.Block, s string) error {
	return d.edit(b, func(b *request.Block) {
		*b = request.Block{Type: request.Text, Text: s, Source: b.Source}
	})
}

func (d *toyEditor) SetText(b *request.Block, s string) error {
	return d.edit(b, func(b *request.Block) { b.Text, b.HalfPair = s, false })
}

func (d *toyEditor) ReplaceFiles(b *request.Block, files []*request.Block, happened string) error {
	switch b.Type {
	case request.Image, request.Document:
	case request.ToolResult:
		return d.edit(b, func(b *request.Block) {
			b.Content, b.Output = slices.Clone(b.Content), nil
			for i, in := range b.Content {
				if in.Type != request.Text && (files == nil || slices.Contains(files, in)) {
					b.Content[i] = text("[" + in.Mime + ": " + happened + "]")
				}
			}
		})
	default:
		return repair.ErrNoEdit
	}
	return d.ReplaceText(b, "["+b.Mime+": "+happened+"]")
}

func (d *toyEditor) CorrectType(b *request.Block) error {
	info := b.MediaInfo()
	if !info.Image() || info.Type == b.Mime {
		return repair.ErrNoEdit
	}
	return d.edit(b, func(b *request.Block) { b.Mime = info.Type })
}

func (d *toyEditor) MoveFirst(b *request.Block) error {
	return d.update(b, func(m *message, s, i int, b *request.Block) {
		b.Source = partOf(m.id, i+100) // a record that moves gets another id
		m.steps[s] = slices.Insert(slices.Delete(m.steps[s], i, i+1), 0, b)
	})
}

func (d *toyEditor) SplitBefore(blocks ...*request.Block) (err error) {
	for _, b := range blocks {
		err = errors.Join(err, d.update(b, func(m *message, s, i int, _ *request.Block) {
			m.steps = slices.Insert(m.steps, s+1, m.steps[s][i:])
			m.steps[s] = m.steps[s][:i:i]
		}))
	}
	return err
}

func (d *toyEditor) InsertText(after *request.Block, s string) error {
	return d.update(after, func(m *message, at, i int, _ *request.Block) {
		m.steps[at] = slices.Insert(m.steps[at], i+1, withRef(m, text(s)))
	})
}

func withRef(m *message, b *request.Block) *request.Block {
	n := len(m.steps)
	for _, s := range m.steps {
		n += len(s)
	}
	b.Source = partOf("new_"+m.id, n)
	b.Source.Message = m.id
	return b
}

func (d *toyEditor) FillMessage(ref change.Ref, s string) error {
	return d.message(ref, func(m *message) error {
		if slices.ContainsFunc(m.steps, func(s []*request.Block) bool { return len(s) > 0 }) {
			return repair.ErrNoEdit
		}
		m.steps = [][]*request.Block{{withRef(m, text(s))}}
		return nil
	})
}

func (d *toyEditor) message(ref change.Ref, f func(m *message) error) error {
	for i := range d.s.messages {
		if d.s.messages[i].id == ref.Message {
			return f(&d.s.messages[i])
		}
	}
	return repair.ErrNoBlock
}

func (d *toyEditor) AddStep(ref change.Ref, s string) error {
	return d.message(ref, func(m *message) error {
		m.steps = append(m.steps, step(withRef(m, text(s))))
		return nil
	})
}

func (d *toyEditor) InsertThinking(b *request.Block, s string) error {
	return d.update(b, func(m *message, at, i int, _ *request.Block) {
		m.steps[at] = slices.Insert(m.steps[at], i, withRef(m, think(s, "")))
	})
}

func (d *toyEditor) InsertPrompt(before change.Ref, s string) error {
	i := slices.IndexFunc(d.s.messages, func(m message) bool { return m.id == before.Message })
	m := prompt(text(s))
	m.id = "before_" + before.Message
	m.steps[0][0].Source = partOf(m.id, 0)
	d.s.messages = slices.Insert(d.s.messages, i, m)
	return nil
}

func (d *toyEditor) SetCallID(b *request.Block, results []*request.Block, id string) error {
	var err error
	for _, x := range append([]*request.Block{b}, results...) {
		err = errors.Join(err, d.edit(x, func(b *request.Block) { b.ToolID = id }))
	}
	return err
}

func (d *toyEditor) SetToolName(b *request.Block, name string) error {
	return d.edit(b, func(b *request.Block) { b.ToolName = name })
}

func (d *toyEditor) SetInput(b *request.Block, input []byte) error {
	return d.edit(b, func(b *request.Block) { b.Input = input })
}

func (d *toyEditor) SetResult(b *request.Block, s string) error {
	return d.edit(b, func(b *request.Block) { b.Output, _ = json.Marshal(s) })
}

func (d *toyEditor) ClearResult(b *request.Block) error {
	if d.s.keeps {
		return repair.ErrNoEdit
	}
	return d.SetResult(b, request.Cleared)
}

func (d *toyEditor) FailCall(b *request.Block, s string) error {
	return errors.Join(d.SetResult(b, s), d.edit(b, func(b *request.Block) { b.Error = true }))
}

func (d *toyEditor) DropItemIDs(ref change.Ref) error {
	for _, b := range d.s.Stored(ref).Blocks() {
		if err := d.edit(b, func(b *request.Block) { b.ItemID = "" }); err != nil {
			return err
		}
	}
	return nil
}

func (d *toyEditor) DropHidden(b *request.Block) error {
	if b.IsThinking() && b.ItemID == "" {
		return repair.ErrNoEdit
	}
	return d.edit(b, func(b *request.Block) { b.Signature = "" })
}

func (d *toyEditor) RemoveCompaction() (int, error) {
	for i, m := range d.s.messages {
		if m.summary {
			d.s.messages = slices.Delete(d.s.messages, i, i+1)
			return 0, nil
		}
	}
	return 0, repair.ErrNotCompacted
}
