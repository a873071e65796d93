package rollout

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/repair"
)

// A Source is a session as it is stored.
type Source struct {
	Ref  change.Ref // of the rollout
	ID   string     // of the session
	Root string     // the folder of Codex
	Path string     // of the rollout, below Root
	Data []byte
	Mode fs.FileMode

	Packed []byte // the file as it is, if the program has compressed it; nil if it has not
	Torn   bool   // Data is only the beginning of what was compressed

	Row     *change.Record // in the index; nil if there is none
	Located bool           // the file that the row names exists
	RefOf   func(path string) change.Ref

	Restore bool // a session that is archived is to be listed again

	Busy  string // why the session is in use; "" if it is not
	Texts repair.Texts
}

// A Case is one state of a session.
type Case struct {
	repair.BaseCase

	src   Source
	lines []line
	torn  bool // the last line has no newline
	path  string
	row   *change.Record

	items    []item
	lost     loss
	request  request.Request
	refused  []request.Violation
	sent     map[int]item     // by turn
	turns    map[string][]int // of each message; nil until they are asked for
	copies   map[itemKey]bool // whether an earlier item is the same; nil until that is asked for
	findings repair.Findings
	asked    *repair.APIError
}

// An itemKey names an item: its message, and its number in that.
type itemKey struct {
	group string
	n     int
}

var (
	_ repair.Case    = (*Case)(nil)
	_ repair.Session = (*Case)(nil)
)

// New returns the case of a stored session.
func New(s Source) *Case {
	if s.Texts == (repair.Texts{}) {
		s.Texts = repair.TextsOf(repair.Request{})
	}
	c := &Case{src: s, path: s.Path, row: s.Row}
	c.lines, c.torn = parseLines(s.Data)
	c.examine()
	return c
}

// Data returns the rollout as the case has it.
func (c *Case) data() []byte {
	var out []byte
	for i := range c.lines {
		out = append(out, c.lines[i].raw...)
		if i < len(c.lines)-1 || !c.torn {
			out = append(out, '\n')
		}
	}
	return out
}

// examine finds what is wrong.
func (c *Case) examine() {
	c.lost = lost(c.lines)
	c.items = history(c.lines)
	c.request, c.sent = c.render()
	c.refused = c.parted(provider.Check(openai.Provider{}, c.request, true))
	c.findings = repair.Findings{}
	for _, f := range c.faults() {
		c.add(f)
	}
	for _, v := range c.refused {
		if v.Block != nil && v.Block.Source == nil && len(v.Refs) == 0 {
			continue // of what the program adds
		}
		f := repair.Finding{Code: v.Rule, Text: v.Message, Severity: repair.Broken}
		if len(v.Refs) > 0 {
			f.Ref = v.Refs[0]
		}
		if v.Block != nil {
			f.Block, f.Detail = v.Block.Index, fmt.Sprint(v.Block.Index)
		}
		c.add(f)
	}
	if c.asked != nil {
		for _, f := range repair.Asked(c, *c.asked) {
			c.add(f)
		}
	}
}

func (c *Case) add(f repair.Finding) {
	x := rules().Fault(c, f)
	if f.Severity == 0 {
		x.Severity = x.Rule.Severity
	}
	c.findings.Add(repair.InUse, x.Finding)
}

// parted adds where reasoning is sent without what followed it in its response: other records say that it is lost, or something else
// is sent in between.
func (c *Case) parted(refused []request.Violation) []request.Violation {
	seen := map[string]bool{"": true}
	known := map[int]bool{} // turns that are refused for it
	for _, w := range refused {
		if w.Rule == "O3" {
			known[w.N] = true
		}
	}
	for n, t := range c.request.Turns {
		it := c.sent[n]
		if it.kind == "" || it.added || len(t.Blocks) == 0 || t.Blocks[0].ItemID == "" {
			continue
		}
		id, message := t.Blocks[0].ItemID, ""
		seen[id] = true
		next, hasNext := c.lost.next[id]
		behind := c.request.Turns[n+1].Blocks
		apart := hasNext && (len(behind) == 0 || behind[0].ItemID != next)
		switch {
		case it.kind == "reasoning" && (apart || it.sub < 0 && c.lost.behind[c.lines[it.at].n]):
			message = fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", id)
		case !seen[c.lost.first[id]]:
			message = fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, it.kind, c.lost.first[id])
		}
		if message == "" || known[n] {
			continue
		}
		v := provider.Violate(n, 0, t.Blocks[0])
		v.Rule, v.Message = "O3", message
		refused = append(refused, v)
	}
	return refused
}

// Findings implements [repair.Case].
func (c *Case) Findings() *repair.Findings { return &c.findings }

// Describe implements [repair.Case].
func (c *Case) Describe(f repair.Finding) repair.Diagnosis {
	d := rules().Fault(c, f).Describe()
	if d.Ref == (change.Ref{}) {
		d.Ref = c.src.Ref
	}
	return d
}

// Fixes implements [repair.Case].
func (c *Case) Fixes(f repair.Finding) ([]repair.Fix, error) { return rules().Fault(c, f).Fixes(), nil }

// Records implements [repair.Case]: the rollout, and its row.
func (c *Case) Records(yield func(*change.Record) bool) {
	file := change.Record{Ref: c.src.Ref, Data: c.data(), Mode: c.src.Mode}
	switch isSame := c.path == c.src.Path; {
	case isSame && c.src.Packed != nil && bytes.Equal(file.Data, c.src.Data):
		file.Data = c.src.Packed
	case !isSame || c.src.Packed != nil: // what is changed is not compressed again
		file.Ref = c.src.RefOf(plainPath(c.path))
	}
	if yield(&file) && c.row != nil {
		yield(c.row)
	}
}

// Plain returns the rollout, which is not compressed.
func (s *Source) Plain() change.Record {
	r := change.Record{Ref: s.Ref, Data: s.Data, Mode: s.Mode}
	if s.Packed != nil {
		r.Ref = s.RefOf(plainPath(s.Path))
	}
	return r
}

// Draft implements [repair.Case].
func (c *Case) Draft() repair.Draft {
	return &draft{c: c, lines: slices.Clone(c.lines), torn: c.torn, path: c.path, row: c.row}
}

// Next implements [repair.Session].
func (c *Case) Next() (request.Request, []request.Violation) { return c.request, c.refused }

// Sent implements [repair.Case].
func (c *Case) Sent(int) (request.Request, []request.Violation) { return c.Next() }

// Settings implements [repair.Case].
func (c *Case) Settings() []repair.Setting {
	return []repair.Setting{{Version: Version, Thinking: true}}
}

// Busy implements [repair.Case].
func (c *Case) Busy() string { return c.src.Busy }

// Texts implements [repair.Session].
func (c *Case) Texts() repair.Texts { return c.src.Texts }

// Blocks implements [repair.Case].
func (c *Case) Blocks() (n int) {
	for _, t := range c.request.Turns {
		for _, b := range t.Blocks {
			if b.Source != nil {
				n++
			}
		}
	}
	return n
}

// Messages implements [repair.Session].
func (c *Case) Messages() (refs []change.Ref) {
	for _, it := range c.items {
		if ref := c.ref(it.group); !it.added && (len(refs) == 0 || refs[len(refs)-1] != ref) {
			refs = append(refs, ref)
		}
	}
	return refs
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

// Stored implements [repair.Session].
func (c *Case) Stored(ref change.Ref) repair.Stored {
	m := repair.Stored{Ref: c.ref(ref.Message), Role: change.RoleUser}
	var step []*request.Block
	if c.turns == nil {
		c.turns = map[string][]int{}
		for n := range c.request.Turns {
			if it, ok := c.sent[n]; ok && !it.added {
				c.turns[it.group] = append(c.turns[it.group], n)
			}
		}
	}
	for _, n := range c.turns[ref.Message] {
		step = append(step, c.request.Turns[n].Blocks...)
		m.Role, m.Summary = c.request.Turns[n].Role, c.sent[n].summary
	}
	if step == nil {
		return repair.Stored{}
	}
	m.Steps = [][]*request.Block{step}
	return m
}

// Asking implements [repair.Case].
func (c *Case) Asking(e repair.APIError) repair.Case { return c.with(&e) }

// Reset implements [repair.Case].
func (c *Case) Reset() repair.Case {
	if c.asked == nil {
		return c
	}
	return c.with(nil)
}

func (c *Case) with(e *repair.APIError) *Case {
	n := &Case{src: c.src, lines: c.lines, torn: c.torn, path: c.path, row: c.row, asked: e}
	n.examine()
	return n
}

// meta returns the place of the first line that is not empty, and whether it is the record that the program needs there.
func (c *Case) meta() (at int, ok bool) {
	at = slices.IndexFunc(c.lines, func(l line) bool { return !l.isBlank() })
	return at, at >= 0 && c.lines[at].kind == "session_meta" && text(c.lines[at].payload, "id") == c.src.ID
}

// isPaginated reports whether the program needs ordinals.
func (c *Case) isPaginated() bool {
	at, _ := c.meta()
	if at >= 0 && c.lines[at].kind == "session_meta" {
		return text(c.lines[at].payload, "history_mode") == "paginated"
	}
	return c.column("history_mode") == "paginated" || c.column("history_mode") == "" && slices.ContainsFunc(c.lines, func(l line) bool { _, ok := l.ordinal(); return ok })
}

// column returns the text in a column of the row, "" if there is none.
func (c *Case) column(name string) string {
	if c.row == nil {
		return ""
	}
	col, _ := c.row.Col(name)
	if col.Class != change.ClassText {
		return ""
	}
	return string(col.Bytes)
}

// number returns the number in a column of the row, 0 if there is none.
func (c *Case) number(name string) int64 {
	if c.row == nil {
		return 0
	}
	col, _ := c.row.Col(name)
	n, _ := col.Int()
	return n
}

// nameForm is the form of the name of a rollout. Without it the program does not find one, or does not continue it.
var nameForm = regexp.MustCompile(`^rollout-(\d{4})-(\d\d)-(\d\d)T\d\d-\d\d-\d\d-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$`)

// Compressed ends the names of rollouts that the program has compressed. It reads them, and takes the compression away when it continues one.
const Compressed = ".zst"

func plainPath(p string) string { return strings.TrimSuffix(p, Compressed) }

// NameID returns the id of the session in the name of a rollout, "" if the name is none of one.
func NameID(name string) string {
	if m := nameForm.FindStringSubmatch(path.Base(plainPath(name))); m != nil {
		return m[4]
	}
	return ""
}

// IDOf returns the id of the session that a rollout itself names, "" if it names none.
func IDOf(data []byte) string {
	for raw := range bytes.Lines(data) {
		if l := newLine(1, bytes.TrimSuffix(raw, []byte("\n"))); !l.isBlank() {
			if l.kind == "session_meta" {
				return text(l.payload, "id")
			}
			return ""
		}
	}
	return ""
}

// where returns where the row says that the rollout is, below the root; "" if it does not, or if that is elsewhere.
func (c *Case) where() string {
	rel, err := filepath.Rel(c.src.Root, nativePath(c.column("rollout_path")))
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// fileAt returns the path of the rollout at p, as the index has it.
func (c *Case) fileAt(p string) string {
	return filepath.Join(c.src.Root, filepath.FromSlash(plainPath(p)))
}

// nativePath returns a path of the index without the mark that Windows puts before a canonical one.
func nativePath(p string) string { return strings.TrimPrefix(p, `\\?\`) }
