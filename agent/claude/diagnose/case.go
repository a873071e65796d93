package diagnose

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/request"
	"mend/linestore"
	"mend/repair"
)

// Versions are the versions that load transcripts in the same way as the newest one.
var Versions = repair.Versions{Oldest: "2.1.0", Newest: transcript.Version}

// A Source is a stored transcript.
type Source struct {
	Ref     change.Ref // of the transcript as a whole
	Agent   string     // the subagent that the transcript belongs to; "" for a session's
	Data    []byte
	Mode    fs.FileMode // of the file; 0 if unknown
	Version string      // version of Claude Code that wrote last or will load it; "" for the version in its records
	Busy    string      // why the session is in use; "" if it is not in use
	Gone    string      // the session's folder if it does not exist and Claude Code lists the session nowhere; else ""
	Texts   repair.Texts
}

type base struct {
	Source
	lines []transcript.Line
	last  map[string]int // the last line of each record
	leaf  string
}

// A State is one state of a transcript.
type State struct {
	repair.BaseState

	base    *base
	edits   edits
	lines   []transcript.Line
	written []byte // the whole transcript, if lines cannot be appended; else nil

	conv    *transcript.Conversation        // as stored
	linked  *transcript.Conversation        // with all breaks repaired
	answers map[string][]*transcript.Record // of linked, by id; nil before the first use

	newest   repair.Stored // the last answer that [State.Stored] made, without its Ref, Role and Summary
	newestID string        // its id

	request *request.Request    // what conv sends; nil before the first use
	next    *request.Request    // what linked sends; nil before the first use
	refused []request.Violation // the violations of next
	faults  []repair.Finding    // see [State.report]
}

// New returns the engine's case of a stored transcript.
func New(s Source) *repair.Case {
	b := newBase(s)
	c := load(b, edits{set: map[string]transcript.Line{}, aside: map[string]bool{}})
	if c.conv.Leaf != nil {
		b.leaf = c.conv.Leaf.UUID
	}
	c.examine()
	x := repair.Context{
		Session: s.Ref, Rules: table(), Texts: b.Texts, Busy: s.Busy,
		Settings: func(s repair.State, _ *repair.APIError) (repair.State, []repair.Setting) {
			return s, []repair.Setting{{Version: transcript.Version}} // Claude Code itself handles switched thinking
		},
		Ask: func(_ repair.State, f *repair.Finding, _ *request.Block) bool {
			f.Detail = cmp.Or(f.Detail, fmt.Sprint(f.Block))
			return f.Code != "encrypted" // Anthropic signs thinking, but sends none of it encrypted
		},
		Describe: func(x *repair.Fault, d *repair.Diagnosis) {
			if x.Severity == repair.Latent {
				d.Shown = repair.Listed
			}
		},
		ForkBefore: func(s repair.State, prompt change.Ref) string { return s.(*State).forkBefore(prompt) },
	}
	x.LastError, _ = c.LastError()
	if b.isNewer() {
		x.Newer = fmt.Sprintf("Claude Code %.20s", b.Version)
	}
	return repair.New(c, x)
}

// isNewer reports whether the version is newer than the known versions.
func (b *base) isNewer() bool { return Versions.Newer(b.Version) }

// StateOf returns the state of a case.
func StateOf(c *repair.Case) *State { return c.State.(*State) }

func newBase(s Source) *base {
	if s.Texts == (repair.Texts{}) {
		s.Texts = repair.TextsOf(repair.Request{})
	}
	b := &base{Source: s, lines: transcript.Parse(s.Data)}
	b.last = make(map[string]int, len(b.lines))
	if s.Version == "" {
		b.Version = lastVersion(b.lines)
	}
	for i := range b.lines {
		// No ref can name a record with a byte order mark.
		if r := b.lines[i].Record; r != nil && r.UUID != "" && !b.lines[i].Marked {
			b.last[r.UUID] = i
		}
	}
	return b
}

// size returns the size of the file in bytes.
func (b *base) size() int64 { return int64(len(b.Data)) }

// lastVersion returns the version of Claude Code that wrote last.
func lastVersion(lines []transcript.Line) string {
	for _, l := range slices.Backward(lines) {
		if l.Record != nil && l.Record.InChain() && l.Record.Version != "" {
			return l.Record.Version
		}
	}
	return ""
}

// newState applies the edits and examines the result.
func newState(b *base, e edits) *State {
	c := load(b, e)
	c.keepLeaf(e.leafOf(b))
	c.examine()
	return c
}

// load applies the edits and loads the result.
func load(b *base, e edits) *State {
	c := &State{base: b, edits: e}
	c.apply()
	c.conv = transcript.Load(c.lines, b.size(), b.Agent)
	c.linked = c.conv
	return c
}

// keepLeaf appends the leaf again if the last line is another record, because Claude Code continues the
// conversation at the last line.
func (c *State) keepLeaf(leaf string) {
	if leaf == "" || c.conv.Leaf != nil && c.conv.Leaf.UUID == leaf {
		return
	}
	at, ok := c.base.last[leaf]
	if !ok || c.written != nil || !c.canEdit(leaf) {
		return
	}
	line, edited := c.edits.set[leaf]
	if !edited {
		line = newLine(append(bytes.Clone(c.base.lines[at].Raw), ' ')) // with a blank, since an op must change something
	}
	lines := slices.DeleteFunc(slices.Clone(c.lines), func(l transcript.Line) bool {
		return l.Record != nil && l.Start < 0 && l.Record.UUID == leaf
	})
	lines = append(lines, line)
	conv := transcript.Load(lines, c.base.size(), c.conv.Agent)
	if conv.Leaf == nil || conv.Leaf.UUID != leaf {
		return
	}
	c.lines, c.conv, c.linked, c.request = lines, conv, conv, nil
	c.edits = c.edits.clone()
	c.edits.set[leaf] = line
}

// newLine returns a new line, which is not in the file yet.
func newLine(raw []byte) transcript.Line {
	l := transcript.NewLine(raw)
	l.Start = -1
	return l
}

func (c *State) ref(r *transcript.Record) change.Ref { return c.base.refOf(r.UUID) }

func (b *base) refOf(uuid string) change.Ref {
	ref := b.Ref
	ref.Kind, ref.Message = change.KindMessage, uuid
	return ref
}

// Conversation returns Claude Code's state after it has loaded the transcript.
func (c *State) Conversation() *transcript.Conversation { return c.conv }

// Records implements [repair.State]. It yields the whole transcript, then new records, then the others in order, and
// the leaf last. A change appends lines in this order, and so does a redo.
func (c *State) Records(yield func(*change.Record) bool) {
	whole := change.Record{Ref: c.base.Ref, Data: c.base.Data, Mode: cmp.Or(c.base.Mode, linestore.Mode)}
	if c.written != nil {
		whole.Data = c.written
	}
	if !yield(&whole) {
		return
	}
	set := c.edits.set
	if c.written != nil {
		set = nil
	} else {
		for _, uuid := range c.edits.created {
			if !yield(&change.Record{Ref: c.base.refOf(uuid), Data: set[uuid].Raw, Mode: linestore.Mode}) {
				return
			}
		}
	}
	var leaf *change.Record
	for i := range c.base.lines {
		r := c.base.lines[i].Record
		if r == nil || r.UUID == "" || c.base.last[r.UUID] != i || c.base.lines[i].Marked ||
			change.ValidateID(r.UUID) != nil {
			continue
		}
		rec := change.Record{Ref: c.base.refOf(r.UUID), Data: c.base.lines[i].Raw, Mode: linestore.Mode}
		if l, ok := set[r.UUID]; ok {
			rec.Data = l.Raw
		}
		if r.UUID == c.edits.leafOf(c.base) {
			leaf = &rec
		} else if !yield(&rec) {
			return
		}
	}
	if leaf != nil {
		yield(leaf)
	}
}

// Edit implements [repair.State].
func (c *State) Edit() repair.Editor { return c.edit() }

func (c *State) edit() *draft {
	return &draft{c: c, edits: c.edits.clone(), removed: map[string][]int{}}
}

// Request returns what Claude Code will send when the user types one more prompt.
func (c *State) Request() request.Request {
	if c.request == nil {
		q := c.requestOf(c.conv)
		c.request = &q
	}
	return *c.request
}

// HealsBound is the oldest version that sends the request again without thinking if the provider refuses thinking that
// is bound to another conversation, as observed in TestRealBoundThinking.
const HealsBound = "2.1.170"

func (c *State) requestOf(conv *transcript.Conversation) request.Request {
	q := conv.Request(c.ref)
	if request.BindsThinking(q.Model.ModelID) {
		q.Bound = request.Dropped
		if v := c.base.Version; v != "" && semver.Compare("v"+v, "v"+HealsBound) < 0 {
			q.Bound = request.Refused
		}
	}
	return q
}

// Send implements [repair.State]. Faults returns the violations, so Sent has no findings.
func (c *State) Send(repair.Setting) repair.Sent {
	q, refused := c.Next()
	return repair.Sent{Request: q, Refused: refused, Now: func() (request.Request, []request.Violation) {
		refused := checkRules(c.Request())
		if c.conv.Hidden || c.conv.Leaf == nil {
			refused = append(refused, request.Violation{Rule: ruleUnreadable, N: -1, M: -1})
		}
		return c.Request(), refused
	}}
}

// countBlocks returns how many stored blocks the next request has.
func (c *State) countBlocks() (n int) {
	if c.conv.Hidden {
		return 0
	}
	for b := range c.Request().Blocks {
		if r := c.conv.Record(b.Ref().Message); r != nil && r.IsMessage() {
			n++
		}
	}
	return n
}

// LastError returns the error at the end of the session, which Claude Code stores as an answer, or as the output of a
// command such as /compact. It also returns the answer, nil if the error is not one.
func (c *State) LastError() (text []byte, answer *transcript.Record) {
	const command, failed, output = "<command-name>", "<local-command-stderr>", "<local-command-stdout>"
	for _, r := range slices.Backward(c.conv.Chain) {
		if !r.IsMessage() || len(r.Blocks()) == 0 {
			continue
		}
		text := r.Blocks()[0].Text
		isUser := r.Role() == change.RoleUser
		switch {
		case isUser && strings.HasPrefix(text, failed):
			return []byte(strings.TrimSuffix(strings.TrimPrefix(text, failed), "</"+failed[1:])), nil
		case isUser && (r.Meta || strings.HasPrefix(text, command) || strings.HasPrefix(text, output)):
		case r.APIError:
			return []byte(text), r
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// forkBefore explains how to continue without a prompt: in Claude Code the user goes back within the session.
func (c *State) forkBefore(prompt change.Ref) string {
	r := c.linked.Record(prompt.Message)
	if r == nil || len(r.Blocks()) == 0 {
		return ""
	}
	q, refused := c.Next()
	for n, t := range q.Turns {
		if slices.Contains(t.Messages, prompt) {
			if slices.ContainsFunc(refused, func(v request.Violation) bool { return v.N < n }) {
				return ""
			}
			const way = "To continue without it, press Esc twice in Claude Code and go back to the prompt %q."
			return fmt.Sprintf(way, request.Short(r.Blocks()[0].Text, 60))
		}
	}
	return ""
}
