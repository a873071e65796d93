package jsonedit

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzCheckObject checks that Parse and encoding/json accept every text that CheckObject accepts.
func FuzzCheckObject(f *testing.F) {
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
		isObject := Parse(data).Kind() == '{'
		if accepted := CheckObject(data) == nil; accepted != isObject || accepted && !json.Valid(data) {
			t.Fatalf("CheckObject(%q): accepted %v, by Parse %v", data, accepted, isObject)
		}
	})
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

func BenchmarkIndex(b *testing.B) {
	benchmarkParts(b, func(data []byte) bool { return readIndex(data, 0) != nil })
}
