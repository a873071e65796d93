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

	start, end int
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
	return appendNodes(data, nil, Node{"", start, end})
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
		in := Node{Pointer: p.Pointer + "/" + strconv.Itoa(i)}
		if kind == '{' {
			name, err := d.ReadValue()
			if err != nil {
				return all
			}
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
