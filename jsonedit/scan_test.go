package jsonedit

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A field is a member of an object, and where it is in the text.
type field struct {
	name              string
	start, value, end int
}

func fields(x *index) []field {
	all := []field{}
	for name, v := range (Value{x, 0}).Children() {
		n := v.node()
		all = append(all, field{string(name), n.memberStart(), int(n.start), int(n.end)})
	}
	return all
}

// scanFields reads an object with the scanner, and reports whether the scanner accepts it.
func scanFields(text []byte) ([]field, bool) {
	nodes := scanNodes(text, 0)
	if nodes == nil || text[nodes[0].start] != '{' {
		return nil, false
	}
	return fields(&index{text: text, nodes: nodes}), true
}

// decodeFields reads an object with the library.
func decodeFields(text []byte) ([]field, bool) {
	x := decodeIndex(text, 0)
	if x == nil || (Value{x, 0}).Kind() != '{' {
		return nil, false
	}
	return fields(x), true
}

// FuzzScan compares the scanner with the library: what the scanner accepts the library
// accepts as well, with the same members. What CheckObject accepts both libraries accept.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":1,"a":2}`, `{"a":"b\"\\\u00e9\n","c":[1,-2.5e+3,[],{}],"d":{"e":null}}`,
		`{"a":true,"b":false}x`, `{"a":01}`, `{"a":1.}`, `{"a":1e}`, `{"a":-}`, `{"a":tru}`, `{"a" 1}`, `{"a":1,}`, `{,}`, `{"a":[1,]}`,
		`{"a":"\ud800"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\x"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\x01\"}", "{\"a\":\"0123456\x1f\"}", `{"a":"01234567`,
		"\ufeff{}", "{\"\xff\":1}", `{"\u0061":1}`, `{"ä":1}`, `{"a":"\u12"}`, `[{}]`, `{"a":{"b":{"c":"d"}}}`, `{"a":"\`,
		`{"a":"` + strings.Repeat(`0123\n456\"7\u00e9\\`, 9) + `"}`, `{"a":"` + strings.Repeat("z", 63) + `\"","b":"` + strings.Repeat("z", 64) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, isObject := decodeFields(data)
		if accepted := CheckObject(data) == nil; accepted != isObject || accepted && !json.Valid(data) {
			t.Fatalf("CheckObject(%q): accepted %v, by the library %v", data, accepted, isObject)
		}
		got, ok := scanFields(data)
		if !ok {
			return
		}
		want, ok := decodeFields(data)
		if !ok {
			t.Fatalf("scanNodes(%q) accepts what the library refuses", data)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(field{})); diff != "" {
			t.Errorf("scanNodes(%q) differs (-library +scanner):\n%s", data, diff)
		}
	})
}

// TestSkipString checks that strings end where they do when they are read byte by byte.
func TestSkipString(t *testing.T) {
	slow := func(data []byte) int {
		for i := 0; i < len(data) && data[i] >= ' '; i++ {
			switch data[i] {
			case '"':
				return i + 1
			case '\\':
				if i++; i >= len(data) || !isShortEscape[data[i]] {
					return -1
				}
			}
		}
		return -1
	}
	rng := rand.New(rand.NewPCG(1, 2))
	special := "\x00\x01\x1f\x20\x21\"#[\\\\\\]n\x7f\x80\x81\x9f\xa0\xa1\xa2\xa3\xdb\xdc\xdd\xff"
	for range 100_000 {
		data := make([]byte, rng.IntN(40))
		for i := range data {
			if data[i] = 'a'; rng.IntN(8) == 0 {
				data[i] = special[rng.IntN(len(special))]
			}
		}
		if got, want := skipString(data, 0), slow(data); got != want {
			t.Fatalf("skipString(%q) = %d, byte by byte %d", data, got, want)
		}
	}
}

// TestScanUsualText checks that the scanner accepts what agents write.
func TestScanUsualText(t *testing.T) {
	for _, text := range []string{
		`{}`, "{\n  \"id\": \"prt_1\",\n  \"state\": {\n    \"input\": {\"a\": [1, 2.5e-3, null]}\n  }\n}",
		`{"text":"größer \"quoted\" \u001b[0m\n","b":true,"c":false}`,
	} {
		if _, ok := scanFields([]byte(text)); !ok {
			t.Errorf("scanNodes(%s) refuses it", text)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte(`{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"tool","callID":"toolu_1","tool":"bash","state":{"status":"completed","output":"`)
	for len(text) < 4096 {
		text = append(text, `a line of code() { return \"text\" }\n`...)
	}
	text = append(text, `","time":{"start":1,"end":2}}}`...)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if Parse(text).Kind() != '{' {
			b.Fatal("not an object")
		}
	}
}

// TestScanStringAtEveryPlace checks strings with a character or an escape at every offset:
// the scanner accepts those that are valid, with the members that the library finds.
func TestScanStringAtEveryPlace(t *testing.T) {
	rows := []struct {
		text     string // a part of the string
		accepted bool
	}{
		{"", true},
		{" !#[]^~\x7f", true},
		{"ä", true},
		{"\xff", true},
		{`\"`, true},
		{`\\`, true},
		{`\\\"`, true},
		{`\n\n`, true},
		{`\/\b\f\r\t`, true},
		{`\u00e9`, true},
		{`\u001B\u000a`, true},
		{`\`, false}, // escapes the closing quote, or makes an invalid escape with the next character
		{`\x`, false},
		{`\u12`, false},
		{`\u12g4`, false},
		{`\ud800`, false},
		{`"`, false},
		{"\x00", false},
		{"\x1f", false},
		{"\n", false},
	}
	for _, r := range rows {
		for before := range 72 {
			for _, behind := range []int{0, 128} {
				text := []byte(`{"a":"` + strings.Repeat("!", before) + r.text + strings.Repeat("z", behind) + `","b":1}`)
				got, ok := scanFields(text)
				if ok != r.accepted {
					t.Fatalf("scanNodes(%q) accepts it: %v, want %v", text, ok, r.accepted)
				}
				if !ok {
					continue
				}
				if want, ok := decodeFields(text); !ok || !reflect.DeepEqual(got, want) {
					t.Fatalf("scanNodes(%q) = %+v, want %+v, %v", text, got, want, ok)
				}
			}
		}
	}
}

// TestScanStringCut checks that the scanner accepts no text that is cut.
func TestScanStringCut(t *testing.T) {
	text := []byte(`{"a":"` + strings.Repeat(`0123456\n0123\u00e9\\\"01`, 10))
	for n := range text {
		if _, ok := scanFields(text[:n]); ok {
			t.Errorf("scanNodes(%q) accepts it", text[:n])
		}
	}
}

// words are the words of each kind of text in the benchmarks.
var words = map[string][]string{
	"code":  {"func ", "return ", "the ", "error: ", `"quoted" `, "1234 ", "path/to/file.go:17 ", "\n", "\tif err != nil {\n", "größer ", "left := right ", "// why "},
	"plain": {"func ", "return ", "the ", "error: ", "1234 ", "path/to/file.go:17 "},
	"path":  {`C:\src\` + "\n", `\`, `""`, "\n", "x", "\x1b[31m", "ä"},
}

// parts returns 1 MB of JSON objects like parts of assistant messages, with texts of 20
// bytes to 20 KB. They are many and random, so that branch prediction is as good as with
// real parts.
func parts(tb testing.TB, kind string) [][]byte {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(1, 1))
	text := func() string {
		n := int(20 * math.Pow(1000, rnd.Float64()))
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[kind][rnd.IntN(len(words[kind]))])
		}
		return b.String()
	}
	quoted := func() string {
		raw, err := json.Marshal(text())
		if err != nil {
			tb.Fatal(err)
		}
		return string(raw)
	}
	var all [][]byte
	for size := 0; size < 1<<20; size += len(all[len(all)-1]) {
		all = append(all, []byte(`{"type":"tool","callID":"toolu_1","tool":"bash","state":{"status":"completed","input":{"command":`+quoted()+
			`,"description":"says hi"},"output":`+quoted()+`,"title":"says hi","metadata":{"exit":0,"truncated":false},"time":{"start":1790000000000,"end":1790000000008}}}`))
	}
	return all
}

// partPattern matches these parts.
func partPattern() *Pattern {
	some := &Pattern{Accept: func(raw []byte) bool { return raw[0] != 'n' }}
	return &Pattern{Fields: []PatternField{
		{Name: "type", Pattern: some, Capture: 1},
		{Name: "callID", Pattern: some, Capture: 2},
		{Name: "tool", Pattern: some, Capture: 3},
		{Name: "state", Pattern: &Pattern{Fields: []PatternField{
			{Name: "status", Pattern: some, Capture: 4},
			{Name: "input", Pattern: some, Required: true},
			{Name: "output", Pattern: some, Capture: 5},
			{Name: "error", Pattern: some, Capture: 6},
			{Name: "title", Pattern: some, Capture: 7},
			{Name: "metadata", Pattern: some, Capture: 8},
			{Name: "time", Pattern: &Pattern{Fields: []PatternField{{Name: "start", Pattern: some, Capture: 9}, {Name: "end", Pattern: some, Capture: 10}}}, Required: true},
		}}, Capture: 11},
	}}
}

// benchmarkParts runs read over parts whose texts are of each kind.
func benchmarkParts(b *testing.B, read func(data []byte) bool) {
	for _, kind := range []string{"code", "plain", "path"} {
		b.Run(kind, func(b *testing.B) {
			all := parts(b, kind)
			b.SetBytes(int64(len(slices.Concat(all...))))
			b.ReportAllocs()
			for b.Loop() {
				for _, data := range all {
					if !read(data) {
						b.Fatalf("%s is not read", data)
					}
				}
			}
		})
	}
}

func BenchmarkSkipValue(b *testing.B) {
	benchmarkParts(b, func(data []byte) bool { return skipValue(data, 0, 0) == len(data) })
}

func BenchmarkPattern(b *testing.B) {
	f := partPattern()
	var texts [12][]byte
	benchmarkParts(b, func(data []byte) bool {
		_, ok := f.Match(data, texts[:])
		return ok
	})
}

func BenchmarkScan(b *testing.B) {
	benchmarkParts(b, func(data []byte) bool { return scanNodes(data, 0) != nil })
}
