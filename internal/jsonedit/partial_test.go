package jsonedit

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestParsePartial(t *testing.T) {
	for _, c := range []struct {
		name, data, want string
		cut              []string
		whole            bool
	}{
		{"no bytes", "", "", nil, false},
		{"NUL bytes", "\x00\x00\x00", "", nil, false},
		{"no object", `["x"]`, "", nil, false},
		{"null", `null`, "", nil, false},
		{"a brace", `{`, `{}`, []string{}, false},
		{"whole", ` {"a":1} `, `{"a":1}`, nil, true},
		{"complete, NUL bytes after it", "{\"a\":1}\x00\x00", `{"a":1}`, nil, true},
		{"complete, the end of another after it", `{"a":1}x"}`, `{"a":1}`, nil, true},
		{"whole, a byte order mark before", "\ufeff{\"a\":1}", `{"a":1}`, nil, true},
		{"in a name", `{"a":1,"b`, `{"a":1}`, []string{}, false},
		{"after a name", `{"a":1,"b"`, `{"a":1}`, []string{"b"}, false},
		{"after a comma", `{"a":1, `, `{"a":1}`, []string{}, false},
		{"in a number", `{"a":1,"b":23`, `{"a":1}`, []string{"b"}, false},
		{"in a number, NUL bytes after it", "{\"a\":1,\"b\":23\x00", `{"a":1}`, []string{"b"}, false},
		{"after a number", `{"b":23,`, `{"b":23}`, []string{}, false},
		{"in a literal", `{"a":1,"b":tru`, `{"a":1}`, []string{"b"}, false},
		{"after a literal", `{"a":true`, `{"a":true}`, []string{}, false},
		{"in a list", `{"a":1,"b":[1,{"c":2},`, `{"a":1}`, []string{"b"}, false},
		{"in an object in a list", `{"a":{"b":[{"c":"x`, `{"a":{}}`, []string{"a", "b"}, false},
		{"in a string", `{"a":"xy`, `{"a":"xy"}`, []string{"a"}, false},
		{"at the start of a string", `{"a":"`, `{"a":""}`, []string{"a"}, false},
		{"after a string", `{"a":"xy"`, `{"a":"xy"}`, []string{}, false},
		{"in an escape", `{"a":"x\`, `{"a":"x"}`, []string{"a"}, false},
		{"in a unicode escape", `{"a":"x\u00e`, `{"a":"x"}`, []string{"a"}, false},
		{"in a pair", `{"a":"x\ud83d\ude0`, `{"a":"x"}`, []string{"a"}, false},
		{"after a pair", `{"a":"x\ud83d\ude00`, `{"a":"x\ud83d\ude00"}`, []string{"a"}, false},
		{"after a backslash", `{"a":"x\\`, `{"a":"x\\"}`, []string{"a"}, false},
		{"in a character", "{\"a\":\"x\xe2\x82", `{"a":"x"}`, []string{"a"}, false},
		{"NUL bytes in a string", "{\"a\":\"xy\x00\x00", `{"a":"xy"}`, []string{"a"}, false},
		{"a bad escape", `{"a":"xy\q","b":1}`, `{"a":"xy"}`, []string{"a"}, false},
		{"in an inner object", `{"a":{"b":1,"c":{"d":"xy`, `{"a":{"b":1,"c":{"d":"xy"}}}`, []string{"a", "c", "d"}, false},
		{"between inner members", `{"a":{"b":1,`, `{"a":{"b":1}}`, []string{"a"}, false},
		{"with white space", "{\n  \"a\": {\n    \"b\": \"xy", "{\n  \"a\": {\n    \"b\": \"xy\"}}", []string{"a", "b"}, false},
		{"with white space, an empty object", "{\n  \"a\": {", "{\n  \"a\": {}}", []string{"a"}, false},
		{"on one line", `{ "a": 1, "b": [`, `{ "a": 1}`, []string{"b"}, false},
		{"garbage in between", `{"a":1,"b":x,"c":2}`, `{"a":1}`, []string{"b"}, false},
	} {
		got := ParsePartial([]byte(c.data))
		want := Partial{[]byte(c.want), c.cut, c.whole}
		if c.want == "" {
			want.Data = nil
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: ParsePartial(%q) (-want +got):\n%s", c.name, c.data, d)
		}
	}
}

func TestPartialIntact(t *testing.T) {
	v := ParsePartial([]byte(`{"a":1,"b":{"c":{},"d":{"e":"x","f":"y`))
	for path, want := range map[string]bool{
		"a": true, "b": false, "b.c": true, "b.d": false, "b.d.e": true, "b.d.f": false, "b.d.g": false, "x": false,
	} {
		if got := v.Intact(strings.Split(path, ".")...); got != want {
			t.Errorf("Intact(%s) = %v, want %v", path, got, want)
		}
	}
}

// FuzzParsePartial: from a prefix of an object ParsePartial reads the complete members and the beginning of the last
// one. From the complete object it reads all members.
func FuzzParsePartial(f *testing.F) {
	for _, seed := range []string{
		`{"a":"x\u00e9\ud83d\ude00\\","b":{"c":[1,{"d":2}],"e":null},"f":12.5e3}`,
		"{\n  \"type\": \"tool\",\n  \"state\": {\n    \"output\": \"h\xc3\xa9\\n\",\n    \"time\": {}\n  }\n}",
		`{"a":"first","a":"last"}`, `{}`, `{"a":{"a":{"a":{}}}}`, "{\"\xff\":\"\xff\"}", `{"a":"\ud800"}`,
	} {
		for n := range len(seed) + 1 {
			f.Add([]byte(seed), n, false)
		}
		f.Add([]byte(seed), len(seed)/2, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int, padded bool) {
		n = max(0, min(n, len(data)))
		part := data[:n:n]
		if padded {
			part = append(part, 0, 0, 0)
		}
		v := ParsePartial(part)
		if v.Data == nil {
			if v.Complete || len(v.Cut) > 0 {
				t.Fatalf("ParsePartial(%q) = %+v", part, v)
			}
			return
		}
		got := Parse(v.Data)
		if got.Kind() != '{' {
			t.Fatalf("ParsePartial(%q) = %s, which is not an object", part, v.Data)
		}
		if again := ParsePartial(v.Data); !again.Complete || !bytes.Equal(again.Data, v.Data) {
			t.Fatalf("ParsePartial(%q), which it returned itself, = %+v", v.Data, again)
		}
		want := Parse(data)
		if want.Kind() != '{' {
			return
		}
		if n == len(data) && (!v.Complete || !bytes.Equal(v.Data, bytes.Trim(data, " \t\r\n"))) {
			t.Fatalf("ParsePartial(%q) = %+v, want everything", part, v)
		}
		if !hasDuplicates(data) {
			checkPart(t, got, want, v.Cut)
		}
	})
}

// hasDuplicates reports whether an object of the text has a name twice. In a prefix of such a text the name may have
// another value.
func hasDuplicates(data []byte) bool {
	_, err := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true)).ReadValue()
	return err != nil
}

// checkPart checks that got has only members of want, with the same values. The value at cut may be a beginning.
func checkPart(t *testing.T, got, want Value, cut []string) {
	t.Helper()
	for name, m := range got.Children() {
		w := want.Get(string(name))
		if w.Kind() == 0 {
			t.Fatalf("member %q is not in the complete object", name)
		}
		if len(cut) == 0 || cut[0] != string(name) {
			if !bytes.Equal(m.Raw(), w.Raw()) {
				t.Fatalf("member %q = %s, want %s", name, m.Raw(), w.Raw())
			}
			continue
		}
		if m.Kind() == '{' {
			checkPart(t, m, w, cut[1:])
			continue
		}
		text, isText := m.Text()
		whole, _ := w.Text()
		if len(cut) > 1 || !isText || !strings.HasPrefix(whole, text) || !utf8.ValidString(text) {
			t.Fatalf("member %q = %s, want a beginning of %s", name, m.Raw(), w.Raw())
		}
	}
}

// TestParsePartialDeep: the readable part of a cut object is kept down to maxPartialDepth.
func TestParsePartialDeep(t *testing.T) {
	v := ParsePartial([]byte(`{"x":1,"a":` + strings.Repeat(`{"a":`, MaxDepth-1)))
	if want := `{"x":1,"a":` + nest(`{"a":`, "}", "{}", maxPartialDepth-2) + "}"; string(v.Data) != want || len(v.Cut) != maxPartialDepth {
		t.Errorf("ParsePartial gives %s, cut at %q, want %s", v.Data, v.Cut, want)
	}
}
