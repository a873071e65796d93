// Package mutation writes records as future versions of an agent may write them.
//
// It imports nothing of mend. Read [FutureVersions] first.
package mutation

import (
	"bytes"
	"slices"
)

// Unknown is the name of each kind and member that [FutureVersions] adds.
const Unknown = "from_the_future"

// A Variant is a JSON text with one change.
type Variant struct {
	Name string
	Data []byte
}

// kinds are the members that name a kind.
var kinds = []string{"type", "subtype", "kind", "status", "role", "phase", "finish", "reason", "stop_reason", "history_mode"}

// FutureVersions returns variants of a JSON text as future versions may write it: with an unknown member in an object, an
// unknown element in a list of objects, or an unknown name of a kind. also are further members that name a kind.
func FutureVersions(data []byte, also ...string) (all []Variant) {
	put := func(n Node, start, end int, text string) {
		all = append(all, Variant{text + " at " + n.Pointer, slices.Concat(data[:start], []byte(text), data[end:])})
	}
	for _, n := range Nodes(data) {
		name := n.Pointer[bytes.LastIndexByte([]byte(n.Pointer), '/')+1:]
		value := n.Value(data)
		switch {
		case value[0] == '{':
			put(n, n.start+1, n.start+1, member(value))
		case value[0] == '[' && bytes.HasPrefix(bytes.TrimSpace([]byte(value[1:])), []byte("{")):
			put(n, n.start+1, n.start+1, `{"type":"`+Unknown+`","`+Unknown+`":1},`)
		case value[0] == '"' && (slices.Contains(kinds, name) || slices.Contains(also, name)):
			put(n, n.start, n.end, `"`+Unknown+`"`)
		}
	}
	return all
}

// member returns an unknown member at the beginning of an object.
func member(object string) string {
	text := `"` + Unknown + `":{"a":1}`
	if bytes.HasPrefix(bytes.TrimSpace([]byte(object[1:])), []byte("}")) {
		return text
	}
	return text + ","
}
