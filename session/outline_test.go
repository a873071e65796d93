package session

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

// told lists the values of an outline, each with its path.
func told(v Value, path string, all []string) []string {
	all = append(all, path+" "+string(v.Raw()))
	i := 0
	for name, in := range v.Inside() {
		all = told(in, fmt.Sprintf("%s/%d%q", path, i, name), all)
		i++
	}
	return all
}

// toldByLibrary is told for what the library makes of a text, and whether that is one
// value and nothing else.
func toldByLibrary(text []byte) (all []string, ok bool) {
	d := newDecoder(text)
	raw, err := d.ReadValue()
	if err != nil {
		return nil, false
	}
	all = toldValue(bytes.Clone(raw), "", nil)
	_, err = d.ReadToken()
	return all, errors.Is(err, io.EOF)
}

func toldValue(raw []byte, path string, all []string) []string {
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
		all = toldValue(bytes.Clone(in), fmt.Sprintf("%s/%d%q", path, i, name), all)
	}
	return all
}

// FuzzOutline compares an outline with what the library makes of the text.
func FuzzOutline(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` [ ] `, `null`, ` -1.5e+3 `, `"a\"b"`, `{"a":1,"a":{"b":[1,{"c":null}]}}`, `{"a":[[[[[[1,{"b":2}]]]]]]}`, `{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`,
		`{"\u0061":{"ä":[1,"\ud800"]},"b":"\ud83d\ude00"}`, `{"a":1}x`, `{"a":1,}`, `[1,]`, `{"a"}`, `{"a":}`, `[1 2]`, `{"a":01}`, "{\"a\":\"\xff\"}", "\ufeff{}", `{"a":"b`, `[`, ``,
		`[` + strings.Repeat(`{"a":[]},`, 1100) + `0]`, `[[` + strings.Repeat(`0,`, 1100) + `0],{"a":[` + strings.Repeat(`[0],`, 600) + `0]},[1]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if deep(text) {
			return // the library's own limit
		}
		want, ok := toldByLibrary(text)
		o := NewOutline(text)
		if (o != nil) != ok {
			t.Fatalf("NewOutline(%q) = %v, want one: %v", text, o, ok)
		}
		if !ok {
			return
		}
		if diff := cmp.Diff(want, told(o.Root(), "", nil)); diff != "" {
			t.Errorf("NewOutline(%q) differs (-library +outline):\n%s", text, diff)
		}
	})
}

// deep reports whether values may be nested so deeply that a test would take long.
func deep(text []byte) bool {
	return bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > 2000
}

// Of equal names the last counts, and what is no object has no members.
func TestValueGet(t *testing.T) {
	text := []byte(`{"a":1,"b":{"c":"x","c":"y"},"a":[2],"\u0064":{"e":true}}`)
	root := NewOutline(text).Root()
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

// An outline lists no more than it should of a text that is all brackets.
func TestOutlineOfMany(t *testing.T) {
	text := []byte(`{"a":{"b":[` + strings.Repeat("0,", 100_000) + `1]}}`)
	o := NewOutline(text)
	if n := len(o.spots); n > 3 {
		t.Errorf("the outline lists %d values, want the list and those around it", n)
	}
	n := 0
	for range o.Root().Get("a").Get("b").Inside() {
		n++
	}
	if n != 100_001 {
		t.Errorf("the list has %d elements, want 100001", n)
	}
}
