// Package report writes a page of HTML about one session: the next request, the findings, and the changes of a
// repair. It is for the maintainers of the agent: it shows the structure of the session, and replaces texts, titles,
// paths, commands, names and ids.
//
// It may import change, internal/request, internal/term, internal/termjson and repair. Read [Write] first.
//
// Only values on a list stay: numbers, the types and fields of OpenCode's records, the names of its own tools and
// agents, and the words of mend's own sentences (words.txt).
//
// The page loads nothing and has no script.
package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"mend/change"
	"mend/internal/request"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/repair"
)

// A Source has the content of a page.
type Source struct {
	Program string // the version of mend and the system
	Agent   string // the agent and its version
	Layout  string // of the store

	Head       change.Head
	Request    *request.Request // the next request; nil if unknown
	NoRequest  string           // why the request is unknown
	Provider   string           // the API of the request
	Turn       string           // a format with one number: the path of a turn in the errors of the API
	Block      string           // a format with one number: the path of a block in these errors
	Violations []request.Violation
	Thinking   bool
	Diagnoses  []repair.Diagnosis // of the present session

	Fixed     []repair.Diagnosis // by the planned repair
	Ops       []change.Op        // of the planned repair
	Remaining []repair.Diagnosis // after the planned repair
	Proof     []string           // the checks, as sentences
}

// The limits of a page. The page shows how much is left out.
const (
	maxTurns     = 400 // of a request: the newest, and those with violations
	maxOps       = 100
	maxDiffLines = 300 // of a record
)

//go:embed page.css
var style string

// Write writes the page. It writes non-printable characters as escapes such as \u001b: the page may be shown on a
// terminal, and some of them change the direction of text.
func Write(w io.Writer, s Source) error {
	r := newRedactor()
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
			h.P(h.Class("note"), g.Text("Texts, titles, paths, commands, names and ids are replaced. Equal texts have the same number. What stays: sizes, types, field names, built-in tool names, and times relative to the start of the session. Everything else is replaced by a number.")),
			r.facts(s),
			h.H2(h.ID("findings"), g.Text("Findings")),
			r.findings(s.Diagnoses),
			h.H2(h.ID("timeline"), g.Text("The next request")),
			r.request(s),
			h.H2(h.ID("fix"), g.Text("The planned repair")),
			r.fix(s),
			h.H2(h.ID("proof"), g.Text("Proof")),
			h.Ul(g.Map(s.Proof, func(text string) g.Node { return g.If(text != "", h.Li(g.Text(text))) })),
			g.If(len(s.Remaining) > 0, h.P(g.Text("After the repair these remain:"))),
			r.findings(s.Remaining),
		),
	))
}

// summary returns the worst finding and the size of the repair in one sentence.
func (r *redactor) summary(s Source) string {
	if len(s.Diagnoses) == 0 {
		return "Nothing is broken."
	}
	worst := slices.MinFunc(s.Diagnoses, func(a, b repair.Diagnosis) int { return cmp.Compare(a.Severity, b.Severity) })
	text := r.sentence(strings.TrimSuffix(worst.Why, "."))
	if n := len(s.Diagnoses) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	if len(s.Ops) == 0 {
		return text + ". mend has no repair for it."
	}
	return fmt.Sprintf("%s. A repair fixes %s with %s.", text, term.Count(len(s.Fixed), "finding"), term.Count(len(s.Ops), "change"))
}

// facts returns the list of facts about the session.
func (r *redactor) facts(s Source) g.Node {
	model := ""
	if s.Request != nil {
		model = r.sentence(s.Request.Model.ProviderID + "/" + s.Request.Model.ModelID)
		model += ", thinking " + map[bool]string{true: "on", false: "off"}[s.Thinking]
	}
	rows := [][2]string{
		{"made by", "mend " + s.Program},
		{"agent", s.Agent},
		{"store", s.Layout},
		{"model", model},
		{"API", s.Provider},
		{"title", r.text(s.Head.Title)},
		{"folder", r.text(s.Head.Directory)},
	}
	return h.Dl(g.Map(rows, func(row [2]string) g.Node {
		return g.If(row[1] != "", g.Group{h.Dt(g.Text(row[0])), h.Dd(g.Text(row[1]))})
	}))
}

// collectIDs numbers the ids of the request, the findings and the changed records, which sentences may name.
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
	for _, ds := range [][]repair.Diagnosis{s.Diagnoses, s.Fixed, s.Remaining} {
		for _, d := range ds {
			r.addRef(d.Ref)
		}
	}
	for _, o := range s.Ops {
		r.addRef(o.Ref)
	}
}

func (r *redactor) request(s Source) g.Node {
	if s.Request == nil {
		return h.P(g.Text("It is not known: " + r.sentence(s.NoRequest)))
	}
	blocks, left, wrong, byPlace := 0, 0, map[int]bool{}, map[[2]int][]request.Violation{}
	for _, v := range s.Violations {
		at := [2]int{max(v.N, -1), v.M}
		wrong[v.N], byPlace[at] = true, append(byPlace[at], v)
	}
	var shown g.Group
	for n, t := range s.Request.Turns {
		if blocks += len(t.Blocks); n < len(s.Request.Turns)-maxTurns && !wrong[n] {
			left++
			continue
		}
		shown = append(shown, r.turn(s, n, t, byPlace))
	}
	counts := fmt.Sprintf("%s, %s, %s.", term.Count(len(s.Request.Turns), "message"), term.Count(blocks, "block"), term.Count(len(s.Violations), "violation"))
	if left > 0 {
		counts += fmt.Sprintf(" The first %s without a violation are left out.", term.Count(left, "message"))
	}
	return g.Group{h.P(h.Class("soft"), g.Text(counts)), r.violations(byPlace[[2]int{-1, -1}]), shown}
}

func (r *redactor) turn(s Source, n int, t request.Turn, byPlace map[[2]int][]request.Violation) g.Node {
	role, whole := r.word("role", t.Role), byPlace[[2]int{n, -1}]
	var blocks g.Group
	for m, b := range t.Blocks {
		wrong := byPlace[[2]int{n, m}]
		blocks = append(
			blocks,
			h.Div(
				h.Class(classWithViolations("block", wrong)),
				h.Span(h.Class("mono soft"), g.Textf(s.Block, m)),
				h.Span(g.Text(r.word("type", string(b.Type)))),
				h.Span(g.Text(r.block(b)+" "), h.Span(h.Class("soft mono"), g.Text(r.ref(b.Ref())))),
			),
			r.violations(wrong),
		)
	}
	return h.Div(h.Class(classWithViolations("turn "+role, whole)), h.Div(h.Span(h.Class("role"), g.Textf(s.Turn, n)), g.Text(" "+role)), blocks, r.violations(whole))
}

// classWithViolations returns the CSS class of an element, and adds one if the element has violations.
func classWithViolations(class string, wrong []request.Violation) string {
	if len(wrong) > 0 {
		class += " broken"
	}
	return class
}

func (r *redactor) block(b *request.Block) string {
	switch b.Type {
	case request.ToolUse:
		return fmt.Sprintf("%s  %s  %s", r.word("tool", b.ToolName), r.id(b.ToolID), cmp.Or(r.text(string(b.Input)), "no input"))
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
		return fmt.Sprintf("%s  %s  %s%s", r.word("type", b.Mime), term.Count(len(b.Data), "byte"), r.text(b.Name), r.text(b.URL))
	case request.Thinking, request.RedactedThinking:
		signature := fmt.Sprintf("signature of %s", term.Count(len(b.Signature), "byte"))
		if b.Unsigned {
			signature = "no signature"
		}
		return signature + "  " + r.text(b.Text)
	default:
		return cmp.Or(r.text(b.Text), "‹empty›")
	}
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
	all := g.Group{r.findings(s.Fixed)}
	if len(s.Ops) == 0 {
		all = append(all, h.P(g.Text("Nothing is changed.")))
	}
	for _, o := range s.Ops[:min(maxOps, len(s.Ops))] {
		all = append(all, h.Details(
			g.Attr("open"),
			h.Summary(g.Textf("%s %s ", o.Verb(), o.Ref.Kind), h.Code(g.Text(r.ref(o.Ref)))), h.Pre(r.diff(o, s.Head.Created)),
		))
	}
	if more := len(s.Ops) - maxOps; more > 0 {
		all = append(all, h.P(g.Textf("… and %d more changes.", more)))
	}
	return all
}

// diff returns the removed and added values of a record, and its unchanged words such as its type. Times are relative
// to zero.
func (r *redactor) diff(o change.Op, zero int64) (lines g.Group) {
	if o.Ref.Kind == change.KindFolder || o.Ref.Kind == change.KindFile {
		return nil
	}
	values := [2]map[string]string{{}, {}}
	for side, i := range []*change.Image{o.Pre, o.Post} {
		if i != nil {
			r.leaves("", "", contentOf(o.Ref, i), false, zero, func(path, value string) { values[side][path] = value })
		}
	}
	line := func(class, mark, path, value string) {
		lines = append(lines, h.Span(g.If(class != "", h.Class(class)), g.Textf("%s %s: %s", mark, path, value)))
	}
	all := maps.Clone(values[0])
	maps.Copy(all, values[1])
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, removed := values[0][path]
		after, added := values[1][path]
		switch {
		case len(lines) >= maxDiffLines:
			return append(lines, h.Span(g.Text("… more lines")))
		case removed && added && before == after:
			if slices.Contains(wordFields, path) {
				line("", " ", path, before)
			}
			continue
		}
		if removed {
			line("minus", "-", path, before)
		}
		if added {
			line("plus", "+", path, after)
		}
	}
	return lines
}
