package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// listValues lists a value and the values inside it, each with its path.
func listValues(v Value, path string, all []string) []string {
	all = append(all, path+" "+string(v.Raw()))
	i := 0
	for name, in := range v.Children() {
		all = listValues(in, fmt.Sprintf("%s/%d%q", path, i, name), all)
		i++
	}
	return all
}

// listByLibrary lists the values that the library reads from a text, and reports whether the text is one value and
// nothing else.
func listByLibrary(text []byte) (all []string, ok bool) {
	d := newDecoder(text)
	raw, err := d.ReadValue()
	if err != nil {
		return nil, false
	}
	all = listRaw(bytes.Clone(raw), "", nil)
	_, err = d.ReadToken()
	return all, errors.Is(err, io.EOF)
}

func listRaw(raw []byte, path string, all []string) []string {
	all = append(all, path+" "+string(raw))
	if raw[0] != '{' && raw[0] != '[' {
		return all
	}
	d := newDecoder(raw)
	_, _ = d.ReadToken()
	for i := 0; d.PeekKind() != jsontext.Kind(raw[0]+2); i++ {
		var name []byte
		if raw[0] == '{' {
			quoted, _ := d.ReadValue()
			name = []byte(Unquote(quoted))
		}
		in, _ := d.ReadValue()
		all = listRaw(bytes.Clone(in), fmt.Sprintf("%s/%d%q", path, i, name), all)
	}
	return all
}

// FuzzParse compares the values that Parse finds with the values that the library finds.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` [ ] `, `null`, ` -1.5e+3 `, `"a\"b"`, `{"a":1,"a":{"b":[1,{"c":null}]}}`, `{"a":[[[[[[1,{"b":2}]]]]]]}`, `{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`,
		`{"\u0061":{"ä":[1,"\ud800"]},"b":"\ud83d\ude00"}`, `{"a":1}x`, `{"a":1,}`, `[1,]`, `{"a"}`, `{"a":}`, `[1 2]`, `{"a":01}`, "{\"a\":\"\xff\"}", "\ufeff{}", `{"a":"b`, `[`, ``,
		`[` + strings.Repeat(`{"a":[]},`, 1100) + `0]`, `[[` + strings.Repeat(`0,`, 1100) + `0],{"a":[` + strings.Repeat(`[0],`, 600) + `0]},[1]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if deep(text) {
			return
		}
		want, ok := listByLibrary(text)
		root := Parse(text)
		if (root.Kind() != 0) != ok {
			t.Fatalf("Parse(%q) = %q, want a value: %v", text, root.Raw(), ok)
		}
		if !ok {
			return
		}
		if diff := cmp.Diff(want, listValues(root, "", nil)); diff != "" {
			t.Errorf("Parse(%q) differs (-library +index):\n%s", text, diff)
		}
	})
}

// deep reports whether values may be nested so deeply that listRaw, which copies each level, takes long.
func deep(text []byte) bool {
	return bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > 2000
}

// TestValueGet: of several members with the same name the last one counts. Only an object has members.
func TestValueGet(t *testing.T) {
	text := []byte(`{"a":1,"b":{"c":"x","c":"y"},"a":[2],"\u0064":{"e":true}}`)
	root := Parse(text)
	for path, want := range map[string]string{"a": "[2]", "b c": `"y"`, "d e": "true", "a c": "", "z": "", "z z": ""} {
		v := root
		for name := range strings.FieldsSeq(path) {
			v = v.Get(name)
		}
		if got := string(v.Raw()); got != want {
			t.Errorf("%s of %s is %q, want %q", path, text, got, want)
		}
	}
}

// TestIndexSize: an index of a long list has no nodes for its elements.
func TestIndexSize(t *testing.T) {
	text := []byte(`{"a":{"b":[` + strings.Repeat("0,", 100_000) + `1]}}`)
	root := Parse(text)
	if n := len(root.index.nodes); n > 3 {
		t.Errorf("the index has %d nodes, want only the list and the values around it", n)
	}
	n := 0
	for _, v := range root.Get("a").Get("b").Children() {
		if &v.index.text[0] != &text[0] || len(v.index.text) != len(text) {
			t.Fatalf("element %d is in a copy of the text", n)
		}
		n++
	}
	if n != 100_001 {
		t.Errorf("the list has %d elements, want 100001", n)
	}
}
