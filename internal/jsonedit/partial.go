package jsonedit

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A Partial is the readable part of a damaged text, see [ParsePartial].
type Partial struct {
	// Data is one JSON object: the complete members, byte for byte and with the white space between
	// them. It is nil if the text does not even begin an object. It may alias the text.
	Data []byte

	// Cut is the path to the value that is cut off. It is empty if the text ends between two
	// members, or in a name, of the outermost object.
	Cut []string

	// Complete means that the object is complete, and only bytes around it are damaged.
	Complete bool
}

// ParsePartial reads as much as it can of a JSON object that is truncated, padded with NUL bytes or otherwise damaged
// from some byte on. It keeps the readable beginning of the member where the damage begins. It keeps the intact
// characters and escapes of a string, and treats an object like the outermost one. It drops a list, a number or a
// literal that is cut, and an object nested deeper than maxPartialDepth. A byte order mark before the object is
// skipped.
func ParsePartial(data []byte) Partial {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	r := partialReader{data: data, dec: newDecoder(data)}
	for {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return r.partial()
		}
		if len(r.open) == 0 && tok.Kind() != '{' {
			return Partial{}
		}
		if r.add(tok); len(r.open) == 0 {
			return Partial{Data: data[r.start:r.dec.InputOffset()], Complete: true}
		}
	}
}

// Intact reports whether the value at path is complete.
func (v Partial) Intact(path ...string) bool {
	if _, ok := Get(v.Data, path...); !ok {
		return false
	}
	return v.Complete || len(path) > len(v.Cut) || !slices.Equal(path, v.Cut[:len(path)])
}

// A partialReader reads a damaged text.
type partialReader struct {
	data  []byte
	dec   *jsontext.Decoder
	start int         // of the outermost object
	open  []container // the objects and lists around the next token, outermost first
}

// A container is an object or a list that was read up to some token.
type container struct {
	list bool
	end  int // end of the last value, or of the opening brace

	// For a member after its name and before its value:
	named   bool
	name    string
	nameEnd int
}

// add adds the token that was read last.
func (r *partialReader) add(tok jsontext.Token) {
	kind, end := tok.Kind(), int(r.dec.InputOffset())
	if kind == '{' || kind == '[' {
		if len(r.open) == 0 {
			r.start = end - 1
		}
		r.open = append(r.open, container{list: kind == '[', end: end})
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
		top.name, top.nameEnd, top.named = tok.String(), end, true
	case kind == '0' && !endsNumber(r.data, end): // the number may be cut
	default:
		top.end, top.named = end, false
	}
}

// endsNumber reports whether a number can end before the byte at an offset.
func endsNumber(data []byte, at int) bool {
	return at < len(data) && bytes.IndexByte([]byte(" \t\r\n,}]"), data[at]) >= 0
}

// maxPartialDepth limits the length of [Partial.Cut], since callers read the whole text for each
// step of it. No member that an agent knows is deeper.
const maxPartialDepth = 8

// partial closes the objects that are open where the damage begins.
func (r *partialReader) partial() Partial {
	if i := slices.IndexFunc(r.open, func(c container) bool { return c.list }); i >= 0 {
		r.open = r.open[:i]
	}
	r.open = r.open[:min(len(r.open), maxPartialDepth)]
	if len(r.open) == 0 {
		return Partial{}
	}
	v := Partial{Cut: []string{}}
	for _, c := range r.open {
		if c.named {
			v.Cut = append(v.Cut, c.name)
		}
	}
	top := r.open[len(r.open)-1]
	v.Data = slices.Clone(r.data[r.start:top.end])
	if text, ok := r.cutString(top); ok {
		v.Data = slices.Concat(r.data[r.start:top.nameEnd], text)
	}
	v.Data = append(v.Data, bytes.Repeat([]byte("}"), len(r.open))...)
	return v
}

// cutString returns the text after the last name of c if it is a string: the colon, the intact
// characters of the string, and the missing quote.
func (r *partialReader) cutString(c container) ([]byte, bool) {
	rest := r.data[c.nameEnd:]
	at := bytes.IndexByte(rest, '"')
	if !c.named || at < 0 || string(bytes.Trim(rest[:at], " \t\r\n")) != ":" {
		return nil, false
	}
	value, end := rest[at:], len(rest)-at
	_, err := jsontext.NewDecoder(bytes.NewBuffer(value)).ReadToken()
	if bad := (*jsontext.SyntacticError)(nil); errors.As(err, &bad) {
		end = min(end, int(bad.ByteOffset))
	}
	const pair = len(`\ud83d\ude00`) // the longest escape, which may be cut
	for cut := max(end-pair, 1); end >= cut; end-- {
		if s := slices.Concat(value[:end], []byte{'"'}); jsontext.Value(s).IsValid() {
			return slices.Concat(rest[:at], s), true
		}
	}
	return nil, false
}
