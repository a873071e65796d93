package rollout

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/provider"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/repair"
)

// A Source is a stored session.
type Source struct {
	change.Record        // the rollout, possibly compressed
	Plain         []byte // the uncompressed rollout
	Partial       bool   // the compressed rollout is damaged: Plain is only its beginning
	Root          string // the folder of Codex
	path          string // path of the rollout, below Root

	Row     *change.Record // in the index; nil if it does not exist
	Located bool           // the file named by the row exists
	Linked  bool           // the file named by the row is this rollout, possibly under another path

	Providers Providers

	// Base is the rollout that has the beginning of a fork, or of a later rollout of the session, without Row and
	// Providers; nil if it does not exist.
	Base *Source

	// For a Base, set by judge:
	judged    bool
	refused   string // the id of the rollout with the part that the provider refuses, see [NameIDs]; "" for none
	encrypted string // the id of the rollout with the newest encrypted content of that part; "" for none
	end, next int64  // where the fork's beginning ends in Plain: after its last record, and before the next one
	sent      []item // the beginning of the fork, as Codex sends it

	joined bool // Plain also has the content of earlier rollouts, see join

	Restore bool // an archived session should be listed again

	// Unreadable means that the provider could not read encrypted content of the session.
	Unreadable bool

	Busy  string // why the session is in use; "" if it is not in use
	Texts repair.Texts
}

// Providers are the model providers that Codex knows.
type Providers struct {
	Current string // for a new session; "" if unknown
	All     []string
}

// A content is the part of a session that edits change.
type content struct {
	lines []line
	torn  bool // the last line has no newline
	path  string
	row   *change.Record
}

// A State is one state of a session.
type State struct {
	repair.Turns
	content

	src       Source
	items     []item
	inherited []item // sent before them: the beginning of a fork
}

// New returns the case of a stored session.
func New(s Source) *repair.Case {
	s.path, _ = PathOf(s.Ref)
	c := content{path: s.path, row: s.Row}
	c.lines, c.torn = parseLines(s.Plain)
	st := newState(s, c)
	if code, id, _ := st.forkFault(); code == "fork-refused" && id == s.Ref.Session {
		_, moved := st.baseFault()
		if whole, ok := s.join(); ok && !moved {
			c.lines, c.torn = parseLines(whole.Plain)
			st = newState(whole, c)
		}
	}
	return repair.New(st, repair.Context{
		Session: s.Ref, Rules: rules(), Texts: s.Texts, Busy: s.Busy, Newer: st.newer(), LastError: st.lastError(),
		Window: func(request.Model) int { return st.window() },
		Settings: func(s repair.State, _ *repair.APIError) (repair.State, []repair.Setting) {
			return s, []repair.Setting{{Version: Version, Thinking: true}}
		},
	})
}

// newState returns the state with that content, and the violations of its next request.
func newState(s Source, content content) *State {
	c := &State{content: content, src: s}
	if c.items = history(c.lines); c.needsBase() {
		c.inherited = s.Base.sent
	}
	q := c.render()
	own := len(q.Turns) - 1 - len(c.items)
	c.Turns = repair.NewTurns(q, slices.DeleteFunc(provider.Check(openai.Provider{}, q, true), func(v request.Violation) bool {
		return c.inherited != nil && v.N >= 0 && v.N < own // fork-refused reports it
	}))
	return c
}

func (s *content) data() []byte {
	var out []byte
	for i := range s.lines {
		out = append(out, s.lines[i].raw...)
		if i < len(s.lines)-1 || !s.torn {
			out = append(out, '\n')
		}
	}
	return out
}

// Records implements [repair.State]: the rollout, and its row.
func (c *State) Records(yield func(*change.Record) bool) {
	file := c.src.Record
	if data := c.data(); c.path != c.src.path || !bytes.Equal(data, c.src.Plain) {
		// A changed rollout is not compressed again.
		file.Ref, file.Data = RefOf(plainPath(c.path), c.src.Ref.Session), data
	}
	if yield(&file) && c.row != nil {
		yield(c.row)
	}
}

// Send implements [repair.State]. If Codex does not open the session, it makes no request.
func (c *State) Send(set repair.Setting) repair.Sent {
	sent := c.Turns.Send(set)
	sent.Now = func() (request.Request, []request.Violation) {
		refused := sent.Refused
		for _, f := range c.Faults() {
			r := rules().Rule(f.Code)
			if r.Severity == repair.Broken && r.Class != repair.MissingHistory {
				refused = append(slices.Clip(refused), request.Violation{Rule: f.Code, N: -1, M: -1})
			}
		}
		return sent.Request, refused
	}
	return sent
}

// Edit implements [repair.State].
func (c *State) Edit() repair.Editor {
	d := &draft{content: c.content, c: c}
	d.lines = slices.Clone(d.lines)
	return d
}

// lastError returns the error that ended the newest turn, if Codex stored an error of the provider.
func (c *State) lastError() []byte {
	i := lastLine(c.lines, func(l *line) bool { return l.kind == "event_msg" && l.subtype == "task_complete" })
	if i < 0 {
		return nil
	}
	return []byte(c.lines[i].payload.TextAt("error", "message"))
}

// window returns the context window of the model in tokens, according to the newest turn that has it; 0 if none has
// it.
func (c *State) window() int {
	for _, l := range slices.Backward(c.lines) {
		n, _ := l.payload.Get("model_context_window").Int()
		if l.kind == "event_msg" && l.subtype == "task_started" && n > 0 {
			return int(min(n, math.MaxInt32))
		}
	}
	return 0
}

// Prompts implements [repair.State].
func (c *State) Prompts() (refs []change.Ref) {
	for _, it := range c.items {
		if it.typed {
			refs = append(refs, c.ref(it.group))
		}
	}
	return refs
}

// metaOf returns the index of the first line that is not empty. If that line is the session_meta record that the
// program needs there, metaOf also returns the session's id.
func metaOf(lines []line) (at int, id string) {
	at = slices.IndexFunc(lines, func(l line) bool { return !l.isBlank() })
	if at >= 0 && lines[at].kind == "session_meta" {
		id = lines[at].payload.TextAt("id")
	}
	return at, id
}

// baseOf returns the id of the rollout that has the beginning of a fork, "" for none, and where that beginning ends in
// it: the ordinal and the byte. See [NameIDs].
func baseOf(lines []line) (id string, end, offset int64) {
	at, own := metaOf(lines)
	if own == "" {
		return "", 0, 0
	}
	base := lines[at].payload.Get("history_base")
	end, _ = base.Get("end_ordinal_exclusive").Int()
	offset, _ = base.Get("end_byte_offset").Int()
	return base.TextAt("thread_id"), end, offset
}

// missing returns the id of the first rollout that does not exist: s itself, with the given id, or one that has the
// beginning of s. It returns "" if all exist.
func (s *Source) missing(id string) string {
	if id == "" || s == nil {
		return id
	}
	return s.Base.missing(ReadSummary(s.Plain).Base)
}

// needsBase reports whether the session is a fork that is sent with its beginning, which is stored in other sessions. It
// judges that beginning.
func (c *State) needsBase() bool {
	id, end, _ := baseOf(c.lines)
	b := c.src.Base
	if id == "" || b == nil || c.compaction() >= 0 {
		return false
	}
	if !b.judged { // all drafts have the same Base
		b.judge(id, end)
	}
	return true
}

// baseFault returns the id of the rollout with the part of a fork's beginning that the provider refuses, "" for none,
// and whether the fork names a byte where its beginning does not end.
func (c *State) baseFault() (refused string, moved bool) {
	if !c.needsBase() {
		return "", false
	}
	_, _, offset := baseOf(c.lines)
	b := c.src.Base
	return b.refused, offset > 0 && (offset < b.end || offset > b.next)
}

// judge checks the part of s before an ordinal, which is the beginning of a fork. It sets end and next, if the ordinals
// show them. If the provider refuses that part, it sets refused: to id, which is the id of s, or to the id of the
// rollout that s itself got the refused part from.
func (s *Source) judge(id string, ordinal int64) {
	base := content{path: s.path}
	base.lines, _ = parseLines(s.Plain)
	missing, _ := base.newOrdinals()
	s.next = int64(len(s.Plain))
	at := int64(0)
	for i, l := range base.lines {
		if n, _ := l.ordinal(); l.kind != "" && n >= ordinal {
			base.lines, s.next = base.lines[:i], at
			break
		}
		if at += int64(len(l.raw)) + 1; l.kind != "" {
			s.end = min(at, int64(len(s.Plain)))
		}
	}
	if len(missing) > 0 {
		s.end, s.next = 0, math.MaxInt64
	}
	st := newState(*s, base)
	s.judged = true
	s.sent = slices.Concat(st.inherited, st.items)
	for i := range s.sent {
		s.sent[i].added = true
	}
	if st.needsBase() {
		s.encrypted = s.Base.encrypted
	}
	if slices.ContainsFunc(st.items, item.isEncrypted) {
		s.encrypted = id
	}
	if s.refused, _ = st.baseFault(); s.refused == "" && len(st.Turns.Send(repair.Setting{}).Refused) > 0 {
		s.refused = id
	}
}

// join returns the source with the content that Codex sends from earlier rollouts of the session, those before the user
// went back. A repair of the result changes only the newest rollout, which then has that content itself. ok is false if
// a rollout cannot be read. Each record keeps its ordinal, because forks name one: an empty record replaces the former
// first one.
func (s Source) join() (whole Source, ok bool) {
	lines, _ := parseLines(s.Plain)
	at, own := metaOf(lines)
	if own == "" || s.Partial || s.Base == nil || s.Base.Ref.Session != s.Ref.Session {
		return s, own != "" && !s.Partial
	}
	b, ok := s.Base.join()
	_, _, end := baseOf(lines)
	// join lengthens a rollout only at its beginning
	end += int64(len(b.Plain) - len(s.Base.Plain))
	if !ok || end <= 0 || end > int64(len(b.Plain)) {
		return s, false
	}
	earlier, _ := parseLines(b.Plain[:end])
	begin, id := metaOf(earlier)
	if id == "" || !lines[at].hasOrdinal() || !earlier[begin].hasOrdinal() {
		return s, false
	}
	first, err := replaceBase(lines[at], earlier[begin])
	if err != nil {
		return s, false
	}
	raw := [][]byte{first}
	for _, l := range earlier[begin+1:] {
		raw = append(raw, l.raw)
	}
	raw = append(raw, fmt.Appendf(nil, `{"timestamp":%s,"ordinal":%s,"type":"event_msg",`+
		`"payload":{"type":"token_count","info":null,"rate_limits":null}}`,
		lines[at].value.Get("timestamp").Raw(), lines[at].value.Get("ordinal").Raw()))
	rest := s.Plain
	for range at + 1 {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	s.Plain, s.Base, s.joined = bytes.Join(append(raw, rest), []byte("\n")), b.Base, true
	return s, true
}

// replaceBase returns the session_meta of a rollout with the ordinal and the history_base of an earlier one.
func replaceBase(meta, earlier line) (raw []byte, err error) {
	if base := earlier.payload.Get("history_base").Raw(); base != nil {
		raw, err = jsonedit.Set(meta.raw, base, "payload", "history_base")
	} else {
		raw, err = jsonedit.Remove(meta.raw, "payload", "history_base")
	}
	if err != nil {
		return nil, err
	}
	return jsonedit.Set(raw, earlier.value.Get("ordinal").Raw(), "ordinal")
}

// isPaginated reports whether Codex needs ordinals.
func isPaginated(lines []line) bool {
	if at, id := metaOf(lines); id != "" {
		return lines[at].payload.TextAt("history_mode") == "paginated"
	}
	return slices.ContainsFunc(lines, func(l line) bool { return l.hasOrdinal() })
}

// fileAt returns the path of the rollout at p, in the form of the index.
func (c *State) fileAt(p string) string {
	return filepath.Join(c.src.Root, filepath.FromSlash(plainPath(p)))
}
