package jsonedit

import "testing"

func TestMinify(t *testing.T) {
	for in, want := range map[string]string{
		`{ "b" : 1.0, "a" : [ null, 1e400, "\u0041\/" ] }`: `{"b":1.0,"a":[null,1e400,"A/"]}`,
		`{"a":1,"b":2,"a":{}}`:                             `{"a":1,"b":2,"a":{}}`,
		`[1,{"\u0062":[ ],"b":"\ud800"}]`:                  "[1,{\"b\":[],\"b\":\"\ufffd\"}]",
		`[1,`:                                              ``,
		`[]`:                                               `[]`,
		` {} `:                                             `{}`,
		`{} {}`:                                            ``,
	} {
		if got := string(Minify([]byte(in))); got != want {
			t.Errorf("Minify(%s) = %s, want %s", in, got, want)
		}
	}
}
