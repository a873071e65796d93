package scancache

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/repair"
	"mend/session"
)

// filled returns a value in which every exported field holds something else.
func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprint("text ", n, " \x00\"é"))
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(n))
		case reflect.Uint8:
			v.SetUint(uint64(n))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Array:
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					fill(v.Field(i))
				}
			}
		default:
			t.Fatalf("the cache keeps a %v", v.Type())
		}
	}
	fill(reflect.ValueOf(&v).Elem())
	return v
}

func exampleContents(t *testing.T) *contents {
	t.Helper()
	return &contents{
		build: "build", settings: "settings", state: [32]byte{1},
		summary:  &Summary{Sessions: 2, Broken: 1, Worst: []SummarySession{{"ses_1", "a", "/d", 7}}},
		sessions: []session.Head{{ID: "ses_1", Project: "p", Directory: "/d", Title: "a", Version: "1", Created: -1, Updated: 1 << 40}, {ID: "ses_2", Ref: session.Ref{Kind: session.KindSession, Project: "p", Session: "ses_2"}}},
		orphans:  []session.Ref{filled[session.Ref](t)},
		results:  map[string]Result{"/p/ses_1": filled[Result](t)},
	}
}

var compareContents = cmp.Options{cmp.AllowUnexported(contents{}), cmpopts.IgnoreUnexported(repair.Diagnosis{})}

func TestDecode(t *testing.T) {
	want := exampleContents(t)
	data := encode(want)
	got, err := decode(data)
	if diff := cmp.Diff(want, got, compareContents); err != nil || diff != "" {
		t.Errorf("decode(encode(c)) = %v (-want +got):\n%s", err, diff)
	}
	for n := range data {
		if _, err := decode(data[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(data))
		}
		flipped := bytes.Clone(data)
		flipped[n] ^= 1
		if _, err := decode(flipped); err == nil {
			t.Errorf("a wrong bit in byte %d is accepted", n)
		}
	}
}

// checked returns the lines with their checksums.
func checked(lines ...string) []byte {
	var b []byte
	for _, l := range lines {
		b = append(append(append(b, checksum([]byte(l))...), ' '), l+"\n"...)
	}
	return b
}

func TestDecodeRefuses(t *testing.T) {
	const head = `{"header":{"format":2,"lines":1}}`
	rows := []struct {
		name string
		data []byte
		ok   bool
	}{
		{"a session", checked(head, `{"session":{"key":"/p/ses_1"}}`), true},
		{"a session, and one to forget", checked(head, `{"session":{"key":"/p/ses_1"}}`, `{"forget":"ses_1"}`), true},
		{"nothing", nil, false},
		{"another format", checked(`{"header":{"format":9,"lines":0}}`), false},
		{"no header", checked(`{"forget":"ses_1"}`), false},
		{"a line too few", checked(head), false},
		{"a line too many", checked(head, `{"session":{}}`, `{"orphan":{}}`), false},
		{"a second header", checked(head, `{"session":{}}`, head), false},
		{"a line without a member", checked(head, `{"session":{}}`, `{}`), false},
		{"a line that is not JSON", checked(head, `{"session":`), false},
		{"a line behind that has no checksum", append(checked(head, `{"session":{}}`), "?\n"...), false},
		{"a line of 2 MB", checked(head, `{"session":{"key":"`+strings.Repeat("k", 2<<20)+`"}}`), false},
		{"diagnoses that would take a hundred times their size", checked(head, `{"session":{"result":{"diagnoses":[`+strings.Repeat("{},", 300_000)+`{}]}}}`), false},
		{"values nested 400,000 deep", checked(head, `{"session":{"result":`+strings.Repeat("[", 400_000)), false},
	}
	for _, r := range rows {
		if _, err := decode(r.data); (err == nil) != r.ok {
			t.Errorf("%s: decode = %v, want ok %v", r.name, err, r.ok)
		}
	}
}

// A forgotten session has no result, and what is known of the whole store is void.
func TestForgetLine(t *testing.T) {
	c := exampleContents(t)
	c.results["/p/ses_11"] = Result{Stamp: [32]byte{1}}
	data, err := appendLine(encode(c), line{Forget: "ses_1"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	want := &contents{build: c.build, settings: c.settings, results: map[string]Result{}}
	if diff := cmp.Diff(want, got, compareContents); err != nil || diff != "" {
		t.Errorf("decode = %v (-want +got):\n%s", err, diff)
	}
}

// A text that is not UTF-8 would be another one when it is read: it is not kept, and
// neither is what would be incomplete without it.
func TestInvalidText(t *testing.T) {
	rows := []struct {
		name string
		edit func(c *contents)
		want func(c *contents)
	}{
		{"in a diagnosis", func(c *contents) { c.results["/p/ses_1"].Diagnoses[0].Why = "\xff" }, func(c *contents) { clear(c.results) }},
		{"in a title", func(c *contents) { c.sessions[1].Title = "\xff" }, func(c *contents) { c.state, c.sessions, c.orphans = [32]byte{}, nil, nil }},
		{"in the name of an orphan", func(c *contents) { c.orphans[0].Part = "\xff" }, func(c *contents) { c.state, c.sessions, c.orphans = [32]byte{}, nil, nil }},
		{"in the summary", func(c *contents) { c.summary.Worst[0].Title = "\xff" }, func(c *contents) { c.summary = nil }},
	}
	for _, r := range rows {
		c, want := exampleContents(t), exampleContents(t)
		r.edit(c)
		r.want(want)
		got, err := decode(encode(c))
		if diff := cmp.Diff(want, got, compareContents); err != nil || diff != "" {
			t.Errorf("%s: decode(encode(c)) = %v (-want +got):\n%s", r.name, err, diff)
		}
	}
}

// Any line is either refused, or written and read again as it is.
func FuzzDecode(f *testing.F) {
	f.Add(`{"session":{"key":"/p/ses_1","head":{"id":"ses_1"},"result":{"from":1}}}`)
	f.Add(`{"orphan":{"kind":3}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode(checked(`{"header":{"format":2,"lines":1,"state":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}`, text))
		if err != nil {
			return
		}
		if len(got.sessions) > 0 { // they are written under their own keys
			_, known := got.results[sessionKey(got.sessions[0])]
			if !known {
				clear(got.results)
			}
		}
		again, err := decode(encode(got))
		if diff := cmp.Diff(got, again, compareContents); err != nil || diff != "" {
			t.Errorf("written and read again: %v (-first +second):\n%s", err, diff)
		}
	})
}

// BenchmarkDecode reads the cache of a store of 10,000 sessions, a tenth of them with
// three diagnoses.
func BenchmarkDecode(b *testing.B) {
	c := &contents{state: [32]byte{1}, results: map[string]Result{}}
	for i := range 10_000 {
		s := session.Head{ID: fmt.Sprintf("ses_%020d", i), Project: "global", Directory: "/home/user/project", Title: "A title", Version: "1.2.27"}
		r := Result{Stamp: [32]byte{byte(i)}, From: 1_790_000_000_000, Until: 1_855_000_000_000}
		if i%10 == 0 {
			d := repair.Diagnosis{Rule: "R1", Class: "tool_result_missing", Severity: repair.Broken, Why: strings.Repeat("why ", 20), Text: strings.Repeat("says ", 20), Fix: strings.Repeat("fix ", 20)}
			r.Diagnoses = []repair.Diagnosis{d, d, d}
		}
		c.sessions = append(c.sessions, s)
		c.results[sessionKey(s)] = r
	}
	data := encode(c)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
