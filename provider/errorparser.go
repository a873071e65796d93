package provider

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mend/request"
)

// An ErrorParser recognises the errors of several APIs. Its methods may be called
// concurrently.
type ErrorParser struct {
	kinds  []ErrorKind // by rank
	rules  []RuleText
	places []*regexp.Regexp
	tools  []*regexp.Regexp
	call   *regexp.Regexp // nil for none
}

// NewErrorParser returns a parser of errors that have one of the texts. It panics if
// a pattern is not valid.
func NewErrorParser(texts ...ErrorTexts) *ErrorParser {
	p := &ErrorParser{}
	var calls []string
	for _, t := range texts {
		p.kinds = append(p.kinds, t.Kinds...)
		p.rules = append(p.rules, t.Rules...)
		calls = append(calls, t.Calls...)
		if t.Place != "" {
			p.places = append(p.places, regexp.MustCompile("(?i)"+t.Place))
		}
		if t.Tool != "" {
			p.tools = append(p.tools, regexp.MustCompile(t.Tool))
		}
	}
	slices.SortStableFunc(p.kinds, func(a, b ErrorKind) int { return cmp.Compare(a.Rank, b.Rank) })
	if len(calls) > 0 {
		p.call = regexp.MustCompile(`\b(?:` + strings.Join(calls, "|") + `)_[a-zA-Z0-9_-]+`)
	}
	return p
}

// Parse recognises an error: JSON in any of the forms in which agents and providers
// store it, or plain text. An error that it does not recognise has only a text and an
// explanation.
func (p *ErrorParser) Parse(input []byte) request.APIError {
	texts := messagesIn(strings.TrimSpace(string(input)), maxQuotes)
	e := request.APIError{Text: texts[0], Index: -1, Block: -1}
	kind := p.kind(e.Text)
	for _, t := range texts[1:] { // a quoted body is more exact if the message before it says nothing
		if kind != nil {
			break
		}
		if kind = p.kind(t); kind != nil {
			e.Text = t
		}
	}
	e.Explanation = notRecognised
	if kind != nil {
		e.Class, e.Recognised, e.Explanation = kind.Class, true, kind.Explanation
	}
	e.Rule = p.rule(e.Text)
	e.Index, e.Block = p.place(e.Text)
	e.Calls = p.callIDs(e.Text)
	if e.Class == request.UnavailableTool {
		e.Tool = p.tool(e.Text)
	}
	return e
}

// kind returns the kind of the text, nil if it fits none.
func (p *ErrorParser) kind(text string) *ErrorKind {
	text = strings.ToLower(text)
	if i := slices.IndexFunc(p.kinds, func(k ErrorKind) bool { return k.fits(text) }); i >= 0 {
		return &p.kinds[i]
	}
	return nil
}

// rule returns the code of the rule that the text is about, "" for none.
func (p *ErrorParser) rule(text string) string {
	text = strings.ToLower(text)
	if i := slices.IndexFunc(p.rules, func(r RuleText) bool { return r.Words.fits(text) }); i >= 0 {
		return p.rules[i].Code
	}
	return ""
}

// place returns the first place that the text names, -1 for what it does not name.
func (p *ErrorParser) place(text string) (index, block int) {
	var first []string
	start := len(text)
	for _, pattern := range p.places {
		if at := pattern.FindStringIndex(text); at != nil && at[0] < start {
			start, first = at[0], pattern.FindStringSubmatch(text)
		}
	}
	index, block = groupNumber(first, 1), groupNumber(first, 2)
	if index < 0 {
		return -1, -1
	}
	return index, block
}

// groupNumber returns the number in a group of a match, -1 if there is none.
func groupNumber(match []string, group int) int {
	if group >= len(match) {
		return -1
	}
	n, err := strconv.Atoi(match[group])
	if err != nil {
		return -1
	}
	return n
}

// callIDs returns the ids of tool calls in the text, each once, in its order.
func (p *ErrorParser) callIDs(text string) []string {
	if p.call == nil {
		return nil
	}
	var ids []string
	seen := map[string]bool{"call_id": true, "call_ids": true} // names of fields
	for _, id := range p.call.FindAllString(text, -1) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// tool returns the name of the unavailable tool in lower case, "" if the text does not
// name it.
func (p *ErrorParser) tool(text string) string {
	for _, pattern := range p.tools {
		if m := pattern.FindStringSubmatch(strings.ToLower(text)); m != nil {
			return m[1]
		}
	}
	return ""
}
