package rollout

import (
	"bytes"
	"path/filepath"
	"slices"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/repair"
)

// A Source is a session as it is stored.
type Source struct {
	change.Record        // the rollout, maybe compressed
	Plain         []byte // the same, not compressed
	Torn          bool   // Plain is only the beginning of what was compressed
	Root          string // the folder of Codex
	path          string // of the rollout, below Root

	Row     *change.Record // in the index; nil if there is none
	Located bool           // the file that the row names exists
	Linked  bool           // and is this one, maybe by another path

	Providers Providers

	Restore bool // a session that is archived is to be listed again

	Busy  string // why the session is in use; "" if it is not
	Texts repair.Texts
}

// Providers are the model providers that the program has.
type Providers struct {
	Current string   // that of a new session; "" if that is not known
	All     []string // all that it can ask
}

// A state is what edits change of a session.
type state struct {
	lines []line
	torn  bool // the last line has no newline
	path  string
	row   *change.Record
}

// A Case is one state of a session.
type Case struct {
	repair.BaseCase
	state

	src   Source
	items []item
}

var (
	_ repair.Case    = (*Case)(nil)
	_ repair.Session = (*Case)(nil)
)

// New returns the case of a stored session.
func New(s Source) *Case {
	s.path, _ = PathOf(s.Ref)
	st := state{path: s.path, row: s.Row}
	st.lines, st.torn = parseLines(s.Plain)
	return newCase(s, st, nil)
}

// newCase returns the case of a state, with what an error shows if it is not nil.
func newCase(s Source, st state, asked *repair.APIError) *Case {
	c := &Case{state: st, src: s}
	c.items = history(c.lines)
	q := c.render()
	c.Examine(c, s.Ref, rules(), q, provider.Check(openai.Provider{}, q, true), c.faults(), c.newer())
	c.Ask(asked, func(e *repair.APIError) repair.Case { return newCase(s, st, e) })
	return c
}

func (s *state) data() []byte {
	var out []byte
	for i := range s.lines {
		out = append(out, s.lines[i].raw...)
		if i < len(s.lines)-1 || !s.torn {
			out = append(out, '\n')
		}
	}
	return out
}

// Records implements [repair.Case]: the rollout, and its row.
func (c *Case) Records(yield func(*change.Record) bool) {
	file := c.src.Record
	if data := c.data(); c.path != c.src.path || !bytes.Equal(data, c.src.Plain) { // what is changed is not compressed again
		file.Ref, file.Data = RefOf(plainPath(c.path), c.src.Ref.Session), data
	}
	if yield(&file) && c.row != nil {
		yield(c.row)
	}
}

// Current implements [repair.Case].
func (c *Case) Current() (request.Request, []request.Violation) {
	q, refused := c.Next()
	for _, f := range c.Findings().All() {
		if f.Severity == repair.Broken && f.Ref == c.src.Ref && f.Class != repair.MissingHistory { // the program does not open the session
			refused = append(slices.Clip(refused), request.Violation{Rule: f.Code, N: -1, M: -1})
		}
	}
	return q, refused
}

// Draft implements [repair.Case].
func (c *Case) Draft() repair.Draft {
	d := &draft{state: c.state, c: c}
	d.lines = slices.Clone(d.lines)
	return d
}

// Settings implements [repair.Case].
func (c *Case) Settings() []repair.Setting {
	return []repair.Setting{{Version: Version, Thinking: true}}
}

// Busy implements [repair.Case].
func (c *Case) Busy() string { return c.src.Busy }

// Texts implements [repair.Session].
func (c *Case) Texts() repair.Texts { return c.src.Texts }

// LastError implements [repair.Case]: the program writes how each turn ended, and with which error of the provider.
func (c *Case) LastError() []byte {
	if i := lastLine(c.lines, func(l *line) bool { return l.kind == "event_msg" && l.of == "task_complete" }); i >= 0 {
		return []byte(c.lines[i].payload.TextAt("error", "message"))
	}
	return nil
}

// Prompts implements [repair.Session].
func (c *Case) Prompts() (refs []change.Ref) {
	for _, it := range c.items {
		if !it.summary && isPrompt(it.value) {
			refs = append(refs, c.ref(it.group))
		}
	}
	return refs
}

// metaOf returns the place of the first line that is not empty, and the id of the session if it is the record that the program needs there.
func metaOf(lines []line) (at int, id string) {
	at = slices.IndexFunc(lines, func(l line) bool { return !l.isBlank() })
	if at >= 0 && lines[at].kind == "session_meta" {
		id = lines[at].payload.TextAt("id")
	}
	return at, id
}

// isPaginated reports whether the program needs ordinals. If the record of the session cannot be read, the index may have the mode.
func (c *Case) isPaginated() bool {
	if _, id := metaOf(c.lines); id == "" && c.row.Text("history_mode") != "" {
		return c.row.Text("history_mode") == "paginated"
	}
	return isPaginated(c.lines)
}

func isPaginated(lines []line) bool {
	if at, id := metaOf(lines); id != "" {
		return lines[at].payload.TextAt("history_mode") == "paginated"
	}
	return slices.ContainsFunc(lines, func(l line) bool { _, ok := l.ordinal(); return ok })
}

// fileAt returns the path of the rollout at p, as the index has it.
func (c *Case) fileAt(p string) string {
	return filepath.Join(c.src.Root, filepath.FromSlash(plainPath(p)))
}
