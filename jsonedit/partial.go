package jsonedit

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Partial is what [ParsePartial] reads of a damaged text.
type Partial struct {
	// Data is one JSON object: the members that could be read to their end, byte
	// for byte and with the white space between them. It is nil where the text
	// does not even begin an object.
	Data []byte
	// Cut is the path to what could not be read to its end. It is empty where the
	// text ends between two members, or in a name, of the object itself.
	Cut []string
	// Complete says that the object is all there: what is wrong stands around it.
	Complete bool
}

// ParsePartial reads as much as it can of a JSON object whose text is truncated,
// padded with NUL bytes or otherwise damaged from some byte on. Of the member in
// which the damage begins it keeps, where that is a string, the beginning that is
// text, without half a character or half an escape; where it is an object, the
// same of its members. A list, a number or a literal that is not read to its end
// is left out, and so is an object in more than keptDepth others.
func ParsePartial(data []byte) Partial {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	r := rescue{data: data, dec: newDecoder(data)}
	for {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return r.closed()
		}
		if len(r.open) == 0 && tok.Kind() != '{' {
			return Partial{}
		}
		if r.take(tok); len(r.open) == 0 {
			return Partial{Data: data[r.start:r.dec.InputOffset()], Complete: true}
		}
	}
}

// Intact reports whether there is a value at path that was read to its end.
func (v Partial) Intact(path ...string) bool {
	if _, ok := Get(v.Data, path...); !ok {
		return false
	}
	return v.Complete || len(path) > len(v.Cut) || !slices.Equal(path, v.Cut[:len(path)])
}

// A rescue is the reading of a damaged text.
type rescue struct {
	data  []byte
	dec   *jsontext.Decoder
	start int     // where the object begins
	open  []level // the objects and lists that were not read to their end
}

// A level is an object or a list, as far as it was read.
type level struct {
	list  bool
	white []byte // what stands before the first name
	end   int    // of the last member, or of the opening brace
	named bool   // a name was read, and its value not yet
	name  string
	at    int // the end of that name
}

// take notes a token.
func (r *rescue) take(tok jsontext.Token) {
	kind, end := tok.Kind(), int(r.dec.InputOffset())
	if kind == '{' || kind == '[' {
		if len(r.open) == 0 {
			r.start = end - 1
		}
		r.open = append(r.open, level{list: kind == '[', end: end})
		return
	}
	if kind == '}' || kind == ']' {
		r.open = r.open[:len(r.open)-1]
	}
	if len(r.open) == 0 {
		return
	}
	top := &r.open[len(r.open)-1]
	switch {
	case kind == '"' && !top.list && !top.named:
		top.name, top.at, top.named = tok.String(), end, true
		if top.white == nil {
			top.white = whiteBefore(r.data, nameStart(r.data, end))
		}
	case kind == '0' && !r.endsNumber(end): // it may have gone on
	default:
		top.end, top.named = end, false
	}
}

func (r *rescue) endsNumber(at int) bool {
	return at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,}]"), r.data[at]) >= 0
}

// keptDepth is how deep an object may lie that is kept in part: deeper than any that
// the agent knows the members of. It bounds the length of [Partial.Cut], of which
// each step takes a look at the whole text.
const keptDepth = 8

// closed is the object with all that is open closed where the damage begins.
func (r *rescue) closed() Partial {
	if i := slices.IndexFunc(r.open, func(l level) bool { return l.list }); i >= 0 {
		r.open = r.open[:i]
	}
	r.open = r.open[:min(len(r.open), keptDepth)]
	if len(r.open) == 0 {
		return Partial{}
	}
	v := Partial{Cut: []string{}}
	for _, l := range r.open {
		if l.named {
			v.Cut = append(v.Cut, l.name)
		}
	}
	top := r.open[len(r.open)-1]
	v.Data = slices.Clone(r.data[r.start:top.end])
	empty := r.data[top.end-1] == '{'
	if text, ok := r.text(top); ok {
		v.Data, empty = slices.Concat(r.data[r.start:top.at], text), false
	}
	for i := range slices.Backward(r.open) {
		if !empty {
			v.Data = append(v.Data, r.whiteAfter(i)...)
		}
		v.Data, empty = append(v.Data, '}'), false
	}
	return v
}

// text is what follows the last name of l, if that is a string: its colon, and
// the string as far as it is text, with the quote that is missing.
func (r *rescue) text(l level) ([]byte, bool) {
	rest := r.data[l.at:]
	at := bytes.IndexByte(rest, '"')
	if !l.named || at < 0 || string(bytes.Trim(rest[:at], " \t\r\n")) != ":" {
		return nil, false
	}
	value, end := rest[at:], len(rest)-at
	_, err := jsontext.NewDecoder(bytes.NewBuffer(value)).ReadToken()
	if bad := (*jsontext.SyntacticError)(nil); errors.As(err, &bad) {
		end = min(end, int(bad.ByteOffset))
	}
	const pair = len(`\ud83d\ude00`) // the longest of what may be there by half
	for cut := max(end-pair, 1); end >= cut; end-- {
		if s := slices.Concat(value[:end], []byte{'"'}); jsontext.Value(s).IsValid() {
			return slices.Concat(rest[:at], s), true
		}
	}
	return nil, false
}

// whiteAfter is what stands between the last member of level i and its closing
// brace, where it stands as the opening one does.
func (r *rescue) whiteAfter(i int) []byte {
	white := r.open[i].white
	line := bytes.LastIndexByte(white, '\n')
	switch {
	case line < 0:
		return white
	case i == 0:
		return white[:line+1]
	}
	return r.open[i-1].white
}
