package jsonedit

import "testing"

func TestLostText(t *testing.T) {
	for _, c := range []struct {
		then, now string
		want      bool
	}{
		{`"a"`, `"a"`, false},
		{`"a"`, `"b"`, false},
		{`"a"`, `""`, true},
		{`"a"`, `null`, true},
		{`"a"`, `["a"]`, false},
		{`"long text"`, `"long"`, true},
		{`"text \n"`, `"text"`, false},
		{`" "`, `""`, false},
		{`""`, ``, false},
		{`{"a":"x","n":1}`, `{"a":"x"}`, false},
		{`{"a":"x","b":"y"}`, `{"a":"x"}`, true},
		{`{"a":"x"}`, `{}`, true},
		{`{"a":"x"}`, ``, true},
		{`{"a":"x"}`, `{"a":"x","b":"y"}`, false},
		{`{"n":1}`, `{}`, false},
		{`["a","b"]`, `["a",""]`, true},
		{`["a","b"]`, `["b"]`, true},
		{`["a","b"]`, `[]`, true},
		{`["a","b"]`, `["c"]`, false},
		{`["a"]`, `["a","b"]`, false},
		{`[{"text":"a"},{"text":"b"}]`, `[{"text":"a"},{"text":" "}]`, true},
		{`[{"text":"a"},{"text":"b"}]`, `[{"text":"a"},{"text":""}]`, true},
	} {
		if got := HasLostText(Parse([]byte(c.now)), Parse([]byte(c.then))); got != c.want {
			t.Errorf("HasLostText(%s, %s) = %t, want %t", c.now, c.then, got, c.want)
		}
	}
}
