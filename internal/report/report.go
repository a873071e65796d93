// Package report writes a page of HTML about one session: the next request, the findings, and the changes of a repair.
// It is made for the maintainers of the agent, so it shows the structure of the session, but texts, titles, paths,
// commands, names and ids are replaced unless [Source.WithText] is set.
//
// It may import change, internal/request, internal/termjson and repair. Read [Write] first.
//
// Only values on a list are kept: numbers, the types and fields of OpenCode's records, the names of its own tools and
// agents, and the words of mend's own sentences (words.txt). Everything else is replaced.
//
// The page loads nothing and has no script.
package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"mend/change"
	"mend/internal/request"
	"mend/internal/termjson"
	"mend/repair"
)

// A Source has the content of a page.
type Source struct {
	WithText bool // replace nothing

	Program string // the version of mend and the system
	Agent   string // the agent and the diagnosed version
	Layout  string // of the store

	Head       change.Head
	Request    *request.Request // the next request; nil if unknown
	NoRequest  string           // why the request is unknown
	Provider   string           // the API of the request
	Turn       string           // a format with one number: the path of a turn in its errors
	Block      string           // the path of a block in its errors
	Violations []request.Violation
	Thinking   bool
	Diagnoses  []repair.Diagnosis // of the present session

	Fix Fix
}

// A Fix is a planned repair.
type Fix struct {
	Fixed     []repair.Diagnosis
	Ops       []change.Op
	Remaining []repair.Diagnosis // after it
	Proof     []string           // the checks, as sentences
}

// The limits of a page. It shows how much is left out.
const (
	maxTurns     = 400 // of a request; of a longer one it shows turns near violations, and the ends
	nearTurns    = 3
	maxOps       = 100
	maxDiffLines = 300
)

//go:embed page.css
var style string

// Write writes the page. Non-printable characters are written as escapes such as \u001b, because the page may
// be shown on a terminal, and because they may change the direction of its text.
func Write(w io.Writer, s Source) error {
	r := newRedactor(s.WithText)
	collectIDs(r, s)
	var b bytes.Buffer
	if err := r.page(s).Render(&b); err != nil {
		return err
	}
	lines := bytes.ReplaceAll(b.Bytes(), []byte("<div"), []byte("\n<div"))
	_, err := w.Write(bytes.ReplaceAll(termjson.Escape(lines), []byte("\r"), []byte(`\u000d`)))
	return err
}

func (r *redactor) page(s Source) g.Node {
	note := h.P(h.Class("note"), g.Text("Texts, titles, paths, commands, names and ids are replaced. Equal texts have the same number. What stays: sizes, types, field names, built-in tool names, and times relative to the start of the session. Everything else is a number."))
	if s.WithText {
		note = h.P(h.Class("violation"), g.Text("This page has the texts of the conversation."))
	}
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content("default-src 'none'; style-src 'unsafe-inline'")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("generator"), h.Content("mend "+s.Program)),
			h.TitleEl(g.Text("mend report: "+r.id(s.Head.ID))),
			h.StyleEl(g.Raw(style)),
		),
		h.Body(
			h.H1(g.Text("Session "+r.id(s.Head.ID))),
			h.P(h.Class("summary"), g.Text(r.summary(s))),
			note,
			r.facts(s),
			h.H2(h.ID("findings"), g.Text("Findings")),
			r.findings(s.Diagnoses),
			g.If(len(s.Diagnoses) == 0, h.P(g.Text("Nothing is wrong with the session now."))),
			h.H2(h.ID("timeline"), g.Text("The next request")),
			r.request(s),
			h.H2(h.ID("fix"), g.Text("The planned repair")),
			r.fix(s),
			h.H2(h.ID("proof"), g.Text("Proof")),
			h.Ul(g.Map(s.Fix.Proof, func(text string) g.Node { return g.If(text != "", h.Li(g.Text(text))) })),
			g.If(len(s.Fix.Remaining) > 0, h.P(g.Text("After the repair these remain:"))),
			r.findings(s.Fix.Remaining),
		),
	))
}

// summary returns the problem and its solution in one line.
func (r *redactor) summary(s Source) string {
	text := "Nothing is broken"
	for _, severity := range []repair.Severity{repair.Broken, repair.Latent, repair.Lost} {
		n := 0
		for _, d := range s.Diagnoses {
			if d.Severity != severity {
				continue
			}
			if n++; n == 1 {
				text = r.sentence(strings.TrimSuffix(d.Why, "."))
			}
		}
		if n > 1 {
			text += fmt.Sprintf(" (and %d more)", n-1)
		}
		if n > 0 {
			break
		}
	}
	switch f := s.Fix; {
	case len(f.Ops) > 0:
		return fmt.Sprintf("%s. A repair fixes %s with %s.", text, count(len(f.Fixed), "finding"), count(len(f.Ops), "change"))
	case len(s.Diagnoses) > 0:
		return text + ". mend has no repair for it."
	}
	return text + "."
}

// facts returns the list of facts about the session.
func (r *redactor) facts(s Source) g.Node {
	model := ""
	if s.Request != nil {
		model = r.model(s.Request.Model.ProviderID, s.Request.Model.ModelID)
		if s.Provider != "" {
			model += ", asked through " + r.word("api", s.Provider)
		}
		model += ", thinking " + map[bool]string{true: "on", false: "off"}[s.Thinking]
	}
	rows := [][2]string{
		{"made by", "mend " + s.Program},
		{"agent", s.Agent},
		{"store", s.Layout},
		{"model", model},
		{"title", r.text(s.Head.Title)},
		{"folder", r.text(s.Head.Directory)},
	}
	return h.Dl(g.Map(rows, func(row [2]string) g.Node {
		return g.If(row[1] != "", g.Group{h.Dt(g.Text(row[0])), h.Dd(g.Text(row[1]))})
	}))
}

// collectIDs collects all ids of the page, so that they can be numbered.
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

// request returns the turns of the request.
func (r *redactor) request(s Source) g.Node {
	if s.Request == nil {
		return h.P(g.Text("It is not known: " + r.sentence(s.NoRequest)))
	}
	turns, blocks := s.Request.Turns, 0
	near, byPlace := map[int]bool{}, map[[2]int][]request.Violation{}
	for _, v := range s.Violations {
		byPlace[[2]int{max(v.N, -1), v.M}] = append(byPlace[[2]int{max(v.N, -1), v.M}], v)
		for n := v.N - nearTurns; n <= v.N+nearTurns && v.N >= 0; n++ {
			near[n] = true
		}
	}
	var shown g.Group
	shownTurns, left := 0, 0
	leave := func() {
		if left > 0 {
			shown = append(shown, h.P(h.Class("soft"), g.Textf("… %d messages without a violation …", left)))
		}
		left = 0
	}
	for n, t := range turns {
		blocks += len(t.Blocks)
		if len(turns) > maxTurns && !near[n] && n >= nearTurns && n < len(turns)-nearTurns {
			left++
			continue
		}
		leave()
		shownTurns++
		shown = append(shown, r.turn(s, n, t, byPlace))
	}
	leave()
	counts := fmt.Sprintf("%s, %s, %s.", count(len(turns), "message"), count(blocks, "block"), count(len(s.Violations), "violation"))
	if shownTurns < len(turns) {
		counts += fmt.Sprintf(" %d of the messages are shown.", shownTurns)
	}
	return g.Group{
		h.P(h.Class("soft"), g.Text(counts)),
		r.violations(byPlace[[2]int{-1, -1}]),
		shown,
	}
}

// turn returns a message of the request.
func (r *redactor) turn(s Source, n int, t request.Turn, byPlace map[[2]int][]request.Violation) g.Node {
	role, whole := r.word("role", t.Role), byPlace[[2]int{n, -1}]
	var blocks g.Group
	for m, b := range t.Blocks {
		size, wrong := blockSize(b), byPlace[[2]int{n, m}]
		blocks = append(
			blocks,
			h.Div(
				h.Class(broken("block", wrong)),
				h.Span(h.Class("mono soft"), g.Textf(s.Block, m)),
				h.Span(g.Text(r.word("type", string(b.Type)))),
				h.Span(h.Title(fmt.Sprintf("%d bytes", size)), h.Span(h.Class("bar"), h.Style(fmt.Sprintf("width:%d%%", width(size))))),
				h.Span(g.Text(r.block(b)+" "), h.Span(h.Class("soft mono"), g.Text(r.ref(b.Ref())))),
			),
			r.violations(wrong),
		)
	}
	return h.Div(h.Class(broken("turn "+role, whole)), h.Div(h.Span(h.Class("role"), g.Textf(s.Turn, n)), g.Text(" "+role)), blocks, r.violations(whole))
}

// broken returns the class of an element, extended if it has violations.
func broken(class string, wrong []request.Violation) string {
	if len(wrong) > 0 {
		class += " broken"
	}
	return class
}

// width returns the width of the bar of a block, from the number of digits of its size.
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

// input returns the redacted input of a tool call.
func (r *redactor) input(text []byte) string {
	w := jsonWalker{redactor: r, in: newDecoder(text)}
	if err := w.value("", true, 0); err != nil {
		return r.text(string(text))
	}
	return w.out.String()
}

// maxLineText is the number of characters of a block that its line shows.
const maxLineText = 600

func (r *redactor) oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxLineText {
		s = strings.ToValidUTF8(s[:maxLineText], "") + "…"
	}
	return s
}

func (r *redactor) violations(all []request.Violation) g.Node {
	return g.Map(all, func(v request.Violation) g.Node {
		var records []string
		for _, ref := range v.Refs {
			records = append(records, r.ref(ref))
		}
		return h.Div(h.Class("violation"), h.B(g.Text(v.Rule)), g.Text(" "+r.sentence(v.Message)+" "), h.Span(h.Class("mono"), g.Text(strings.Join(records, " "))))
	})
}

func (r *redactor) findings(all []repair.Diagnosis) g.Node {
	return g.Map(all, func(d repair.Diagnosis) g.Node {
		line := func(class, title, text string) g.Node {
			return g.If(text != "", h.Div(g.If(class != "", h.Class(class)), g.Text(title+r.sentence(text))))
		}
		severity := d.Severity.String()
		return h.Div(
			h.Class("finding"), h.Span(h.Class(severity+"-word"), g.Text(strings.Replace(severity, "latent", "at risk", 1))), g.Text(" "), h.B(g.Text(d.Rule)), g.Textf(" %s ", d.Class), h.Code(h.Class("soft"), g.Text(r.ref(d.Ref))),
			line("", "", d.Why), line("soft", "", d.Text), line("fix", "Fix: ", d.Fix), line("", "Lost: ", d.Loses), line("", "No fix: ", d.WhyNot),
		)
	})
}

// fix returns the fixed findings and the changes of the repair.
func (r *redactor) fix(s Source) g.Node {
	f := s.Fix
	all := g.Group{r.findings(f.Fixed)}
	if len(f.Ops) == 0 {
		all = append(all, h.P(g.Text("Nothing is changed.")))
	}
	all = append(all, g.Map(f.Ops[:min(maxOps, len(f.Ops))], func(o change.Op) g.Node { return r.op(o, s.Head.Created) }))
	if more := len(f.Ops) - maxOps; more > 0 {
		all = append(all, h.P(g.Textf("… and %d more changes.", more)))
	}
	return all
}

// op returns a change with its diff, with times relative to zero.
func (r *redactor) op(o change.Op, zero int64) g.Node {
	var lines g.Group
	if o.Ref.Kind != change.KindFolder && o.Ref.Kind != change.KindFile {
		lines = r.diff(o, zero)
	}
	if more := len(lines) - maxDiffLines; more > 0 {
		lines = append(lines[:maxDiffLines], h.Span(g.Textf("… %d more lines", more)))
	}
	return h.Details(
		g.Attr("open"),
		h.Summary(g.Textf("%s %s ", o.Verb(), o.Ref.Kind), h.Code(g.Text(r.ref(o.Ref))), g.Text(" "), h.Span(h.Class("soft"), g.Text(sizes(o)))),
		h.Pre(lines),
	)
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
func (r *redactor) diff(o change.Op, zero int64) (lines g.Group) {
	before, after := r.image(o.Ref, o.Pre, zero), r.image(o.Ref, o.Post, zero)
	n := 0
	for line := range bytes.Lines(diff.Diff("before", []byte(before), "after", []byte(after))) {
		if n++; n <= 3 || bytes.HasPrefix(line, []byte("@@")) || bytes.HasPrefix(line, []byte(`\ No newline`)) {
			continue
		}
		class := map[byte]string{'-': "minus", '+': "plus"}[line[0]]
		lines = append(lines, h.Span(g.If(class != "", h.Class(class)), g.Textf("%c %s", line[0], bytes.TrimRight(line[1:], "\n"))))
	}
	return lines
}
