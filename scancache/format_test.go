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
		results:  map[sessionKey]*Result{{project: "p", id: "ses_1"}: new(filled[Result](t))},
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

// block returns a file whose first block is what write writes.
func block(write func(w *coder)) []byte {
	var w coder
	write(&w)
	return appendBlock([]byte(format), w.data)
}

func TestDecodeRefuses(t *testing.T) {
	numbers := func(all ...int64) []byte {
		return block(func(w *coder) {
			for _, n := range all {
				codeInt(w, &n)
			}
		})
	}
	good := encode(&contents{})
	rows := []struct {
		name string
		data []byte
		ok   bool
	}{
		{"nothing but the summary", encode(&contents{summary: &Summary{Sessions: 1}}), true},
		{"empty", nil, false},
		{"no block", []byte(format), false},
		{"another format", append([]byte("mend scan 2\n"), good[len(format):]...), false},
		{"a block that is longer than it should be", block(func(w *coder) { w.contents(&contents{}); w.data = append(w.data, 0) }), false},
		{"half a block behind", append(bytes.Clone(good), 1, 2, 3), false},
		{"a text longer than the block", numbers(1 << 60), false},
		{"a text shorter than nothing", numbers(-1), false},
		{"a number that does not end", appendBlock([]byte(format), bytes.Repeat([]byte{0x80}, 100)), false},
		{"sessions that would take a hundred times their size", block(func(w *coder) {
			w.data = make([]byte, len(`tts`)+32)
			n := 1 << 20
			codeInt(w, &n)
			w.data = append(w.data, make([]byte, 1<<20)...)
		}), false},
	}
	for _, r := range rows {
		if _, err := decode(r.data); (err == nil) != r.ok {
			t.Errorf("%s: decode = %v, want ok %v", r.name, err, r.ok)
		}
	}
}

// A forgotten session has no result, and what is known of the whole store is void.
func TestForgetBlock(t *testing.T) {
	c := exampleContents(t)
	c.results[sessionKey{project: "p", id: "ses_11"}] = &Result{Stamp: [32]byte{1}}
	got, err := decode(appendBlock(encode(c), []byte("ses_1")))
	want := &contents{build: c.build, settings: c.settings, results: map[sessionKey]*Result{{project: "p", id: "ses_11"}: {Stamp: [32]byte{1}}}}
	if diff := cmp.Diff(want, got, compareContents); err != nil || diff != "" {
		t.Errorf("decode = %v (-want +got):\n%s", err, diff)
	}
}

// Any block is either refused, or written and read again as it is.
func FuzzDecode(f *testing.F) {
	f.Add(encode(&contents{build: "\xff", sessions: []session.Head{{ID: "ses_1"}}, orphans: []session.Ref{{Kind: 3}}})[len(format)+8:])
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(appendBlock([]byte(format), data))
		if err != nil {
			return
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
	c := &contents{state: [32]byte{1}, results: map[sessionKey]*Result{}}
	for i := range 10_000 {
		s := session.Head{ID: fmt.Sprintf("ses_%020d", i), Project: "global", Directory: "/home/user/project", Title: "A title", Version: "1.2.27"}
		r := Result{Stamp: [32]byte{byte(i)}, From: 1_790_000_000_000, Until: 1_855_000_000_000}
		if i%10 == 0 {
			d := repair.Diagnosis{Rule: "R1", Class: "tool_result_missing", Severity: repair.Broken, Why: strings.Repeat("why ", 20), Text: strings.Repeat("says ", 20), Fix: strings.Repeat("fix ", 20)}
			r.Diagnoses = []repair.Diagnosis{d, d, d}
		}
		c.sessions = append(c.sessions, s)
		c.results[keyOf(&s)] = &r
	}
	data := encode(c)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

// A session that could not be examined is broken.
func TestSummary(t *testing.T) {
	var s Summary
	s.Add(session.Head{ID: "ses_1", Title: "a"}, repair.Broken, false, false, errDamaged)
	s.Add(session.Head{ID: "ses_2"}, repair.Broken, true, false, nil)
	s.Add(session.Head{ID: "ses_4"}, repair.Broken, false, false, nil)
	s.Add(session.Head{ID: "ses_3"}, repair.Note, false, true, nil)
	if s.Sessions != 4 || s.Broken != 3 || s.Failed != 1 || s.NoFix != 1 || s.Busy != 1 || s.Healthy() != 1 || len(s.Worst) != 3 {
		t.Errorf("%+v, %d healthy; want 3 of 4 broken, 1 of them failed, 1 without a fix, 1 healthy, 3 named", s, s.Healthy())
	}
}
