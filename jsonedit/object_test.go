package jsonedit

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// libraryObject is parseObject by the library alone.
func libraryObject(data []byte) (object, error) {
	d := newDecoder(data)
	obj, err := readMembers(d, data)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errNotObject
	}
	return obj, nil
}

// FuzzScanObject compares the scanner with the library: whatever it takes, that
// takes as well, and as the same.
func FuzzScanObject(f *testing.F) {
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
		got, ok := scanObject(data)
		if !ok {
			return
		}
		want, err := libraryObject(data)
		if err != nil {
			t.Fatalf("scanObject(%q) takes what the library refuses: %v", data, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" {
			t.Errorf("scanObject(%q) differs (-library +scanner):\n%s", data, diff)
		}
	})
}

// What agents write is read without the library.
func TestScanObjectTakesUsualText(t *testing.T) {
	for _, text := range []string{
		`{}`, "{\n  \"id\": \"prt_1\",\n  \"state\": {\n    \"input\": {\"a\": [1, 2.5e-3, null]}\n  }\n}",
		`{"text":"größer \"quoted\" \u001b[0m\n","b":true,"c":false}`,
	} {
		if _, ok := scanObject([]byte(text)); !ok {
			t.Errorf("scanObject(%s) leaves it to the library", text)
		}
	}
}

func BenchmarkParseObject(b *testing.B) {
	text := []byte(`{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"tool","callID":"toolu_1","tool":"bash","state":{"status":"completed","output":"`)
	for len(text) < 4096 {
		text = append(text, `a line of code() { return \"text\" }\n`...)
	}
	text = append(text, `","time":{"start":1,"end":2}}}`...)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseObject(text); err != nil {
			b.Fatal(err)
		}
	}
}
