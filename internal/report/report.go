// Package report writes a page of HTML about one session: the request that the agent sends next, what is
// wrong with it, and what a repair changes. It is made to be sent to the people who maintain the agent, so
// it has the structure of the session, but texts, titles, paths, commands, names and ids are replaced unless
// [Source.WithText] is set.
//
// What is kept is listed, not what is replaced: numbers, the types and fields of OpenCode's records, the
// names of its own tools and agents, and the words of mend's own sentences (words.txt).
//
// The page loads nothing and has no script.
package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"

	"mend/change"
	"mend/internal/request"
	"mend/internal/termjson"
	"mend/repair"
)

// A Source is what a page is made from.
type Source struct {
	WithText bool // replace nothing

	Program string // the version of mend and the system
	Agent   string // the agent and the version that is diagnosed for
	Layout  string // of the store

	Head       change.Head
	Request    *request.Request // the next one; nil if it is not known
	NoRequest  string           // why it is not known
	Provider   string           // the API that is asked
	Turn       string           // how its errors number turns: a format with one number
	Block      string           // how they number the blocks of a turn
	Violations []request.Violation
	Thinking   bool
	Diagnoses  []repair.Diagnosis // what is wrong now

	Fix Fix
}

// A Fix is a planned repair, or one that was made.
type Fix struct {
	Planned bool
	State   string             // of a repair that was made
	Error   string             // the provider's error that led to it
	Fixed   []repair.Diagnosis // by a planned repair
	Causes  []string           // of a repair that was made: what was wrong, and the fix
	Ops     []change.Op
	Lost    bool // the bytes were removed from the journal
	// Remaining is what is wrong after a planned repair.
	Remaining []repair.Diagnosis
	Proof     []string // what was checked, as sentences
}

// The limits of a page. What is left out is counted on it.
const (
	maxTurns     = 400 // of a request; of a longer one those near violations, and the ends
	nearTurns    = 3
	maxOps       = 100
	maxDiffLines = 300
)

//go:embed page.html.tmpl
var pageText string

var page = sync.OnceValues(func() (*template.Template, error) { return template.New("page").Parse(pageText) })

// Write writes the page. Characters that are not printable are written as escapes such as \u001b,
// since the page may be shown on a terminal, and since they may turn the direction of its text.
func Write(w io.Writer, s Source) error {
	t, err := page()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(s)); err != nil {
		return err
	}
	_, err = w.Write(bytes.ReplaceAll(termjson.Escape(b.Bytes()), []byte("\r"), []byte(`\u000d`)))
	return err
}

// A pageData is what the template shows. All its texts are replaced already.
type pageData struct {
	WithText                             bool
	Program, Agent, Layout               string
	Session, Title, Dir, Model, Provider string
	Thinking                             bool
	NoRequest                            string
	Turns                                []turn
	Strip                                strip  // of all blocks of the request
	Counts                               string // of the request
	Whole                                []violation
	Findings, Fixed, Remaining           []finding
	Causes                               []string
	Fix                                  Fix
	ErrorText                            string
	Ops                                  []op
	MoreOps                              int
}

// A turn is a message of the request, or a number of messages that are left out.
type turn struct {
	Place      string
	Role       string
	Blocks     []block
	Violations []violation
	Left       int // if not 0, so many messages are left out here
}

type block struct {
	Place, Type   string
	Record, Shows string
	Width         int // of the bar, in percent
	Size          int
	Violations    []violation
}

type violation struct {
	Rule, Message, Records string
}

type finding struct {
	Severity, Rule, Class, Record, Why, Says, Fix, Loses, WhyNot string
}

type op struct {
	Verb, Kind, Record, Sizes string
	Lines                     []diffLine
	More                      int
}

type diffLine struct{ Sign, Text string }

func newPage(s Source) pageData {
	r := newRedactor(s.WithText)
	collectIDs(r, s)
	p := pageData{
		WithText: s.WithText, Program: s.Program, Agent: s.Agent, Layout: s.Layout, NoRequest: r.sentence(s.NoRequest), Thinking: s.Thinking, Provider: r.word("api", s.Provider),
		Session: r.id(s.Head.ID), Title: r.text(s.Head.Title), Dir: r.text(s.Head.Directory), Fix: s.Fix,
		Findings: r.findings(s.Diagnoses), Fixed: r.findings(s.Fix.Fixed), Remaining: r.findings(s.Fix.Remaining), ErrorText: r.sentence(s.Fix.Error),
	}
	for _, c := range s.Fix.Causes {
		p.Causes = append(p.Causes, r.sentence(c))
	}
	if s.Request != nil {
		p.Model = r.model(s.Request.Model.ProviderID, s.Request.Model.ModelID)
		p.addTurns(r, s)
	}
	p.addOps(r, s)
	return p
}

// collectIDs collects the ids of everything that the page names, so that they can be numbered.
func collectIDs(r *redactor, s Source) {
	r.addRef(s.Head.Ref)
	r.addID("ses", s.Head.ID)
	r.addID("project", s.Head.Project)
	if s.Request != nil {
		for _, t := range s.Request.Turns {
			for _, m := range t.Messages {
				r.addRef(m)
			}
			for _, b := range t.Blocks {
				r.addRef(b.Ref())
				r.addID("call", b.ToolID)
			}
		}
	}
	for _, ds := range [][]repair.Diagnosis{s.Diagnoses, s.Fix.Fixed, s.Fix.Remaining} {
		for _, d := range ds {
			r.addRef(d.Ref)
		}
	}
	for _, o := range s.Fix.Ops {
		r.addRef(o.Ref)
		for _, i := range []*change.Image{o.Pre, o.Post} {
			for _, text := range jsonTexts(o.Ref, i) {
				r.addIDsIn(text)
			}
		}
	}
	r.numberIDs()
}

func (p *pageData) addTurns(r *redactor, s Source) {
	near := map[int]bool{}
	for _, v := range s.Violations {
		if v.N < 0 {
			p.Whole = append(p.Whole, r.violation(v))
		}
		for n := v.N - nearTurns; n <= v.N+nearTurns && v.N >= 0; n++ {
			near[n] = true
		}
	}
	turns, shownTurns, blocks := s.Request.Turns, 0, 0
	byPlace := map[[2]int][]violation{}
	for _, v := range s.Violations {
		byPlace[[2]int{v.N, v.M}] = append(byPlace[[2]int{v.N, v.M}], r.violation(v))
	}
	for n, t := range turns {
		blocks += len(t.Blocks)
		for m, b := range t.Blocks {
			s := stripe{Class: r.word("role", t.Role), Size: blockSize(b) + 1, Title: fmt.Sprintf("%s, %d bytes", r.word("type", string(b.Type)), blockSize(b))}
			if len(byPlace[[2]int{n, m}]) > 0 {
				s.Class += " broken"
			}
			p.Strip = p.Strip.with(s)
		}
		if len(turns) > maxTurns && !near[n] && n >= nearTurns && n < len(turns)-nearTurns {
			if last := len(p.Turns) - 1; last >= 0 && p.Turns[last].Left > 0 {
				p.Turns[last].Left++
			} else {
				p.Turns = append(p.Turns, turn{Left: 1})
			}
			continue
		}
		shownTurns++
		shown := turn{Place: fmt.Sprintf(s.Turn, n), Role: r.word("role", t.Role), Violations: byPlace[[2]int{n, -1}]}
		for m, b := range t.Blocks {
			size := blockSize(b)
			shown.Blocks = append(shown.Blocks, block{
				Place: fmt.Sprintf(s.Block, m), Type: r.word("type", string(b.Type)), Record: r.ref(b.Ref()), Shows: r.block(b), Size: size, Width: width(size), Violations: byPlace[[2]int{n, m}],
			})
		}
		p.Turns = append(p.Turns, shown)
	}
	p.Counts = fmt.Sprintf("%s, %s, %s.", count(len(turns), "message"), count(blocks, "block"), count(len(s.Violations), "violation"))
	if shownTurns < len(turns) {
		p.Counts += fmt.Sprintf(" %d of the messages are shown.", shownTurns)
	}
}

// A stripe is a block in the picture of the request, or neighbours of one role.
type stripe struct {
	Class, Title string
	Size         int
}

type strip []stripe

// maxStripes is how many blocks the picture tells apart; what follows is put together by role.
const maxStripes = 400

func (all strip) with(s stripe) strip {
	if last := len(all) - 1; len(all) >= maxStripes && all[last].Class == s.Class {
		all[last].Size += s.Size
		all[last].Title = s.Class
		return all
	}
	return append(all, s)
}

// width returns the width of the bar of a block: by the number of the size's digits.
func width(size int) int {
	w := 2
	for ; size > 0; size /= 4 {
		w += 8
	}
	return min(w, 100)
}

func blockSize(b *request.Block) int {
	n := len(b.Text) + len(b.Input) + len(b.Output) + len(b.Data)
	for _, c := range b.Content {
		n += blockSize(c)
	}
	return n
}

// block describes a block.
func (r *redactor) block(b *request.Block) string {
	switch b.Type {
	case request.ToolUse:
		input := "no input"
		if b.Input != nil {
			input = r.oneLine(r.input(b.Input))
		}
		return fmt.Sprintf("%s  %s  %s", r.tool(b.ToolName), r.id(b.ToolID), input)
	case request.ToolResult:
		parts := []string{"of " + r.id(b.ToolID)}
		if b.Error {
			parts = append(parts, "failed")
		}
		if b.Output != nil {
			parts = append(parts, r.text(b.OutputText()))
		}
		for _, c := range b.Content {
			parts = append(parts, r.word("type", string(c.Type))+": "+r.block(c))
		}
		return strings.Join(parts, "  ")
	case request.Image, request.Document:
		parts := []string{r.word("type", b.Mime), count(len(b.Data), "byte")}
		if b.Name != "" {
			parts = append(parts, r.text(b.Name))
		}
		if b.URL != "" {
			parts = append(parts, "linked: "+r.text(b.URL))
		}
		return strings.Join(parts, "  ")
	case request.Thinking, request.RedactedThinking:
		signature := fmt.Sprintf("signature of %s", count(len(b.Signature), "byte"))
		if b.Unsigned {
			signature = "no signature"
		}
		return signature + "  " + r.text(b.Text)
	default:
		if b.Text == "" {
			return "‹empty›"
		}
		return r.text(b.Text)
	}
}

// input returns what stands for the input of a tool call.
func (r *redactor) input(text []byte) string {
	w := jsonWalker{redactor: r, in: newDecoder(text)}
	if err := w.value("", true, 0); err != nil {
		return r.text(string(text))
	}
	return w.out.String()
}

// maxLineText is how much of a block is shown in the timeline.
const maxLineText = 600

func (r *redactor) oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxLineText {
		s = strings.ToValidUTF8(s[:maxLineText], "") + "…"
	}
	return s
}

func (r *redactor) violation(v request.Violation) violation {
	var records []string
	for _, ref := range v.Refs {
		records = append(records, r.ref(ref))
	}
	return violation{Rule: v.Rule, Message: r.sentence(v.Message), Records: strings.Join(records, " ")}
}

func (r *redactor) findings(ds []repair.Diagnosis) (all []finding) {
	for _, d := range ds {
		all = append(all, finding{
			Severity: d.Severity.String(), Rule: d.Rule, Class: string(d.Class), Record: r.ref(d.Ref),
			Why: r.sentence(d.Why), Says: r.sentence(d.Text), Fix: r.sentence(d.Fix), Loses: r.sentence(d.Loses), WhyNot: r.sentence(d.WhyNot),
		})
	}
	return all
}

func (p *pageData) addOps(r *redactor, s Source) {
	p.MoreOps = max(0, len(s.Fix.Ops)-maxOps)
	for _, o := range s.Fix.Ops[:min(maxOps, len(s.Fix.Ops))] {
		shown := op{Verb: o.Verb(), Kind: o.Ref.Kind.String(), Record: r.ref(o.Ref), Sizes: sizes(o)}
		if o.Ref.Kind != change.KindFolder && o.Ref.Kind != change.KindFile {
			shown.Lines = r.diff(o, s.Head.Created)
		}
		if n := len(shown.Lines) - maxDiffLines; n > 0 {
			shown.Lines, shown.More = shown.Lines[:maxDiffLines], n
		}
		p.Ops = append(p.Ops, shown)
	}
}

func sizes(o change.Op) string {
	switch {
	case o.Pre == nil:
		return count(len(o.Post.Data), "byte")
	case o.Post == nil:
		return count(len(o.Pre.Data), "byte")
	}
	return fmt.Sprintf("%d → %s", len(o.Pre.Data), count(len(o.Post.Data), "byte"))
}

// diff returns the lines of the diff of an op.
func (r *redactor) diff(o change.Op, zero int64) (lines []diffLine) {
	before, after := r.image(o.Ref, o.Pre, zero), r.image(o.Ref, o.Post, zero)
	n := 0
	for line := range bytes.Lines(diff.Diff("before", []byte(before), "after", []byte(after))) {
		if n++; n <= 3 || bytes.HasPrefix(line, []byte("@@")) || bytes.HasPrefix(line, []byte(`\ No newline`)) {
			continue
		}
		lines = append(lines, diffLine{Sign: string(line[:1]), Text: strings.TrimRight(string(line[1:]), "\n")})
	}
	return lines
}
