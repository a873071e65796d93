package jsonedit

import (
	"bytes"
	"strings"
	"testing"
)

func TestStringify(t *testing.T) {
	for in, want := range map[string]string{
		`{ "b" : 1.0, "a" : [ null, 1e400, "\u0041\/" ] }`:    `{"b":1,"a":[null,null,"A/"]}`,
		`{"a":1,"b":2,"a":{}}`:                                `{"a":{},"b":2}`,
		`{"x":0,"10":1,"9":2,"01":3}`:                         `{"9":2,"10":1,"x":0,"01":3}`,
		`{"b":{"2":0,"1":{"x":1,"x":2}},"0":[{"1":1,"0":0}]}`: `{"0":[{"0":0,"1":1}],"b":{"1":{"x":2},"2":0}}`,
		`[1,{"\u0062":[ ],"b":"\ud800"}]`:                     "[1,{\"b\":\"\ufffd\"}]",
		`[1,`:                                                 ``,
		`[]`:                                                  `[]`,
		`{}`:                                                  `{}`,
		`9007199254740993`:                                    `9007199254740992`,
	} {
		if got := string(Stringify([]byte(in))); got != want {
			t.Errorf("Stringify(%s) = %s, want %s", in, got, want)
		}
	}
}

// A deep text with a long value inside costs a few passes over it, not one for each level,
// also where members change places.
func BenchmarkStringify(b *testing.B) {
	for name, open := range map[string]string{"lists": "[", "objects": `{"b":0,"a":`, "reordered": `{"1":0,"0":`} {
		text := []byte(nest(open, map[bool]string{true: "]", false: "}"}[open == "["], "["+strings.Repeat("1234,", 1<<20)+"1]", MaxDepth/2))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if got := Stringify(text); !bytes.Contains(got, []byte("1234,1]")) {
					b.Fatal("the value is missing")
				}
			}
		})
	}
}
