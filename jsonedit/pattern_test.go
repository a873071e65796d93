package jsonedit

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzPattern compares a pattern with the library: what matches the library accepts as
// well, with the same values, no member that the pattern does not have, and none twice.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` {"n":1} `, `{"n":1,"n":2}`, `{"s":"b\"\\\u00e9\n","o":{"in":[1,-2.5e+3,[],{}]}}`, `{"o":{"in":1},"n":2,"s":"x"}`, `{"o":{}}`, `{"o":"x"}`,
		`{"n":true,"x":false}`, `{"n":01}`, `{"n":1}x`, `{"n":1,}`, `{"n" 1}`, `{"n":`, `{"s":"\ud800"}`, `{"s":"\x"}`, "{\"s\":\"\xff\"}", "{\"s\":\"\x00\"}",
		"\ufeff{}", `{"\u006e":1}`, `{"o":{"in":1,"in":1}}`, `{"o":{"in":1,"x":1}}`, `[{}]`, `{"s":"`, `{"o":{"in":{"in":1}}}`,
		`{"s":"` + strings.Repeat(`0123\n456\"7\u00e9\\`, 9) + `"}`, `{"s":"` + strings.Repeat("z", 63) + `\"","n":"` + strings.Repeat("z", 64) + `"}`,
		`{"n\"":1}`, `{"no":1}`, `{"n`,
	} {
		f.Add([]byte(seed))
	}
	is := func(raw []byte) bool { return raw[0] != 't' }
	some := &Pattern{Accept: is}
	pattern := &Pattern{Fields: []PatternField{
		{Name: "n", Pattern: some, Capture: 1},
		{Name: "s", Pattern: some, Capture: 2},
		{Name: "o", Pattern: &Pattern{Fields: []PatternField{{Name: "in", Pattern: some, Required: true, Capture: 4}}}, Capture: 3},
	}}
	nested := &Pattern{By: "s", Cases: map[string][]PatternField{
		"": {{Name: "s", Pattern: some}, {Name: "n", Pattern: &Pattern{Elements: some}}}, "x": {{Name: "s", Pattern: some}, {Name: "o", Pattern: &Pattern{Values: some}}},
	}}
	open := &Pattern{Open: true, Fields: []PatternField{
		{Name: "n", Pattern: some, Capture: 1},
		{Name: "s", Pattern: &Pattern{OrText: true, Elements: some}, Capture: 2},
	}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var texts [5][]byte
		if had, ok := open.Match(data, texts[:]); ok {
			for i, name := range []string{1: "n", 2: "s"} {
				if v := Parse(data).Get(name); name != "" && (had>>i&1 == 1) != (v.Kind() != 0) || had>>i&1 == 1 && !bytes.Equal(v.Raw(), texts[i]) {
					t.Errorf("Match(%q) has %q for %s, want %q", data, texts[i], name, v.Raw())
				}
			}
			if Parse(data).Kind() != '{' {
				t.Errorf("Match(%q) accepts what is not an object", data)
			}
		}
		if _, ok := nested.Match(data, texts[:]); ok && Parse(data).Kind() != '{' {
			t.Errorf("Match(%q) accepts what is not an object", data)
		}
		had, ok := pattern.Match(data, texts[:])
		if !ok {
			return
		}
		want, ok := objectFields(data)
		if !ok {
			t.Fatalf("Match(%q) accepts what the library refuses", data)
		}
		members := 0
		same := func(data []byte, all []field, name string, as int) {
			m, ok := lastNamed(all, name)
			raw := data[m.value:m.end]
			if ok != (had>>as&1 == 1) || ok && !bytes.Equal(raw, texts[as]) {
				t.Errorf("Match(%q) has %q for %s, %v, want %q, %v", data, texts[as], name, had>>as&1 == 1, raw, ok)
			}
			if ok {
				members++
			}
		}
		same(data, want, "n", 1)
		same(data, want, "s", 2)
		same(data, want, "o", 3)
		if members != len(want) {
			t.Errorf("Match(%q) takes one of %v that the pattern does not have", data, want)
		}
		if m, ok := lastNamed(want, "o"); ok {
			in, ok := objectFields(data[m.value:m.end])
			if members = 0; !ok || len(in) != 1 {
				t.Fatalf("Match(%q) takes %s for an object with one member: %v", data, data[m.value:m.end], ok)
			}
			same(data[m.value:m.end], in, "in", 4)
		}
	})
}

func lastNamed(all []field, name string) (last field, ok bool) {
	for _, f := range all {
		if f.name == name {
			last, ok = f, true
		}
	}
	return last, ok
}

// A pattern accepts a member once, and only in its own object.
func TestPattern(t *testing.T) {
	text := &Pattern{Accept: func(raw []byte) bool { return raw[0] == '"' }}
	pattern := &Pattern{Fields: []PatternField{
		{Name: "a", Pattern: text, Required: true, Capture: 1},
		{Name: "o", Pattern: &Pattern{Fields: []PatternField{{Name: "a", Pattern: text}}}, Capture: 2},
		{Name: "l", Pattern: &Pattern{Elements: text}, Capture: 3},
		{Name: "m", Pattern: &Pattern{Values: text}},
		{Name: "u", Pattern: &Pattern{By: "is", Cases: map[string][]PatternField{
			"x": {{Name: "is", Pattern: text}, {Name: "y", Pattern: text, Required: true, Capture: 4}}, "z": {{Name: "is", Pattern: text}},
		}}},
	}}
	pattern.Fields = append(pattern.Fields, PatternField{Name: "open", Pattern: &Pattern{Open: true, Fields: []PatternField{
		{Name: "b", Pattern: &Pattern{OrText: true, Elements: text}, Capture: 4},
	}}})
	rows := []struct {
		data string
		had  uint64
		ok   bool
	}{
		{`{"a":"x"}`, 1 << 1, true},
		{"\n{ \"o\" : { \"a\" : \"\" } , \"a\" : \"x\" }\n", 1<<1 | 1<<2, true},
		{`{"a":"x","l":[]}`, 1<<1 | 1<<3, true},
		{`{"a":"x","l":{}}`, 0, false},
		{`{"a":"x","m":[]}`, 0, false},
		{`{"a":"x","m":{}}`, 1 << 1, true},
		{`{"a":"x","l":["", "x"]}`, 1<<1 | 1<<3, true},
		{`{"a":"x","m":{"\u0061":"x","b":""}}`, 1 << 1, true},
		{`{"a":"x","l":["",1]}`, 0, false},
		{`{"a":"x","m":{"b":1}}`, 0, false},
		{`{"a":"x","l":""}`, 0, false},
		{`{"a":"x","l":[""`, 0, false},
		{`{"a":"x","l":[""}`, 0, false},
		{`{"u":{"y":"","is":"x"},"a":"x"}`, 1<<1 | 1<<4, true},
		{`{"a":"x","u":{"is":"z"}}`, 1 << 1, true},
		{`{"a":"x","u":{"is":"x"}}`, 0, false},
		{`{"a":"x","u":{"is":"z","y":""}}`, 0, false},
		{`{"a":"x","u":{"is":"w"}}`, 0, false},
		{`{"a":"x","u":{"is":1}}`, 0, false},
		{`{"a":"x","u":{"is":[]}}`, 0, false},
		{`{"a":"x","u":{}}`, 0, false},
		{`{"a":"x","u":{"is":0}}`, 0, false},
		{`{"a":"x","u":{"is":[]}}`, 0, false},
		{`{"a":"x","u":{"is":"z","is":"x","y":""}}`, 0, false},
		{`{"a":"x","open":{}}`, 1 << 1, true},
		{`{"a":"x","open":{"b":"y","c":[1],"d":"z"}}`, 1<<1 | 1<<4, true},
		{`{"a":"x","open":{"c":1,"b":["y",""]}}`, 1<<1 | 1<<4, true},
		{`{"a":"x","open":{"b":["y",1]}}`, 0, false},
		{`{"a":"x","open":{"b":1}}`, 0, false},
		{`{"a":"x","open":{"b":"y","b":"y"}}`, 0, false},
		{`{"a":"x","open":{"\u0062":"y"}}`, 0, false},
		{`{"a":"x","open":{"c":01}}`, 0, false},
		{`{"a":"x","open":{"c"}}`, 0, false},
		{`{}`, 0, false},
		{`{"a":1}`, 0, false},
		{`{"a":"x","a":"x"}`, 0, false},
		{`{"a":"x","b":"x"}`, 0, false},
		{`{"a":"x","o":"x"}`, 0, false},
		{`{"\u0061":"x"}`, 0, false},
		{`{"a":"x"`, 0, false},
		{`{"a":"x"}{}`, 0, false},
		{"", 0, false},
	}
	for _, r := range rows {
		var texts [5][]byte
		had, ok := pattern.Match([]byte(r.data), texts[:])
		if ok != r.ok || ok && had != r.had {
			t.Errorf("Match(%s) = %b, %v, want %b, %v", r.data, had, ok, r.had, r.ok)
		}
	}
}
