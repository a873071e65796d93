package provider

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mend/internal/request"
)

// An ErrorParser recognises the errors of several APIs. Its methods may be called concurrently.
type ErrorParser struct {
	kinds  []kindWords // by rank
	rules  []ruleWords // longest words first
	places []placePattern
	tools  []*regexp.Regexp
	items  []*regexp.Regexp
	calls  []*regexp.Regexp // with one group
}

// kindWords are words of a kind.
type kindWords struct {
	pieces
	kind  *ErrorKind
	agent string
}

// ruleWords are words of a rule of an API.
type ruleWords struct {
	pieces
	code, api string
}

// A placePattern is the way an API names a place.
type placePattern struct {
	*regexp.Regexp
	api   string
	first int // see [ErrorTexts].First
}

// NewErrorParser returns a parser for errors that contain one of the texts. It panics on an invalid
// pattern.
func NewErrorParser(texts ...ErrorTexts) *ErrorParser {
	p := &ErrorParser{}
	var calls []string
	for _, t := range texts {
		for _, k := range t.Kinds {
			for _, words := range k.Any {
				p.kinds = append(p.kinds, kindWords{piecesOf(words), &k, t.Agent})
			}
		}
		for _, r := range t.Rules {
			for _, words := range r.Words {
				p.kinds = append(p.kinds, kindWords{piecesOf(words), r.Kind, t.Agent})
				p.rules = append(p.rules, ruleWords{piecesOf(words), r.Code, t.API})
			}
		}
		calls = append(calls, t.Calls...)
		if t.Place != "" {
			p.places = append(p.places, placePattern{regexp.MustCompile("(?i)" + t.Place), t.API, t.First})
		}
		p.tools = appendPattern(p.tools, t.Tool)
		p.items = appendPattern(p.items, t.Item)
		p.calls = appendPattern(p.calls, t.Call)
	}
	slices.SortStableFunc(p.kinds, func(a, b kindWords) int { return cmp.Compare(a.kind.Rank, b.kind.Rank) })
	slices.SortStableFunc(p.rules, func(a, b ruleWords) int { return cmp.Compare(b.length(), a.length()) })
	if len(calls) > 0 {
		p.calls = appendPattern(p.calls, `\b((?:`+strings.Join(calls, "|")+`)_[a-zA-Z0-9_-]+)`)
	}
	return p
}

// appendPattern appends a pattern, unless it is empty.
func appendPattern(all []*regexp.Regexp, pattern string) []*regexp.Regexp {
	if pattern == "" {
		return all
	}
	return append(all, regexp.MustCompile(pattern))
}

// Parse recognises an error: JSON in any form that agents and providers store, or plain text. An error of an unknown
// kind has no class, but may still name a place or ids.
func (p *ErrorParser) Parse(input []byte) request.APIError {
	texts := messagesIn(strings.TrimSpace(string(input)), maxQuotes)
	e := request.APIError{Text: texts[0], Whole: string(input), Index: -1, Block: -1}
	kind, agent := p.kind(e.Text)
	for _, t := range texts[1:] { // a quoted body says more than a general message before it
		if kind != nil {
			break
		}
		if kind, agent = p.kind(t); kind != nil {
			e.Text = t
		}
	}
	e.Explanation = notRecognised
	if kind != nil {
		e.Class, e.Recognised, e.Explanation, e.Agent = kind.Class, true, kind.Explanation, agent
		e.About, e.Rank = cmp.Or(kind.About, request.AboutSession), kind.Rank
	}
	e.Rule, e.API = p.rule(e.Text)
	var api string
	e.Index, e.Block, api = p.place(e.Text)
	e.API = cmp.Or(e.API, api)
	e.Calls, e.Items = idsIn(e.Text, p.calls), idsIn(e.Text, p.items)
	if e.Class == request.UnavailableTool {
		e.Tool = p.tool(e.Text)
	}
	return e
}

// kind returns the kind of the text, nil if none matches, and the agent that uses these words.
func (p *ErrorParser) kind(text string) (kind *ErrorKind, agent string) {
	text = squeeze(text)
	for _, k := range p.kinds {
		if k.matches(text) {
			return k.kind, k.agent
		}
	}
	return nil, ""
}

// rule returns the code of the rule that the text is about, and the name of its API, or "".
func (p *ErrorParser) rule(text string) (code, api string) {
	text = squeeze(text)
	for _, r := range p.rules {
		if r.matches(text) {
			return r.code, r.api
		}
	}
	return "", ""
}

// place returns the first place that the text names, with -1 for missing numbers, and the API that names places in this
// way. If several patterns match there, the longest match counts.
func (p *ErrorParser) place(text string) (index, block int, api string) {
	index, block = -1, -1
	start, length := len(text), 0
	for _, pattern := range p.places {
		at := pattern.FindStringSubmatchIndex(text)
		if at == nil || at[0] > start || at[0] == start && at[1]-at[0] <= length {
			continue
		}
		groups := pattern.FindStringSubmatch(text)
		start, length = at[0], at[1]-at[0]
		if index, block, api = groupNumber(groups, 1), groupNumber(groups, 2), pattern.api; index >= 0 {
			index -= pattern.first
		}
		if block >= 0 {
			block -= pattern.first
		}
	}
	if index < 0 {
		return -1, -1, ""
	}
	return index, max(block, -1), api
}

// groupNumber returns the number in a group of a match, or -1.
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

// idsIn returns the matches of the patterns' groups in the text, each once.
func idsIn(text string, patterns []*regexp.Regexp) []string {
	var ids []string
	seen := map[string]bool{"call_id": true, "call_ids": true} // names of fields
	for _, pattern := range patterns {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			if id := strings.TrimRight(m[1], "."); !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// tool returns the name of the unavailable tool in lower case, "" if the text does not name it.
func (p *ErrorParser) tool(text string) string {
	for _, pattern := range p.tools {
		if m := pattern.FindStringSubmatch(strings.ToLower(text)); m != nil {
			return m[1]
		}
	}
	return ""
}
