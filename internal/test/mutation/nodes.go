package mutation

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Node is a value in a JSON text.
type Node struct {
	Pointer string // RFC 6901; the whole text is ""

	name, start, end int // offsets of the member's name, -1 for none, and of the value
}

// Value returns the text of the value.
func (p Node) Value(data []byte) string { return string(data[p.start:p.end]) }

// Nodes returns all values in a JSON text, a container before its elements.
func Nodes(data []byte) []Node {
	start := len(data) - len(bytes.TrimLeft(data, " \t\r\n"))
	end := len(bytes.TrimRight(data, " \t\r\n"))
	if start >= end {
		return nil
	}
	return appendNodes(data, nil, Node{"", -1, start, end})
}

func appendNodes(data []byte, all []Node, p Node) []Node {
	all = append(all, p)
	d := jsontext.NewDecoder(bytes.NewReader(data[p.start:p.end]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		return all
	}
	if _, err := d.ReadToken(); err != nil {
		return all
	}
	for i := 0; ; i++ {
		if k := d.PeekKind(); k == '}' || k == ']' || k == 0 {
			return all
		}
		in := Node{Pointer: p.Pointer + "/" + strconv.Itoa(i), name: -1}
		if kind == '{' {
			name, err := d.ReadValue()
			if err != nil {
				return all
			}
			in.name = p.start + int(d.InputOffset()) - len(name)
			text, _ := jsontext.AppendUnquote(nil, name)
			in.Pointer = p.Pointer + "/" + pointerEscaper.Replace(string(text))
		}
		v, err := d.ReadValue()
		if err != nil {
			return all
		}
		in.end = p.start + int(d.InputOffset())
		in.start = in.end - len(v)
		all = appendNodes(data, all, in)
	}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// edit returns data with the node changed, and reports whether that can be done.
func (p Node) edit(data []byte, how, arg string) ([]byte, bool) {
	splice := func(from, to int, text string) ([]byte, bool) {
		return []byte(string(data[:from]) + text + string(data[to:])), true
	}
	switch how {
	case "set":
		return splice(p.start, p.end, arg)
	case "rename":
		if p.name < 0 {
			return nil, false
		}
		name, _ := jsontext.AppendQuote(nil, arg)
		end := p.name + bytes.IndexByte(data[p.name+1:], '"') + 2
		return splice(p.name, end, string(name))
	case "repeat":
		if p.name < 0 {
			return nil, false
		}
		end := p.name + bytes.IndexByte(data[p.name+1:], '"') + 2
		return splice(p.end, p.end, ","+string(data[p.name:end])+":"+arg)
	case "add":
		name, value, _ := strings.Cut(arg, " ")
		if data[p.start] != '{' || value == "" {
			return nil, false
		}
		quoted, _ := jsontext.AppendQuote(nil, name)
		if len(bytes.TrimSpace(data[p.start+1:p.end-1])) > 0 {
			value += ","
		}
		return splice(p.start+1, p.start+1, string(quoted)+":"+value)
	case "remove":
		if p.Pointer == "" {
			return nil, false
		}
		from, to := p.start, p.end
		if p.name >= 0 {
			from = p.name
		}
		after := len(data) - len(bytes.TrimLeft(data[to:], " \t\r\n"))
		before := len(bytes.TrimRight(data[:from], " \t\r\n"))
		switch {
		case after < len(data) && data[after] == ',':
			to = after + 1
		case before > 0 && data[before-1] == ',':
			from = before - 1
		}
		return splice(from, to, "")
	}
	return nil, false
}
