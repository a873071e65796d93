package jsonedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		name, data, raw string
		path            []string
		want            string
	}{
		{"replace", `{"a":1,"b":2}`, `"x"`, []string{"a"}, `{"a":"x","b":2}`},
		{"add", `{"a":1}`, `2`, []string{"b"}, `{"a":1,"b":2}`},
		{"add to nothing", `{}`, `2`, []string{"b"}, `{"b":2}`},
		{"add to a blank", "{ \n}", `2`, []string{"b"}, "{\"b\":2 \n}"},
		{"add without white space", "{\n\t\"a\" : 1\n}\n", `2`, []string{"b"}, "{\n\t\"a\" : 1,\"b\":2\n}\n"},
		{"number spelling and escapes stay", `{"n":1.50e+1,"a":"\u00e9\/","b":0}`, `1`, []string{"b"}, `{"n":1.50e+1,"a":"\u00e9\/","b":1}`},
		{"an element", `{"s": [1, {"x" : 2}]}`, `9`, []string{"s", "1", "x"}, `{"s": [1, {"x" : 9}]}`},
		{"a member of an element", `[0,{"s":{}}]`, `9`, []string{"1", "s", "x"}, `[0,{"s":{"x":9}}]`},
		{"an element of an element", `[0,[1,2]]`, `9`, []string{"1", "0"}, `[0,[9,2]]`},
		{"deep", `{"s":{"t":{"x":1}},"y":2}`, `9`, []string{"s", "t", "x"}, `{"s":{"t":{"x":9}},"y":2}`},
		{"first in an object", "{\n  \"s\": {\n    \"t\": {}\n  }\n}", `1`, []string{"s", "t", "x"}, "{\n  \"s\": {\n    \"t\": {\"x\":1}\n  }\n}"},
		{"the last of two equal names", `{"a":1,"a":2}`, `3`, []string{"a"}, `{"a":1,"a":3}`},
		{"a name with quotes", `{"a\"\\":1,"b":2}`, `3`, []string{`a"\`}, `{"a\"\\":3,"b":2}`},
		{"a name in escapes", `{"\u0061":1}`, `3`, []string{"a"}, `{"\u0061":3}`},
		{"a colon in the name", `{"a:b": 1}`, `2`, []string{"c"}, `{"a:b": 1,"c":2}`},
	} {
		got, err := Set([]byte(c.data), []byte(c.raw), c.path...)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: Set(%s) = %s, %v; want %s", c.name, c.data, got, err, c.want)
		}
		if raw, ok := Get(got, c.path...); !ok || string(raw) != c.raw {
			t.Errorf("%s: Get(%s) = %s, %v; want %s", c.name, got, raw, ok, c.raw)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct {
		data string
		path []string
	}{
		{``, []string{"a"}},
		{`{"a":`, []string{"a"}},
		{`{"a":1}}`, []string{"a"}},
		{`[1]`, []string{"a"}},
		{"\x00\x00", []string{"a"}},
		{`{"a":1}`, []string{"a", "b"}},
		{`{"a":1}`, []string{"x", "b"}},
		{`{"a":1}`, nil},
	} {
		if got, err := Set([]byte(c.data), []byte("1"), c.path...); err == nil {
			t.Errorf("Set(%q, %q) = %q, want an error", c.data, c.path, got)
		}
		if got, err := Remove([]byte(c.data), c.path...); err == nil {
			t.Errorf("Remove(%q, %q) = %q, want an error", c.data, c.path, got)
		}
		if raw, ok := Get([]byte(c.data), c.path...); ok {
			t.Errorf("Get(%q, %q) = %q, want none", c.data, c.path, raw)
		}
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct{ data, name, want string }{
		{`{"a":1,"b":2}`, "a", `{"b":2}`},
		{`{"a":1,"b":2}`, "b", `{"a":1}`},
		{`{"a":1}`, "a", `{}`},
		{`{"a":1}`, "x", `{"a":1}`},
		{`{"a":1,"b":2,"a":3}`, "a", `{"b":2}`},
		{`{"a":1,"a":2,"b":2}`, "a", `{"b":2}`},
		{"{ \"b\":1,\n\"a\":1 , \"a\":2\t}", "a", "{ \"b\":1 \t}"},
		{"{\n  \"a\": 1,\n  \"a\": 2\n}", "a", `{}`},
		{"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", "b", "{\n  \"a\": 1,\n  \"c\": 3\n}"},
		{"{\n  \"a\": 1,\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"},
		{"{\n  \"a\": 1\n}", "a", "{}"},
		{`[1, 2, 3]`, "1", `[1, 3]`},
		{`[1]`, "0", `[]`},
		{`[1]`, "1", `[1]`},
	} {
		got, err := Remove([]byte(c.data), c.name)
		if err != nil || string(got) != c.want {
			t.Errorf("Remove(%s, %s) = %s, %v; want %s", c.data, c.name, got, err, c.want)
		}
	}
}

// drawObject draws an object with odd spellings, at most two deep.
func drawObject(t *rapid.T, depth int) string {
	white := rapid.SampledFrom([]string{"", " ", "\n  ", "\n\t"}).Draw(t, "white")
	values := []string{"1", "-0.50E1", `"x"`, `"\u00e9\\\""`, "null", "true", "[1, {\"a\":2}]", "{ }"}
	b := []byte{'{'}
	for i, n := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "a:b", `q\"`, `\u0061`}), 0, 5).Draw(t, "names") {
		if i > 0 {
			b = append(b, ',')
		}
		v := rapid.SampledFrom(values).Draw(t, "value")
		if depth > 0 && rapid.Bool().Draw(t, "deep") {
			v = drawObject(t, depth-1)
		}
		b = fmt.Appendf(b, "%s\"%s\"%s:%s%s%s", white, n, white, white, v, white)
	}
	return string(append(b, '}'))
}

// TestEditChangesOneField: the values at all other paths have the same bytes before and after, in the same order.
func TestEditChangesOneField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(drawObject(t, 2))
		name := rapid.SampledFrom([]string{"a", "b", "c", "a:b", "new"}).Draw(t, "name")
		raw := []byte(rapid.SampledFrom([]string{"7", `"y"`, "{}"}).Draw(t, "raw"))
		set, err := Set(data, raw, name)
		if err != nil {
			t.Fatal(err)
		}
		checkEdit(t, data, set, name, raw)
		removed, err := Remove(data, name)
		if err != nil {
			t.Fatal(err)
		}
		checkEdit(t, data, removed, name, nil)
		if old, ok := Get(data, name); ok {
			if again, err := Set(set, old, name); err != nil || !bytes.Equal(again, data) {
				t.Fatalf("setting the old value again gives %s, %v, want %s", again, err, data)
			}
		}
	})
}

// A failer is a [testing.T] or a [rapid.T].
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkEdit checks an edit with encoding/json: name has the value raw, or is missing if raw is nil, and every other
// member has the same bytes.
func checkEdit(t failer, before, after []byte, name string, raw []byte) {
	t.Helper()
	previous, now := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(before, &previous); err != nil {
		t.Fatalf("encoding/json does not read %q: %v", before, err)
	}
	if err := json.Unmarshal(after, &now); err != nil {
		t.Fatalf("the edit of %q at %q gives %q: %v", before, name, after, err)
	}
	delete(previous, name)
	if got, ok := now[name]; ok != (raw != nil) || !bytes.Equal(got, raw) {
		t.Fatalf("the edit of %q at %q gives %q there, want %q", before, name, got, raw)
	}
	delete(now, name)
	if len(previous) != len(now) {
		t.Fatalf("the edit of %q at %q gives %q, with other members", before, name, after)
	}
	for k, v := range previous {
		if !bytes.Equal(now[k], v) {
			t.Fatalf("the edit of %q at %q gives %q, which changes %q", before, name, after, k)
		}
	}
}

func fuzzSeeds(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, "{\n  \"a\": {\n    \"b\": []\n  },\n  \"type\": \"text\"\n}\n", `{"a":1,"a":2,"\u0061":3}`, `{"a":"\ud800"}`, "{\"\xff\":1}",
		`{"a":1`, "\x00", ``, `[{"a":1}]`, `{"a":1}{"b":2}`, `{"id":"prt_1","type":"tool","state":{"status":"running","input":{}}}`, "\ufeff{}", `{"a" : "x:\"y" }`,
	} {
		f.Add([]byte(s), "a")
	}
}

func FuzzSet(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		name = string([]rune(name)) // names in a path are always UTF-8
		fuzzEdit(t, data, name, []byte(`{"x": 1}`), func() ([]byte, error) { return Set(data, []byte(`{"x": 1}`), name) })
	})
}

func FuzzRemove(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		name = string([]rune(name))
		fuzzEdit(t, data, name, nil, func() ([]byte, error) { return Remove(data, name) })
	})
}

// fuzzEdit checks that an edit of a member returns an error exactly if encoding/json reads no object.
func fuzzEdit(t *testing.T, data []byte, name string, raw []byte, edit func() ([]byte, error)) {
	if _, err := strconv.Atoi(name); err == nil && Parse(data).Kind() == '[' {
		return // an edit of an element
	}
	before := slices.Clone(data)
	after, err := edit()
	if !bytes.Equal(before, data) {
		t.Fatalf("the edit of %q wrote into it", before)
	}
	var previous map[string]json.RawMessage
	if bad := json.Unmarshal(data, &previous) != nil || previous == nil; bad || err != nil {
		if bad != (err != nil) {
			t.Fatalf("the edit of %q: %v, and encoding/json reads %v", data, err, previous)
		}
		return
	}
	checkEdit(t, data, after, name, raw)
}

func TestEditMembers(t *testing.T) {
	edit := func(name string, raw []byte) ([]byte, bool) {
		if name == "set" {
			return []byte(`"x"`), true
		}
		return raw, name != "gone"
	}
	for data, want := range map[string]string{
		`{}`:                                    `{}`,
		`{ "gone": 1 }`:                         `{}`,
		`{"a":1 , "set" :2, "gone":[1],"b":3 }`: `{"a":1 , "set" :"x","b":3 }`,
		`{"gone":1,"set":1,"gone":2,"set":2}`:   `{"set":1,"set":"x"}`,
	} {
		if got, err := EditMembers([]byte(data), edit); err != nil || string(got) != want {
			t.Errorf("EditMembers(%s) = %s, %v, want %s", data, got, err, want)
		}
	}
	if _, err := EditMembers([]byte(`[]`), edit); err == nil {
		t.Error("EditMembers of a list gives no error")
	}
}
